/* moby_4951.c - a lock is given up for a nap in the middle of two.
 *
 * Removing a device takes the lock of all devices and then the device's own.
 * While it waits for the kernel it gives the first one up and takes it back
 * afterwards, still holding the second: the opposite order. Two tasks remove
 * the same device: B takes the lock of all while A naps, and waits for the
 * device; A wakes and waits for the lock of all.
 *
 * Shows: leak of 2, A and B. Twin: the device is only looked up under the lock
 * of all; after that always the device first, then all.
 */
#include "zoo.h"

struct device {
    rn_mutex lock;
    int removals; /* guarded by lock */
};

struct kernel {
    struct zoo zoo;
    rn_mutex all;         /* guards the set of devices */
    struct device device; /* the only one in the set */
};

/* Find the device and lock both the set and it. */
static struct device *
lock_device(struct kernel *k)
{
    struct device *device;

    must(rn_mutex_lock(&k->all, RN_NEVER));
    device = &k->device;
    if (k->zoo.fixed) {
        rn_mutex_unlock(&k->all);
        must(rn_mutex_lock(&device->lock, RN_NEVER));
        must(rn_mutex_lock(&k->all, RN_NEVER));
    } else {
        must(rn_mutex_lock(&device->lock, RN_NEVER));
    }
    return device;
}

/* A and B: remove the device and wait until it is gone. */
static int
remove_device(void *arg)
{
    struct kernel *k = arg;
    struct device *device = lock_device(k);

    device->removals++;
    rn_mutex_unlock(&k->all);
    must(rn_sleep(ZOO_TICK));
    must(rn_mutex_lock(&k->all, RN_NEVER));
    rn_mutex_unlock(&device->lock);
    rn_mutex_unlock(&k->all);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, remove_device, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, remove_device, k, &(rn_task_options){"B"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}

/* etcd_10492.c - a callback takes the lock its caller holds.
 *
 * A lessor keeps a checkpoint callback under its lock. Renewing a lease locks
 * the lessor for writing and calls the callback, which writes a checkpoint into
 * the same lessor and locks it again.
 *
 * Shows: a deadlock of main with itself, which our read-write mutex notices and
 * makes a panic. Twin: renewing locks for reading while it looks whether there
 * is a callback, calls it without the lock, and locks for its own change after
 * that.
 */
#include "zoo.h"

struct kernel;
typedef void checkpoint_fn(struct kernel *k);

struct kernel {
    struct zoo zoo;
    rn_rwmutex lock;
    checkpoint_fn *checkpoint; /* guarded by lock */
    int checkpoints;           /* guarded by lock */
    int renewals;              /* guarded by lock */
};

/* The callback: writes a checkpoint. */
static void
write_checkpoint(struct kernel *k)
{
    must(rn_rwmutex_lock(&k->lock, RN_NEVER));
    k->checkpoints++;
    rn_rwmutex_unlock(&k->lock);
}

static void
renew(struct kernel *k)
{
    must(rn_rwmutex_lock(&k->lock, RN_NEVER));
    if (k->checkpoint)
        k->checkpoint(k);
    k->renewals++;
    rn_rwmutex_unlock(&k->lock);
}

static void
renew_fixed(struct kernel *k)
{
    checkpoint_fn *checkpoint;

    must(rn_rwmutex_read_lock(&k->lock, RN_NEVER));
    checkpoint = k->checkpoint;
    rn_rwmutex_read_unlock(&k->lock);
    if (checkpoint)
        checkpoint(k);
    must(rn_rwmutex_lock(&k->lock, RN_NEVER));
    k->renewals++;
    rn_rwmutex_unlock(&k->lock);
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_rwmutex_lock(&k->lock, RN_NEVER));
    k->checkpoint = write_checkpoint;
    rn_rwmutex_unlock(&k->lock);
    must(rn_rwmutex_lock(&k->lock, RN_NEVER)); /* grants the lease */
    rn_rwmutex_unlock(&k->lock);
    if (k->zoo.fixed)
        renew_fixed(k);
    else
        renew(k);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}

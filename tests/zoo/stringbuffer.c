/* stringbuffer.c - a length that is out of date when it is used.
 *
 * Each call of a text buffer locks it, so each call alone is safe. main appends
 * one buffer to another: it asks for the length of the first and copies so many
 * characters. In between a task T may erase them.
 *
 * Shows: assert in main. Twin: main holds the lock of the first buffer over
 * both steps.
 */
#include "zoo.h"

#define LENGTH 3

struct buffer {
    rn_mutex lock;
    rn_atomic length; /* under lock; what the text says does not matter */
};

struct kernel {
    struct zoo zoo;
    struct buffer from;
    struct buffer to;
};

/* T: erases the first buffer and fills it again. */
static int
eraser(void *arg)
{
    struct kernel *k = arg;
    struct buffer *b = &k->from;

    must(rn_mutex_lock(&b->lock, RN_NEVER));
    rn_atomic_store(&b->length, 0);
    rn_mutex_unlock(&b->lock);
    must(rn_mutex_lock(&b->lock, RN_NEVER));
    rn_atomic_store(&b->length, rn_atomic_load(&b->length) + LENGTH);
    rn_mutex_unlock(&b->lock);
    return 0;
}

/* Append the first buffer to the second. */
static void
append(struct kernel *k)
{
    struct buffer *from = &k->from, *to = &k->to;
    int64_t n;

    must(rn_mutex_lock(&to->lock, RN_NEVER));
    must(rn_mutex_lock(&from->lock, RN_NEVER));
    n = rn_atomic_load(&from->length);
    if (!k->zoo.fixed) {
        rn_mutex_unlock(&from->lock);
        must(rn_mutex_lock(&from->lock, RN_NEVER));
    }
    rn_sim_assert(n <= rn_atomic_load(&from->length), "the text is there");
    rn_atomic_store(&to->length, rn_atomic_load(&to->length) + n);
    rn_mutex_unlock(&from->lock);
    rn_mutex_unlock(&to->lock);
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    rn_task task;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->from.length = (rn_atomic)RN_ATOMIC_INIT(LENGTH);
    must(rn_task_spawn(NULL, eraser, k, &(rn_task_options){"T"}, &task));
    append(k);
    must(rn_task_join(task, RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}

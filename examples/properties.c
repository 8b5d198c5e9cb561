/* properties.c - a bounded queue that says what must hold of it.
 *
 * For real the properties cost next to nothing. `runnel check` judges them in
 * every schedule; with --faults spurious:2 also when a wait ends for nothing.
 */
#include <runnel/runnel.h>

enum { ROOM = 2, ITEMS = 4 };

struct queue {
    rn_mutex lock;
    rn_cond changed;
    int count; /* items in it */
};

static int
queue_is_sound(void *arg)
{
    const struct queue *q = arg;
    return q->count >= 0 && q->count <= ROOM;
}

/* Add n items, or take -n, as soon as that is possible. */
static int
queue_add(struct queue *q, int n)
{
    int e = rn_mutex_lock(&q->lock, RN_NEVER);

    if (e < 0)
        return e;
    rn_sim_sometimes(q->count == ROOM, "the queue was full");
    while (e == 0 && (q->count + n < 0 || q->count + n > ROOM))
        e = rn_cond_wait(&q->changed, &q->lock, RN_NEVER);
    if (e == 0) {
        q->count += n;
        rn_cond_broadcast(&q->changed);
    }
    rn_mutex_unlock(&q->lock);
    return e;
}

static int
produce(void *arg)
{
    int e = 0;

    for (int i = 0; i < ITEMS && e == 0; i++)
        e = queue_add(arg, 1);
    return e;
}

static int
app(void *arg)
{
    struct queue q = {RN_MUTEX_INIT, RN_COND_INIT, 0};
    int e = rn_go(NULL, produce, &q);

    (void)arg;
    rn_sim_expect("all was consumed");
    rn_sim_invariant("the queue is sound", queue_is_sound, &q);
    for (int i = 0; i < ITEMS && e == 0; i++)
        e = queue_add(&q, -1);
    if (e == 0)
        rn_sim_reachable("all was consumed");
    rn_sim_always(e < 0 || q.count == 0, "what comes in goes out");
    rn_sim_invariant_end(queue_is_sound, &q);
    return e;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}

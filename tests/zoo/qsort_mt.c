/* qsort_mt.c - a worker is given its state before it is given its job.
 *
 * A parallel sort halves its range again and again and hands the left half to
 * an idle worker, if there is one. Who hands over marks the worker as working
 * under the lock of the pool, and only then takes the worker's own lock and
 * writes the job. A worker that is about to wait sees that it is working and
 * does its old job once more; the new one is never done.
 *
 * Sorting stands for itself: a range of up to two cells is marked, and main
 * expects each to be.
 *
 * Shows: assert in main, rarely. Twin: the state is changed under the worker's
 * lock, together with the job.
 */
#include "zoo.h"

#define WORKERS 2
#define CELLS 16
#define SMALL 2 /* a range that is not halved */

enum state { IDLE, WORK, STOP };

struct job {
    int begin, count;
};

struct kernel;

struct worker {
    struct kernel *kernel;
    rn_mutex lock;
    rn_cond changed;
    rn_atomic state; /* enum state */
    struct job job;  /* under lock */
};

struct kernel {
    struct zoo zoo;
    rn_mutex pool;  /* over the states and idle; before a worker's lock */
    rn_atomic idle; /* workers that are */
    struct worker workers[WORKERS];
    rn_atomic marked[CELLS];
};

/* Find an idle worker and make it work.
 * Returns: the worker, locked, or NULL. */
static struct worker *
allocate(struct kernel *k)
{
    struct worker *found = NULL;

    must(rn_mutex_lock(&k->pool, RN_NEVER));
    for (int i = 0; i < WORKERS && found == NULL; i++) {
        struct worker *w = &k->workers[i];

        if (k->zoo.fixed)
            must(rn_mutex_lock(&w->lock, RN_NEVER));
        if (rn_atomic_load(&w->state) == IDLE) {
            rn_atomic_fetch_add(&k->idle, -1);
            rn_atomic_store(&w->state, WORK);
            if (!k->zoo.fixed)
                must(rn_mutex_lock(&w->lock, RN_NEVER));
            found = w;
        } else if (k->zoo.fixed) {
            rn_mutex_unlock(&w->lock);
        }
    }
    rn_mutex_unlock(&k->pool);
    return found;
}

/* Sort a range: halve it, and have the left halves done elsewhere. */
static void
sort(struct kernel *k, struct job job)
{
    while (job.count > SMALL) {
        struct job left = {job.begin, job.count / 2};
        struct worker *w = allocate(k);

        if (w != NULL) {
            w->job = left;
            rn_cond_signal(&w->changed);
            rn_mutex_unlock(&w->lock);
        } else {
            sort(k, left);
        }
        job.begin += left.count;
        job.count -= left.count;
    }
    for (int i = 0; i < job.count; i++)
        rn_atomic_store(&k->marked[job.begin + i], 1);
}

/* Tell all workers but one to end. */
static void
stop_others(struct kernel *k, const struct worker *self)
{
    for (int i = 0; i < WORKERS; i++) {
        struct worker *w = &k->workers[i];

        if (w == self)
            continue;
        must(rn_mutex_lock(&w->lock, RN_NEVER));
        rn_atomic_store(&w->state, STOP);
        rn_cond_signal(&w->changed);
        rn_mutex_unlock(&w->lock);
    }
}

/* Become idle.
 * Returns: whether all are, so that the sort is done; the others then end. */
static bool
become_idle(struct worker *w)
{
    struct kernel *k = w->kernel;
    bool all;

    must(rn_mutex_lock(&k->pool, RN_NEVER));
    if (k->zoo.fixed)
        must(rn_mutex_lock(&w->lock, RN_NEVER));
    rn_atomic_store(&w->state, IDLE);
    if (k->zoo.fixed)
        rn_mutex_unlock(&w->lock);
    all = rn_atomic_fetch_add(&k->idle, 1) == WORKERS - 1;
    if (all)
        stop_others(k, w);
    rn_mutex_unlock(&k->pool);
    return all;
}

/* W0 and W1: wait for a job, do it, again. */
static int
worker(void *arg)
{
    struct worker *w = arg;

    do {
        must(rn_mutex_lock(&w->lock, RN_NEVER));
        while (rn_atomic_load(&w->state) == IDLE)
            must(rn_cond_wait(&w->changed, &w->lock, RN_NEVER));
        rn_mutex_unlock(&w->lock);
        if (rn_atomic_load(&w->state) == STOP)
            return 0;
        sort(w->kernel, w->job);
    } while (!become_idle(w));
    return 0;
}

/* Hand the whole range to the first worker. */
static void
begin(struct kernel *k)
{
    struct worker *w = &k->workers[0];

    must(rn_mutex_lock(&w->lock, RN_NEVER));
    w->job = (struct job){0, CELLS};
    rn_atomic_store(&w->state, WORK);
    rn_atomic_fetch_add(&k->idle, -1);
    rn_cond_signal(&w->changed);
    rn_mutex_unlock(&w->lock);
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[WORKERS] = {{"W0"}, {"W1"}};
    struct kernel *k = arg;
    rn_task tasks[WORKERS];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->idle = (rn_atomic)RN_ATOMIC_INIT(WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        k->workers[i].kernel = k;
        must(rn_task_spawn(NULL, worker, &k->workers[i], &named[i], &tasks[i]));
    }
    begin(k);
    for (int i = 0; i < WORKERS; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    for (int i = 0; i < CELLS; i++)
        rn_sim_assert(rn_atomic_load(&k->marked[i]) != 0, "all are sorted");
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}

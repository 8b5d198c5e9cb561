/* stealing_queue.c - a slot is written again while a thief still reads it.
 *
 * A queue of jobs in a ring: its owner pushes and pops at the tail, nearly
 * always without the lock; thieves, under the lock, move the head on and then
 * take the job that was there. A push takes the last free slot of the ring,
 * which may be the one that a thief has moved the head over but not yet read.
 * The thief gets the new job; so does somebody else, and the old one is lost.
 *
 * Shows: assert in main, rarely. Twin: a push leaves one slot free.
 */
#include "zoo.h"

#define JOBS 4
#define THIEVES 2
#define STEALS 2
#define FIRST_RING 2
#define LAST_RING 8 /* more than four jobs never need */
#define NO_JOB (-1)

struct kernel {
    struct zoo zoo;
    rn_mutex lock;  /* thieves, and the owner when it may get in their way */
    rn_atomic head; /* the next to steal */
    rn_atomic tail; /* one after the next to pop */
    int64_t mask;   /* slots of the ring - 1; written by the owner under lock */
    rn_atomic *ring;                        /* the same */
    rn_atomic rings[LAST_RING + LAST_RING]; /* of 2, 4 and 8, in a row */
    rn_atomic count[JOBS];                  /* how often each was run */
};

/* Take the job of a slot. */
static int64_t
slot(struct kernel *k, int64_t i)
{
    return rn_atomic_load(&k->ring[i & k->mask]);
}

static void
run_job(struct kernel *k, int64_t job)
{
    if (job != NO_JOB)
        rn_atomic_fetch_add(&k->count[job], 1);
}

/* Thieves: take the oldest job. */
static int64_t
steal(struct kernel *k)
{
    int64_t job = NO_JOB, h;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    h = rn_atomic_load(&k->head);
    rn_atomic_store(&k->head, h + 1);
    if (h < rn_atomic_load(&k->tail))
        job = slot(k, h);
    else
        rn_atomic_store(&k->head, h);
    rn_mutex_unlock(&k->lock);
    return job;
}

/* Owner: take the newest job under the lock. */
static int64_t
pop_locked(struct kernel *k)
{
    int64_t job = NO_JOB, t;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    t = rn_atomic_load(&k->tail) - 1;
    rn_atomic_store(&k->tail, t);
    if (rn_atomic_load(&k->head) <= t)
        job = slot(k, t);
    else
        rn_atomic_store(&k->tail, t + 1);
    if (rn_atomic_load(&k->head) > t) {
        rn_atomic_store(&k->head, 0);
        rn_atomic_store(&k->tail, 0);
        job = NO_JOB;
    }
    rn_mutex_unlock(&k->lock);
    return job;
}

/* Owner: take the newest job. */
static int64_t
pop(struct kernel *k)
{
    int64_t t = rn_atomic_load(&k->tail) - 1;

    rn_atomic_store(&k->tail, t);
    if (rn_atomic_load(&k->head) <= t)
        return slot(k, t);
    rn_atomic_store(&k->tail, t + 1);
    return pop_locked(k);
}

/* Move n jobs to a ring of twice the size. */
static void
grow(struct kernel *k, int64_t n)
{
    int64_t slots = k->mask + 1;
    rn_atomic *bigger = k->ring + slots;
    int64_t h = rn_atomic_load(&k->head);

    if (slots == LAST_RING)
        rn_panic("the ring is too small");
    for (int64_t i = 0; i < n; i++)
        rn_atomic_store(&bigger[i], slot(k, h + i));
    k->ring = bigger;
    k->mask = 2 * slots - 1;
    rn_atomic_store(&k->head, 0);
    rn_atomic_store(&k->tail, n);
}

/* Owner: put a job in under the lock, where there is room or will be. */
static void
push_locked(struct kernel *k, int64_t job)
{
    int64_t n, h, t;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    n = rn_atomic_load(&k->tail) - rn_atomic_load(&k->head);
    h = rn_atomic_load(&k->head) & k->mask;
    rn_atomic_store(&k->head, h);
    rn_atomic_store(&k->tail, h + n);
    if (n >= k->mask)
        grow(k, n);
    rn_sim_assert(n < k->mask, "there is room");
    t = rn_atomic_load(&k->tail);
    rn_atomic_store(&k->ring[t & k->mask], job);
    rn_atomic_store(&k->tail, t + 1);
    rn_mutex_unlock(&k->lock);
}

/* Owner: put a job in. */
static void
push(struct kernel *k, int64_t job)
{
    int64_t t = rn_atomic_load(&k->tail);
    int64_t room = k->zoo.fixed ? k->mask : k->mask + 1;

    if (t >= rn_atomic_load(&k->head) + room) {
        push_locked(k, job);
        return;
    }
    rn_atomic_store(&k->ring[t & k->mask], job);
    rn_atomic_store(&k->tail, t + 1);
}

/* Steals twice. */
static int
thief(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < STEALS; i++)
        run_job(k, steal(k));
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[THIEVES] = {{"T1"}, {"T2"}};
    struct kernel *k = arg;
    rn_task tasks[THIEVES];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .mask = FIRST_RING - 1};
    k->ring = k->rings;
    for (int i = 0; i < THIEVES; i++)
        must(rn_task_spawn(NULL, thief, k, &named[i], &tasks[i]));
    for (int job = 0; job < JOBS; job += 2) {
        push(k, job);
        push(k, job + 1);
        run_job(k, pop(k));
    }
    for (int i = 0; i < 2; i++)
        run_job(k, pop(k));
    for (int i = 0; i < THIEVES; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    for (int i = 0; i < JOBS; i++)
        rn_sim_assert(rn_atomic_load(&k->count[i]) == 1, "each ran once");
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}

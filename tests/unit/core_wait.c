/* Waits: the protocol step by step, then under peers, timers and cancels that
 * come at the same moment. A wait has one result, and an error means that
 * nothing happened: no value is lost or comes twice, no lock stays taken.
 */
#include "core_run.h"

/* ---- step by step ------------------------------------------------------- */

RUN_TEST(wait_is_claimed_once)
{
    struct rn__task *self = rn__self_in(__func__);
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    CHECK(rn__wait_claim(self, 7, false));
    CHECK(!rn__wait_claim(self, 8, false));
    CHECK(!rn__wait_claim(self, -ECANCELED, true));
    CHECK(!rn__task_waits(self));
    rn__fire(self);
    CHECK(!rn__wait_claim(self, 9, false));
    CHECK_EQ(rn__wait_park(self, RN_NEVER), 7);
    CHECK(!rn__wait_claim(self, 10, false)); /* closed again */
    return 0;
}

RUN_TEST(wait_that_is_not_cancellable_is_not_cancelled)
{
    struct rn__task *self = rn__self_in(__func__);
    rn__wait_open(self, RN__SLEEP, NULL, NULL, false);
    CHECK(!rn__wait_claim(self, -ECANCELED, true));
    CHECK(rn__wait_claim(self, 3, false));
    rn__fire(self);
    CHECK_EQ(rn__wait_park(self, RN_NEVER), 3);
    return 0;
}

RUN_TEST(wait_in_a_cancelled_scope_ends_at_once)
{
    struct rn__task *self = rn__self_in(__func__);
    rn_scope *scope = open_scope();
    rn_scope_cancel(scope);
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    CHECK_EQ(rn__wait_park(self, RN_NEVER), -ECANCELED);
    rn__wait_open(self, RN__SLEEP, NULL, NULL, false);
    CHECK_EQ(rn__wait_park(self, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_scope_close(scope), 0);
    return 0;
}

/* A claim that came first wins over a cancel and a deadline that are there
 * when the task parks. */
RUN_TEST(wait_keeps_its_first_result)
{
    struct rn__task *self = rn__self_in(__func__);
    rn_scope *scope = open_scope();
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    CHECK(rn__wait_claim(self, 4, false));
    rn_scope_cancel(scope);
    rn__fire(self);
    CHECK_EQ(rn__wait_park(self, rn_now() - 1), 4);
    CHECK_EQ(rn_scope_close(scope), 0);
    return 0;
}

/* Waits that somebody else has claimed are dropped from a queue on the way. */
RUN_TEST(wait_queue_passes_over_the_claimed)
{
    struct rn__task *self = rn__self_in(__func__);
    struct rn__list queue;
    struct rn__waiter waiters[3];
    rn__list_init(&queue);
    CHECK(!rn__wait_any(&queue));
    CHECK(!rn__wait_claim_first(&queue, 0));
    rn__wait_open(self, RN__SELECT, NULL, NULL, true);
    for (int i = 0; i < 3; i++)
        rn__wait_add(&queue, &waiters[i], self, i, NULL);
    CHECK(rn__wait_any(&queue));
    CHECK(rn__wait_claim_first(&queue, -EPIPE) == &waiters[0]);
    CHECK_EQ(self->wait_status, -EPIPE);
    CHECK(!rn__list_empty(&queue));
    CHECK(!rn__wait_any(&queue));
    CHECK(rn__list_empty(&queue));
    rn__fire(self);
    CHECK_EQ(rn__wait_park(self, RN_NEVER), 0);
    return 0;
}

/* ---- values under peers, timers and cancels ----------------------------- */

enum { SENDERS = 4, RECEIVERS = 5, VALUES = SENDERS };

static struct {
    rn_chan *chan;
    uint64_t random; /* main's */
    uint64_t seed;   /* of a trial's tasks */
    int kind;
    bool sent[VALUES]; /* by the sender's own word */
    _Atomic int received[VALUES];
    _Atomic long ok, timed_out, canceled;
} trial;

enum {
    NEVER, /* no deadline: the surplus receiver must be cancelled */
    PAST,  /* deadlines that have passed */
    NEAR,  /* a few microseconds around now */
    MIXED, /* some of each */
    KINDS
};

static rn_time
draw_deadline(uint64_t *random)
{
    int kind =
        trial.kind == MIXED ? (int)rn__prng_below(random, MIXED) : trial.kind;
    rn_time now = rn_now();
    if (kind == NEVER)
        return RN_NEVER;
    if (kind == PAST)
        return now - rn__prng_below(random, 1000);
    return now - 1000 + rn__prng_below(random, 30000);
}

static void
count(int result)
{
    if (result == 0)
        atomic_fetch_add(&trial.ok, 1);
    else if (result == -ETIMEDOUT)
        atomic_fetch_add(&trial.timed_out, 1);
    else if (result == -ECANCELED)
        atomic_fetch_add(&trial.canceled, 1);
    else
        FAIL("a wait returned %d", result);
}

static int
send_one(void *arg)
{
    int value = (int)(intptr_t)arg;
    uint64_t random = trial.seed + (uint64_t)value;
    int result = rn_chan_send(trial.chan, &value, draw_deadline(&random));
    trial.sent[value] = result == 0;
    count(result);
    return 0;
}

static int
recv_one(void *arg)
{
    int value = -1;
    uint64_t random = trial.seed + 100 + (uint64_t)(uintptr_t)arg;
    int result = rn_chan_recv(trial.chan, &value, draw_deadline(&random));
    if (result == 0)
        atomic_fetch_add(&trial.received[value], 1);
    else
        CHECK_EQ(value, -1); /* untouched */
    count(result);
    return 0;
}

static void
spawn_in_some_order(rn_scope *scope, bool expires)
{
    int sends = 0, recvs = 0;
    while (sends + recvs < SENDERS + RECEIVERS) {
        bool send = rn__prng_below(&trial.random, 2);
        int *next = send ? &sends : &recvs;
        if (*next == (send ? SENDERS : RECEIVERS))
            continue;
        int result = rn_go(scope, send ? send_one : recv_one,
                           (void *)(intptr_t)(*next)++);
        CHECK(result == 0 || (expires && result == -ECANCELED));
    }
}

static void
run_trial(size_t capacity, bool expires)
{
    int value;
    memset(trial.sent, 0, sizeof trial.sent);
    for (int i = 0; i < VALUES; i++)
        atomic_store(&trial.received[i], 0);
    trial.seed = rn__prng_next(&trial.random);
    trial.chan = new_chan(sizeof(int), capacity);
    rn_scope *scope = open_scope();
    spawn_in_some_order(scope, expires);
    for (uint32_t n = rn__prng_below(&trial.random, 8); n > 0; n--)
        rn_yield();
    rn_scope_cancel(scope);
    int ended = rn_scope_close(scope); /* some may not have begun */
    CHECK(ended == 0 || ended == -ECANCELED || ended == -ETIMEDOUT);
    while (rn_chan_recv(trial.chan, &value, RN_NOW) == 0)
        atomic_fetch_add(&trial.received[value], 1);
    for (int i = 0; i < VALUES; i++)
        CHECK_EQ(trial.received[i], trial.sent[i]);
    rn_chan_unref(trial.chan);
}

RUN_TEST(wait_has_one_result)
{
    for (long i = test_count(30000); i > 0; i--) {
        trial.kind = (int)(i % KINDS);
        run_trial((size_t)(i / KINDS % 3), false);
    }
    CHECK_GT(trial.canceled, 0);
    CHECK_GT(trial.timed_out, 0);
    CHECK_GT(trial.ok, 0);
    return 0;
}

/* The same where the cancel is a scope's deadline: timers' work as well. */
RUN_TEST(wait_has_one_result_in_a_scope_that_expires)
{
    for (long i = test_count(20000); i > 0; i--) {
        rn_scope *scope;
        trial.kind = (int)(i % KINDS);
        rn_time span = rn__prng_below(&trial.random, 50000);
        CHECK_EQ(rn_scope_open(rn_now() + span, &scope), 0);
        run_trial((size_t)(i % 3), true);
        int result = rn_scope_close(scope);
        CHECK(result == 0 || result == -ETIMEDOUT || result == -ECANCELED);
    }
    return 0;
}

/* ---- locks under timers and cancels ------------------------------------- */

static struct {
    rn_mutex mutex;
    struct rn__task *holder; /* guarded by mutex */
    _Atomic long locked, refused;
} locks;

static int
lock_some(void *arg)
{
    uint64_t random = trial.seed + (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < 5; i++) {
        if (rn_mutex_lock(&locks.mutex, draw_deadline(&random)) < 0) {
            atomic_fetch_add(&locks.refused, 1);
            continue;
        }
        atomic_fetch_add(&locks.locked, 1);
        CHECK(!locks.holder);
        locks.holder = rn__self();
        if (rn__prng_below(&random, 2))
            rn_yield();
        CHECK(locks.holder == rn__self());
        locks.holder = NULL;
        rn_mutex_unlock(&locks.mutex);
    }
    return 0;
}

RUN_TEST(wait_for_a_mutex_has_one_result)
{
    for (long i = test_count(10000); i > 0; i--) {
        rn_scope *scope = open_scope();
        trial.kind = (int)(i % KINDS);
        trial.seed = rn__prng_next(&trial.random);
        for (intptr_t k = 0; k < 6; k++)
            go(scope, lock_some, (void *)k);
        for (uint32_t n = rn__prng_below(&trial.random, 20); n > 0; n--)
            rn_yield();
        rn_scope_cancel(scope);
        int ended = rn_scope_close(scope); /* some may not have begun */
        CHECK(ended == 0 || ended == -ECANCELED || ended == -ETIMEDOUT);
        CHECK_EQ(rn_mutex_lock(&locks.mutex, RN_NOW), 0); /* it is free */
        rn_mutex_unlock(&locks.mutex);
    }
    CHECK_GT(locks.locked, 0);
    CHECK_GT(locks.refused, 0);
    return 0;
}

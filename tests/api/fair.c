/* fair.c - whoever can go on does, however busy the others keep a worker. Each
 * test ends only if the one that others could keep waiting is run; else its
 * time is up, or the deadlock report ends it.
 */
#include "world.h"

#include <stdatomic.h>

static struct {
    _Atomic bool done;
    rn_chan *ping, *pong;
    long rounds;
} fair;

static int
finish(void *arg)
{
    (void)arg;
    atomic_store(&fair.done, true);
    return 0;
}

/* It yields, and always wants to go on. */
static int
hog(void *arg)
{
    (void)arg;
    while (!atomic_load(&fair.done))
        CHECK_EQ(rn_yield(), 0);
    return 0;
}

/* A pair that wakes each other, so that one of them always stands first. */
static int
serve(void *arg)
{
    (void)arg;
    long value;
    while (rn_chan_recv(fair.ping, &value, RN_NEVER) == 0)
        CHECK_EQ(rn_chan_send(fair.pong, &value, RN_NEVER), 0);
    return 0;
}

static int
play(void *arg)
{
    (void)arg;
    for (long i = 0; fair.rounds ? i < fair.rounds : !atomic_load(&fair.done);
         i++) {
        long value = i;
        CHECK_EQ(rn_chan_send(fair.ping, &value, RN_NEVER), 0);
        CHECK_EQ(rn_chan_recv(fair.pong, &value, RN_NEVER), 0);
        CHECK_EQ(value, i);
    }
    rn_chan_close(fair.ping);
    if (fair.rounds)
        atomic_store(&fair.done, true);
    return 0;
}

static void
begin_pair(long rounds)
{
    fair.rounds = rounds;
    fair.ping = new_chan(sizeof(long), 0);
    fair.pong = new_chan(sizeof(long), 0);
    go(serve, NULL);
    go(play, NULL);
}

static void
end(rn_scope *scope)
{
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK(atomic_load(&fair.done));
    rn_chan_unref(fair.ping);
    rn_chan_unref(fair.pong);
}

API_TEST_SCHEDULES(fair_hogs_that_yield_do_not_starve_a_pair, 20)
{
    rn_scope *scope = open_scope(RN_NEVER);
    atomic_store(&fair.done, false);
    for (int i = 0; i < 3; i++)
        go(hog, NULL);
    begin_pair(rn_sim_active() ? 10 : 1000);
    end(scope);
}

API_TEST_SCHEDULES(fair_pair_does_not_starve_the_queue, 20)
{
    rn_scope *scope = open_scope(RN_NEVER);
    atomic_store(&fair.done, false);
    go(finish, NULL); /* pushed out of the way by the pair */
    begin_pair(0);
    end(scope);
}

/* It has run before it waits for its turn. */
static int
yield_and_finish(void *arg)
{
    for (int i = 0; i < 4; i++)
        CHECK_EQ(rn_yield(), 0);
    return finish(arg);
}

API_TEST_SCHEDULES(fair_pair_does_not_starve_who_has_yielded, 20)
{
    rn_scope *scope = open_scope(RN_NEVER);
    atomic_store(&fair.done, false);
    go(yield_and_finish, NULL);
    begin_pair(0);
    end(scope);
}

static int
do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* The oldest of those that have not begun, with newer ones all the time. */
static int
spawn_for_ever(void *arg)
{
    (void)arg;
    while (!atomic_load(&fair.done)) {
        go(do_nothing, NULL);
        go(do_nothing, NULL);
        CHECK_EQ(rn_yield(), 0);
    }
    return 0;
}

API_TEST_SCHEDULES(fair_new_tasks_do_not_starve_older_ones, 20)
{
    rn_scope *scope = open_scope(RN_NEVER);
    atomic_store(&fair.done, false);
    go(finish, NULL);
    go(spawn_for_ever, NULL);
    CHECK_EQ(rn_scope_close(scope), 0);
}

/* Each spawns the next and then a leaf, and ends: the queue runs empty but for
 * tasks that have not begun, and a newer one always stands before the
 * oldest. */
static int
link_of_a_chain(void *arg)
{
    (void)arg;
    if (atomic_load(&fair.done))
        return 0;
    go(link_of_a_chain, NULL);
    go(do_nothing, NULL);
    return 0;
}

API_TEST_SCHEDULES(fair_chain_of_new_tasks_does_not_starve_the_oldest, 20)
{
    rn_scope *scope = open_scope(RN_NEVER);
    atomic_store(&fair.done, false);
    go(finish, NULL);
    go(link_of_a_chain, NULL);
    CHECK_EQ(rn_scope_close(scope), 0);
}

static int
sleep_and_finish(void *arg)
{
    (void)arg;
    CHECK_EQ(rn_sleep(RN_MS), 0);
    return finish(NULL);
}

API_TEST_SCHEDULES(fair_timers_expire_under_load, 20)
{
    rn_scope *scope = open_scope(RN_NEVER);
    atomic_store(&fair.done, false);
    go(sleep_and_finish, NULL);
    if (!rn_sim_active()) /* there time moves when all wait */
        for (int i = 0; i < 3; i++)
            go(hog, NULL);
    CHECK_EQ(rn_scope_close(scope), 0);
}

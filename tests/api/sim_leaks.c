/* sim_leaks.c - the patterns by which programs leave tasks waiting for ever:
 * each is reported, with who waits for what, and its repaired twin is silent.
 */
#include "world.h"

#include <errno.h>

/* What the patterns share. */
struct leak {
    rn_chan *chan;
    rn_mutex lock;
    rn_rwmutex table;
    rn_cond changed;
    rn_waitgroup group;
    rn_sema units;
    bool mended;
};

static int
end_of(int result)
{
    return result < 0 ? 0 : result;
}

/* ---- the lost tasks ------------------------------------------------------ */

static int
send_nil(void *arg)
{
    (void)arg;
    return end_of(rn_chan_send(NULL, "x", RN_NEVER));
}

static int
receive_nil(void *arg)
{
    (void)arg;
    return end_of(rn_chan_recv(NULL, NULL, RN_NEVER));
}

static int
select_nothing(void *arg)
{
    (void)arg;
    return end_of(rn_select(NULL, 0, 0, RN_NEVER));
}

static int
send_one(void *arg)
{
    struct leak *l = arg;
    return end_of(rn_chan_send(l->chan, "x", RN_NEVER));
}

static int
receive_one(void *arg)
{
    struct leak *l = arg;
    char c;
    return end_of(rn_chan_recv(l->chan, &c, RN_NEVER));
}

static int
select_one(void *arg)
{
    struct leak *l = arg;
    char c;
    rn_arm arms[] = {RN_ARM_RECV(l->chan, &c), RN_ARM_RECV(NULL, NULL)};
    return end_of(rn_select(arms, 2, 0, RN_NEVER));
}

static int
wait_for_group(void *arg)
{
    struct leak *l = arg;
    return end_of(rn_waitgroup_wait(&l->group, RN_NEVER));
}

static int
lock_twice(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_mutex_lock(&l->lock, RN_NEVER), 0);
    if (l->mended)
        rn_mutex_unlock(&l->lock);
    CHECK_EQ(rn_mutex_lock(&l->lock, RN_NEVER), 0);
    rn_mutex_unlock(&l->lock);
    return 0;
}

static int
wait_for_change(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_mutex_lock(&l->lock, RN_NEVER), 0);
    CHECK_EQ(rn_cond_wait(&l->changed, &l->lock, RN_NEVER), 0);
    rn_mutex_unlock(&l->lock);
    return 0;
}

static int
read_and_write(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_rwmutex_read_lock(&l->table, RN_NEVER), 0);
    if (l->mended)
        rn_rwmutex_read_unlock(&l->table);
    CHECK_EQ(rn_rwmutex_lock(&l->table, RN_NEVER), 0);
    rn_rwmutex_unlock(&l->table);
    return 0;
}

static int
write_and_keep(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_rwmutex_lock(&l->table, RN_NEVER), 0);
    if (l->mended)
        rn_rwmutex_unlock(&l->table);
    return 0;
}

static int
read_one(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_sleep(RN_MS), 0); /* the writer has had it */
    CHECK_EQ(rn_rwmutex_read_lock(&l->table, RN_NEVER), 0);
    rn_rwmutex_read_unlock(&l->table);
    return 0;
}

static int
take_units(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_sema_acquire(&l->units, 2, RN_NEVER), 0);
    rn_sema_release(&l->units, 2);
    return 0;
}

/* Receives until the channel is closed. */
static int
range(void *arg)
{
    struct leak *l = arg;
    char c;
    while (rn_chan_recv(l->chan, &c, RN_NEVER) == 0)
        ;
    return 0;
}

/* Answers twice; the second answer has no taker. */
static int
answer_twice(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_chan_send(l->chan, "x", RN_NEVER), 0);
    return l->mended ? 0 : end_of(rn_chan_send(l->chan, "x", RN_NEVER));
}

/* ---- what main does about them ------------------------------------------- */

static void
begin(struct leak *l, bool mended, size_t room)
{
    static const struct leak fresh = {.lock = RN_MUTEX_INIT,
                                      .table = RN_RWMUTEX_INIT,
                                      .changed = RN_COND_INIT,
                                      .group = RN_WAITGROUP_INIT,
                                      .units = RN_SEMA_INIT(3)};
    *l = fresh;
    l->mended = mended;
    l->chan = new_chan(1, room);
}

/* Statics: tasks outlive main. */
static struct leak leak;

static void
lose(rn_task_fn *fn)
{
    begin(&leak, false, 0);
    go_named("lost", fn, &leak);
}

#define LOSES(id, fn, text)                                             \
    SIM_FINDS_TEXT(leak_##id, RN_SIM_LEAK,                              \
                   "1 of its tasks wait for ever|\"lost\" waits " text) \
    {                                                                   \
        lose(fn);                                                       \
    }

LOSES(nil_send, send_nil, "to send on a nil chan")
LOSES(nil_receive, receive_nil, "to receive from a nil chan")
LOSES(empty_select, select_nothing, "in select without arms")
LOSES(send, send_one, "to send on chan#")
LOSES(receive, receive_one, "to receive from chan#")
LOSES(select, select_one, "in select: receive from chan#")
LOSES(mutex_twice, lock_twice, "to lock mutex#")
LOSES(condition, wait_for_change, "for cond#")
LOSES(rwmutex_read_then_write, read_and_write, "to write rwmutex#")
LOSES(range_without_close, range, "to receive from chan#")

SIM_FINDS_TEXT(leak_wait_group, RN_SIM_LEAK, "\"lost\" waits for group#")
{
    begin(&leak, false, 0);
    rn_waitgroup_add(&leak.group, 1);
    go_named("lost", wait_for_group, &leak);
}

SIM_FINDS_TEXT(leak_rwmutex_write_then_read, RN_SIM_LEAK,
               "\"lost\" waits to read rwmutex#|held by task 2 \"writer\", "
               "which has ended")
{
    begin(&leak, false, 0);
    rn_task t = go_named("writer", write_and_keep, &leak);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    go_named("lost", read_one, &leak);
}

SIM_FINDS_TEXT(leak_semaphore, RN_SIM_LEAK, "\"lost\" waits for units of sema#")
{
    begin(&leak, false, 0);
    CHECK_EQ(rn_sema_acquire(&leak.units, 2, RN_NEVER), 0);
    go_named("lost", take_units, &leak);
}

/* Two of different kinds, each of which the other could wake. */
static int
lock_and_send(void *arg)
{
    struct leak *l = arg;
    CHECK_EQ(rn_mutex_lock(&l->lock, RN_NEVER), 0);
    int e = rn_chan_send(l->chan, "x", RN_NEVER);
    rn_mutex_unlock(&l->lock);
    return end_of(e);
}

static int
lock_and_receive(void *arg)
{
    struct leak *l = arg;
    char c;
    if (!l->mended)
        CHECK_EQ(rn_mutex_lock(&l->lock, RN_NEVER), 0);
    int e = rn_chan_recv(l->chan, &c, RN_NEVER);
    if (!l->mended)
        rn_mutex_unlock(&l->lock);
    return end_of(e);
}

SIM_FINDS_TEXT(leak_mixed, RN_SIM_LEAK, "2 of its tasks|mutex#|chan#")
{
    begin(&leak, false, 0);
    go_named("sender", lock_and_send, &leak);
    go_named("receiver", lock_and_receive, &leak);
}

SIM_FINDS_TEXT(leak_double_send, RN_SIM_LEAK, "\"lost\" waits to send on chan#")
{
    char c;
    begin(&leak, false, 0);
    go_named("lost", answer_twice, &leak);
    CHECK_EQ(rn_chan_recv(leak.chan, &c, RN_NEVER), 0);
}

/* An error on the way, and nobody takes the answer. */
SIM_FINDS_TEXT(leak_early_return, RN_SIM_LEAK,
               "\"lost\" waits to send on chan#")
{
    char c;
    begin(&leak, false, 0);
    go_named("lost", send_one, &leak);
    if (rn_sim_choose(2) == 0)
        return;
    CHECK_EQ(rn_chan_recv(leak.chan, &c, RN_NEVER), 0);
}

SIM_FINDS_TEXT(leak_first_of_n, RN_SIM_LEAK,
               "2 of its tasks wait for ever|to send on chan#")
{
    char c;
    begin(&leak, false, 0);
    for (int i = 0; i < 3; i++)
        go_named("answerer", send_one, &leak);
    CHECK_EQ(rn_chan_recv(leak.chan, &c, RN_NEVER), 0);
}

/* The answer comes at the moment the asker gives up. */
static int
answer_late(void *arg)
{
    CHECK_EQ(rn_sleep(RN_MS), 0);
    return send_one(arg);
}

SIM_FINDS_TEXT(leak_timeout, RN_SIM_LEAK, "\"lost\" waits to send on chan#")
{
    char c;
    begin(&leak, false, 0);
    go_named("lost", answer_late, &leak);
    int e = rn_chan_recv(leak.chan, &c, rn_after(RN_MS));
    CHECK(e == 0 || e == -ETIMEDOUT);
}

/* ---- the twins ----------------------------------------------------------- */

/* Nil channels and empty selects end with the scope they are in. */
API_TEST(leak_free_waits_for_nothing)
{
    rn_scope *s = open_scope(RN_NEVER);
    begin(&leak, true, 0);
    go(send_nil, NULL);
    go(receive_nil, NULL);
    go(select_nothing, NULL);
    rn_scope_cancel(s);
    close_cancelled(s);
    rn_chan_unref(leak.chan);
}

API_TEST(leak_free_channels)
{
    char c;
    begin(&leak, true, 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(send_one, &leak);
    go(receive_one, &leak);
    go(answer_twice, &leak);
    CHECK_EQ(rn_chan_recv(leak.chan, &c, RN_NEVER), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    s = open_scope(RN_NEVER);
    go(range, &leak);
    go(select_one, &leak);
    CHECK_EQ(rn_chan_send(leak.chan, "x", RN_NEVER), 0);
    rn_chan_close(leak.chan);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(leak.chan);
}

API_TEST(leak_free_locks)
{
    begin(&leak, true, 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(lock_twice, &leak);
    go(read_and_write, &leak);
    go(write_and_keep, &leak);
    go(read_one, &leak);
    go(take_units, &leak);
    go(lock_and_send, &leak);
    go(lock_and_receive, &leak);
    rn_waitgroup_add(&leak.group, 1);
    go(wait_for_group, &leak);
    rn_waitgroup_done(&leak.group);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(leak.chan);
}

/* Room for each answer, so that nobody need take it. */
API_TEST(leak_free_answers)
{
    char c;
    begin(&leak, true, 4);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(send_one, &leak);
    CHECK_EQ(rn_chan_recv(leak.chan, &c, RN_NEVER), 0);
    go(answer_late, &leak);
    int e = rn_chan_recv(leak.chan, &c, rn_after(RN_MS));
    CHECK(e == 0 || e == -ETIMEDOUT);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(leak.chan);
}

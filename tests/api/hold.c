/* hold.c - tests of runnel/hold.h, and of rn_task_move. R16: spawn through a
 * counted handle; R9: what is not awaited moves into a longer-lived scope. */
#include "world.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int
count_up(void *arg)
{
    CHECK_EQ(rn_yield(), 0);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

struct held {
    rn_scope_handle *handle;
    rn_chan *chan;
    atomic_int count;
    int refused; /* what rn_scope_handle_go returned at last */
};

static int
use_and_release(void *arg)
{
    struct held *h = arg;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_scope_handle_go(h->handle, count_up, &h->count), 0);
    rn_scope_handle_release(h->handle);
    return 0;
}

/* R16: while it is held its scope does not end, though its tasks have. */
RULE_TEST(hold_R16_keeps_a_scope_open)
{
    struct held h = {.count = 0};
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_scope_hold(NULL, &h.handle), 0);
    CHECK_EQ(rn_go(outer, use_and_release, &h), 0); /* not inside it */
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&h.count), 3);
    CHECK_EQ(rn_scope_close(outer), 0);
}

/* By what runs in a blocking call: another OS thread, for real. */
static int
block_and_use(void *arg)
{
    CHECK_EQ(rn_blocking(use_and_release, arg, RN_NEVER, NULL), 0);
    return 0;
}

RULE_TEST(hold_R16_by_a_blocking_call)
{
    struct held h = {.count = 0};
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_scope_hold(s, &h.handle), 0);
    CHECK_EQ(rn_go(outer, block_and_use, &h), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&h.count), 3);
    CHECK_EQ(rn_scope_close(outer), 0);
}

RULE_TEST(hold_R16_is_refused_by_a_cancelled_scope)
{
    struct held h = {.count = 0}, none = {.handle = NULL};
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_scope_hold(s, &h.handle), 0);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_hold(s, &none.handle), -ECANCELED);
    CHECK(none.handle == NULL);
    CHECK_EQ(rn_scope_handle_go(h.handle, count_up, &h.count), -ECANCELED);
    rn_scope_handle_release(h.handle);
    rn_scope_handle_release(NULL);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&h.count), 0);
}

/* What an outcome array and a report say of tasks that came so. */
RULE_TEST(hold_R16_tasks_are_counted)
{
    struct held h = {.count = 0};
    rn_outcome outcomes[3];
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {
        .report = &r, .outcomes = outcomes, .outcome_room = 3};
    rn_scope *outer = open_scope(RN_NEVER), *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    CHECK_EQ(rn_scope_hold(s, &h.handle), 0);
    CHECK_EQ(rn_go(outer, block_and_use, &h), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(r.ok, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(outcomes[i], RN_OUTCOME_OK);
    CHECK_EQ(rn_scope_close(outer), 0);
    rn_report_fini(&r);
}

static void *
thread_main(void *arg)
{
    struct held *h = arg;
    for (int i = 0; i < 100; i++)
        CHECK_EQ(rn_scope_handle_go(h->handle, count_up, &h->count), 0);
    rn_scope_handle_release(h->handle);
    return NULL;
}

/* Two foreign threads with a handle each, and main waits for nothing else. */
REAL_TEST(hold_R16_by_foreign_threads)
{
    struct held h[2] = {{.count = 0}, {.count = 0}};
    pthread_t threads[2];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rn_scope_hold(s, &h[i].handle), 0);
        CHECK_EQ(pthread_create(&threads[i], NULL, thread_main, &h[i]), 0);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(atomic_load(&h[i].count), 100);
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
}

/* A run ends right after the release: nothing of it is touched any more. */
static int
hold_root(void *arg)
{
    struct held *h = arg;
    return rn_scope_hold(NULL, &h->handle) < 0 ||
           pthread_create((pthread_t *)h->chan, NULL, thread_main, h) != 0;
}

TEST(hold_R16_of_the_root_scope)
{
    for (int i = 0; i < (int)test_count(200); i++) {
        pthread_t thread;
        struct held h = {.chan = (void *)&thread};
        rn_options options = {.workers = 1 + i % 2};
        CHECK_EQ(rn_run(&options, hold_root, &h), 0);
        CHECK_EQ(atomic_load(&h.count), 100);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
}

static void *
keep_trying(void *arg)
{
    struct held *h = arg;
    do
        h->refused = rn_scope_handle_go(h->handle, count_up, &h->count);
    while (h->refused == 0);
    rn_scope_handle_release(h->handle);
    return NULL;
}

REAL_TEST(hold_R16_a_foreign_thread_learns_of_a_cancel)
{
    struct held h = {.count = 0};
    pthread_t thread;
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_scope_hold(s, &h.handle), 0);
    rn_scope_cancel(s);
    CHECK_EQ(pthread_create(&thread, NULL, keep_trying, &h), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(h.refused, -ECANCELED);
    CHECK_EQ(atomic_load(&h.count), 0);
}

/* The simulator sees a handle nobody releases. */
SIM_FINDS_TEXT(hold_R16_never_released_is_a_deadlock, RN_SIM_DEADLOCK,
               "for all tasks of scope")
{
    rn_scope_handle *handle;
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_scope_hold(s, &handle), 0);
    rn_scope_close(s);
}

/* ---- rn_task_move -------------------------------------------------------- */

struct move {
    rn_scope *to;
    rn_chan *ready, *go_on;
    int moved, result;
    rn_reason reason;
    atomic_int done;
};

static int
move_and_wait(void *arg)
{
    struct move *m = arg;
    CHECK_EQ(rn_sleep(RN_US), 0); /* what its timer has left does not matter */
    m->moved = rn_task_move(m->to);
    send_int(m->ready, 1);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(recv_int(m->go_on), 2);
    atomic_store(&m->done, 1);
    return m->result;
}

/* R9: its old scope ends without it, and cancels it no more. */
RULE_TEST(task_move_R9_leaves_a_scope)
{
    rn_report old = RN_REPORT_INIT, new = RN_REPORT_INIT;
    rn_scope_options options = {.report = &new};
    struct move m = {.ready = new_chan(sizeof(int), 0),
                     .go_on = new_chan(sizeof(int), 0),
                     .result = -EIO};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &m.to), 0);
    rn_scope *between = open_scope(RN_NEVER);
    options.report = &old;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    rn_task t = go_joinable(move_and_wait, &m);
    CHECK_EQ(recv_int(m.ready), 1);
    CHECK_EQ(m.moved, 0);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_scope_close(between), 0);
    CHECK_EQ(atomic_load(&m.done), 0);
    send_int(m.go_on, 2);
    int result = 0;
    rn_shield shield = rn_shield_push();
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
    rn_shield_restore(shield);
    CHECK_EQ(result, -EIO);
    CHECK_EQ(rn_scope_close(m.to), -EIO);
    CHECK_EQ(old.ok + old.cancelled + old.count, 0);
    CHECK_EQ(new.count, 1);
    CHECK_EQ(new.failures[0].index, 0);
    rn_report_fini(&new);
    rn_report_fini(&old);
    rn_chan_unref(m.ready);
    rn_chan_unref(m.go_on);
}

/* One that is cancelled already, and has waited, may leave, too; so ends the
 * cancel. The new scope's own reaches it. */
static int
lose_and_move(void *arg)
{
    struct move *m = arg;
    send_int(m->ready, 1);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_task_move(m->to), 0);
    m->reason = rn_cancel_reason(NULL);
    send_int(m->ready, 2);
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    atomic_store(&m->done, 1);
    return e;
}

RULE_TEST(task_move_R9_of_a_loser)
{
    struct move m = {.to = open_scope(RN_NEVER),
                     .ready = new_chan(sizeof(int), 0),
                     .reason = RN_REASON_SELF};
    rn_scope *s = open_scope(RN_NEVER);
    go(lose_and_move, &m);
    CHECK_EQ(recv_int(m.ready), 1);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(recv_int(m.ready), 2);
    CHECK_EQ(m.reason, RN_REASON_NONE);
    rn_scope_cancel(m.to);
    CHECK_EQ(rn_scope_close(m.to), -ECANCELED);
    CHECK_EQ(atomic_load(&m.done), 1);
    rn_chan_unref(m.ready);
}

static int
move_nowhere(void *arg)
{
    struct move *m = arg;
    m->moved = rn_task_move(m->to);
    return 0;
}

RULE_TEST(task_move_is_refused)
{
    struct move m = {.moved = 42};
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    rn_scope *below = open_scope(RN_NEVER);
    rn_task t;
    m.to = below; /* not around it */
    CHECK_EQ(rn_task_spawn(s, move_nowhere, &m, NULL, &t), 0);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_scope_close(below), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(m.moved, -EINVAL);
    s = open_scope(RN_NEVER);
    m.to = s; /* where it is */
    go(move_nowhere, &m);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(m.moved, 0);
    CHECK_EQ(rn_scope_close(outer), 0);
}

static int
move_with_a_scope(void *to)
{
    open_scope(RN_NEVER);
    return rn_task_move(to);
}

API_PANICS(task_move_with_a_scope_open_panics, "rn_task_move")
{
    rn_scope *outer = open_scope(RN_NEVER);
    open_scope(RN_NEVER);
    go(move_with_a_scope, outer);
    settle();
}

/* A dump says where it is now. */
REAL_TEST(task_move_is_seen_in_dumps)
{
    rn_scope_options options = {.name = "afterwards"};
    struct move m = {.ready = new_chan(sizeof(int), 0),
                     .go_on = new_chan(sizeof(int), 0)};
    CHECK_EQ(rn_scope_open_with(&options, &m.to), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(move_and_wait, &m);
    CHECK_EQ(recv_int(m.ready), 1);
    CHECK_EQ(rn_scope_close(s), 0);
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    CHECK(f != NULL);
    rn_task_dump(f);
    fclose(f);
    CHECK_HAS(text, "moved to a scope \"afterwards\"");
    free(text);
    send_int(m.go_on, 2);
    CHECK_EQ(rn_scope_close(m.to), 0);
    rn_chan_unref(m.ready);
    rn_chan_unref(m.go_on);
}

/* A task that was cancelled alone stays so where it moves to. */
static int
move_told(void *arg)
{
    struct move *m = arg;
    rn_task_cancel(rn_task_self());
    CHECK_EQ(rn_task_move(m->to), 0);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_cancel_reason(NULL), RN_REASON_USER);
    atomic_store(&m->done, 1);
    return 0;
}

RULE_TEST(task_move_keeps_a_cancel_of_the_task)
{
    struct move m = {.to = open_scope(RN_NEVER)};
    rn_scope *s = open_scope(RN_NEVER);
    go(move_told, &m);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_scope_close(m.to), 0);
    CHECK_EQ(atomic_load(&m.done), 1);
    CHECK_EQ(rn_yield(), 0);
}

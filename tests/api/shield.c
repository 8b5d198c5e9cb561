/* shield.c - tests of runnel/shield.h. R11: shields; R12: a cancel that is
 * visible stays so. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

static int
fail_eio(void *arg)
{
    (void)arg;
    return -EIO;
}

static int
send_seven(void *chan)
{
    send_int(chan, 7);
    return 0;
}

static void
sees_a_cancel(bool seen)
{
    int expected = seen ? -ECANCELED : 0;
    CHECK_EQ(rn_cancel_requested(), seen);
    CHECK_EQ(rn_cancel_reason(NULL) != RN_REASON_NONE, seen);
    CHECK_EQ(rn_yield(), expected);
    CHECK_EQ(rn_sleep(10), expected);
    CHECK_EQ(rn_chan_recv(NULL, NULL, rn_now() + 10),
             seen ? -ECANCELED : -ETIMEDOUT);
}

RULE_TEST(shield_R11_keeps_a_cancel_pending)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_shield shield = rn_shield_push();
    rn_scope_cancel(s);
    sees_a_cancel(false);
    rn_shield inner = rn_shield_push();
    sees_a_cancel(false);
    rn_shield_restore(inner);
    sees_a_cancel(false);
    rn_shield_restore(shield);
    sees_a_cancel(true);
    shield = rn_shield_push(); /* also if it came before */
    sees_a_cancel(false);
    rn_shield_restore(shield);
    sees_a_cancel(true);
    close_cancelled(s);
    sees_a_cancel(false);
}

/* R12: swallowed inside a scope, and inside a shield, it is still there. */
RULE_TEST(shield_R12_loses_no_cancel)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_scope_cancel(s);
    for (int i = 0; i < 2; i++) {
        rn_scope *inner = open_scope(RN_NEVER);
        rn_shield shield = rn_shield_push();
        sees_a_cancel(false);
        rn_shield_restore(shield);
        sees_a_cancel(true);
        close_cancelled(inner);
        sees_a_cancel(true);
    }
    close_cancelled(s);
    sees_a_cancel(false);
}

struct waits {
    rn_chan *ready, *value;
    int got;
};

static int
wait_shielded(void *arg)
{
    struct waits *w = arg;
    rn_shield shield = rn_shield_push();
    send_int(w->ready, 1);
    w->got = recv_int(w->value); /* a cancel comes while it waits */
    rn_shield_restore(shield);
    CHECK_EQ(rn_yield(), -ECANCELED);
    return -ECANCELED;
}

RULE_TEST(shield_R11_a_shielded_wait_is_not_cut)
{
    struct waits w = {new_chan(sizeof(int), 0), new_chan(sizeof(int), 0), 0};
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_shielded, &w);
    CHECK_EQ(recv_int(w.ready), 1);
    rn_scope_cancel(s);
    rn_shield shield = rn_shield_push();
    settle();
    send_int(w.value, 8);
    rn_shield_restore(shield);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(w.got, 8);
    rn_chan_unref(w.ready);
    rn_chan_unref(w.value);
}

/* R11: children start unshielded. */
RULE_TEST(shield_R11_is_the_callers_alone)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_shield shield = rn_shield_push();
    go(wait_for_cancel, NULL);
    rn_scope_cancel(s);
    sees_a_cancel(false);
    rn_shield_restore(shield);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
}

/* R11: an outer cancel is not passed to children of a scope opened inside. */
RULE_TEST(shield_R11_cuts_a_scope_off)
{
    rn_chan *chan = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_shield shield = rn_shield_push();
    rn_scope *before = open_scope(RN_NEVER);
    go(send_seven, chan);
    rn_scope_cancel(s);
    rn_scope *after = open_scope(RN_NEVER), *below = open_scope(RN_NEVER);
    go(send_seven, chan);
    CHECK_EQ(recv_int(chan), 7);
    CHECK_EQ(recv_int(chan), 7);
    sees_a_cancel(false);
    CHECK_EQ(rn_scope_close(below), 0);
    CHECK_EQ(rn_scope_close(after), 0);
    CHECK_EQ(rn_scope_close(before), 0);
    rn_shield_restore(shield);
    sees_a_cancel(true);
    close_cancelled(s);
    rn_chan_unref(chan);
}

/* R11: what comes from inside works, and cuts the waits of the opener. */
RULE_TEST(shield_R11_a_cancel_from_inside_is_seen)
{
    for (int i = 0; i < 4; i++) {
        rn_scope *s = open_scope(RN_NEVER);
        rn_shield shield = rn_shield_push();
        rn_scope_cancel(s);
        rn_scope *inner = open_scope(RN_NEVER);
        rn_scope *below = i == 3 ? open_scope(RN_NEVER) : NULL;
        CHECK_EQ(rn_go(inner, wait_for_cancel, NULL), 0);
        if (i == 0)
            go(fail_eio, NULL);
        else if (i == 1)
            CHECK_EQ(rn_scope_set_deadline(inner, rn_now() + RN_MS), 0);
        else
            rn_scope_cancel(inner);
        CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
        sees_a_cancel(true);
        rn_shield deep = rn_shield_push();
        sees_a_cancel(false);
        rn_shield_restore(deep);
        if (below)
            close_cancelled(below);
        CHECK_EQ(rn_scope_close(inner), i == 0   ? -EIO
                                        : i == 1 ? -ETIMEDOUT
                                                 : -ECANCELED);
        sees_a_cancel(false);
        rn_shield_restore(shield);
        sees_a_cancel(true);
        close_cancelled(s);
    }
}

/* ---- unshield ----------------------------------------------------------- */

static int
sees(void *arg)
{
    sees_a_cancel(*(bool *)arg);
    return 11;
}

/* R11: it shows a cancel only if the state at the push was unshielded. */
RULE_TEST(shield_R11_unshield_shows_what_the_push_hid)
{
    bool yes = true, no = false;
    rn_scope *s = open_scope(RN_NEVER);
    rn_scope_cancel(s);
    rn_shield outer = rn_shield_push();
    CHECK_EQ(rn_unshield(outer, sees, &yes), 11);
    sees_a_cancel(false);
    rn_shield inner = rn_shield_push();
    CHECK_EQ(rn_unshield(inner, sees, &no), 11);
    rn_shield_restore(inner);
    CHECK_EQ(rn_unshield(outer, sees, &yes), 11); /* any number of times */
    rn_shield_restore(outer);
    sees_a_cancel(true);
    close_cancelled(s);
}

static int
wait_for_value(void *arg)
{
    struct waits *w = arg;
    send_int(w->ready, 1);
    int e = rn_chan_recv(w->value, &w->got, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    return e;
}

static int
wait_unshielded(void *arg)
{
    rn_shield shield = rn_shield_push();
    CHECK_EQ(rn_unshield(shield, wait_for_value, arg), -ECANCELED);
    sees_a_cancel(false); /* its end is no cancellation point */
    rn_shield_restore(shield);
    return -ECANCELED;
}

RULE_TEST(shield_R11_an_unshielded_wait_is_cut)
{
    struct waits w = {new_chan(sizeof(int), 0), new_chan(sizeof(int), 0), 3};
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_unshielded, &w);
    CHECK_EQ(recv_int(w.ready), 1);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(w.got, 3);
    rn_chan_unref(w.ready);
    rn_chan_unref(w.value);
}

static int
shield_again(void *arg)
{
    rn_shield shield = rn_shield_push();
    rn_scope *s = open_scope(RN_NEVER);
    go(send_seven, arg);
    CHECK_EQ(recv_int(arg), 7);
    CHECK_EQ(rn_scope_close(s), 0);
    sees_a_cancel(false);
    rn_shield_restore(shield);
    sees_a_cancel(true);
    return 0;
}

RULE_TEST(shield_R11_nests_in_an_unshield)
{
    rn_chan *chan = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_scope_cancel(s);
    rn_shield shield = rn_shield_push();
    CHECK_EQ(rn_unshield(shield, shield_again, chan), 0);
    sees_a_cancel(false);
    rn_shield_restore(shield);
    close_cancelled(s);
    rn_chan_unref(chan);
}

/* One still in force at the end of a task ends there. */
static int
forget(void *arg)
{
    (void)arg;
    rn_shield shield = rn_shield_push();
    (void)shield;
    return 0;
}

RULE_TEST(shield_left_in_force_ends_with_the_task)
{
    go(forget, NULL);
    settle();
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++) /* some in the same record */
        go(wait_for_cancel, NULL);
    settle();
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
}

/* ---- R11: a foreign or repeated one is refused -------------------------- */

static rn_shield foreign;

static int
push_foreign(void *chan)
{
    foreign = rn_shield_push();
    send_int(chan, 1);
    return 0;
}

API_PANICS(shield_R11_restore_of_a_foreign_one_panics, "another task")
{
    rn_chan *chan = new_chan(sizeof(int), 0);
    go(push_foreign, chan);
    CHECK_EQ(recv_int(chan), 1);
    rn_shield_restore(foreign);
}

API_PANICS(shield_R11_unshield_of_a_foreign_one_panics, "another task")
{
    rn_chan *chan = new_chan(sizeof(int), 0);
    bool yes = true;
    go(push_foreign, chan);
    CHECK_EQ(recv_int(chan), 1);
    rn_unshield(foreign, sees, &yes);
}

API_PANICS(shield_R11_restored_twice_panics, "innermost shield")
{
    rn_shield shield = rn_shield_push();
    rn_shield_restore(shield);
    rn_shield_restore(shield);
}

API_PANICS(shield_R11_restored_out_of_order_panics, "innermost shield")
{
    rn_shield outer = rn_shield_push(), inner = rn_shield_push();
    (void)inner;
    rn_shield_restore(outer);
}

static int
unshield_again(void *arg)
{
    bool yes = true;
    return rn_unshield(*(rn_shield *)arg, sees, &yes);
}

API_PANICS(shield_R11_unshielded_twice_panics, "innermost shield")
{
    rn_shield shield = rn_shield_push();
    rn_unshield(shield, unshield_again, &shield);
}

API_PANICS(shield_R11_one_that_was_replaced_panics, "innermost shield")
{
    rn_shield old = rn_shield_push();
    rn_shield_restore(old);
    rn_shield new = rn_shield_push();
    (void)new;
    rn_shield_restore(old);
}

API_PANICS(shield_R11_restored_inside_a_scope_panics, "scope was opened")
{
    rn_shield shield = rn_shield_push();
    open_scope(RN_NEVER);
    rn_shield_restore(shield);
}

API_PANICS(shield_R11_scope_closed_inside_a_shield_panics, "shield")
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_shield shield = rn_shield_push();
    (void)shield;
    rn_scope_close(s);
}

static int
leave_a_shield(void *arg)
{
    *(rn_shield *)arg = rn_shield_push();
    return 0;
}

API_PANICS(shield_R11_left_behind_by_an_unshield_panics, "left a shield")
{
    rn_shield shield = rn_shield_push(), left;
    rn_unshield(shield, leave_a_shield, &left);
}

TEST_DIES_WITH(shield_push_outside_a_task_panics, "outside a task", -SIGABRT)
{
    (void)!rn_shield_push().rn__task;
}

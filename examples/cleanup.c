/* cleanup.c - what must be done although we are cancelled: a seat that was
 * taken is given back, by waits that no cancel cuts short. */
#include <errno.h>
#include <runnel/runnel.h>
#include <stdio.h>

static rn_chan *seated; /* a guest says that it sits */

static int
take(void *seats)
{
    int e = rn_sleep(RN_MS); /* a wait, for a waiter */
    *(_Atomic int *)seats += e == 0;
    return e;
}

static int
give_back(void *seats, int outcome)
{
    int e = rn_sleep(RN_MS);
    *(_Atomic int *)seats -= e == 0;
    printf("a seat is free: %d\n", outcome);
    return e;
}

static int
stay(void *seats) /* until cancelled */
{
    int code, e = rn_chan_send(seated, NULL, RN_NEVER);
    e = e ? e : rn_sleep(3600 * RN_SEC);
    if (rn_cancel_reason(&code) == RN_REASON_USER)
        printf("one leaves, code %d\n", code);
    return seats ? e : 0;
}

static int
guest(void *seats)
{
    return rn_bracket(take, stay, give_back, seats);
}

static int
careful_guest(void *seats) /* the same, step by step */
{
    rn_shield shield = rn_shield_push();
    int e = take(seats); /* not cut short */
    if (e == 0) {
        e = rn_unshield(shield, stay, seats); /* may be */
        give_back(seats, e);                  /* not cut short */
    }
    rn_shield_restore(shield);
    return e;
}

static int
app(void *seats)
{
    rn_scope *s;
    rn_task first;
    int e = rn_chan_new(0, 0, &seated);
    if (e < 0 || (e = rn_scope_open(RN_NEVER, &s)) < 0)
        return e;
    e = rn_task_spawn(s, guest, seats, NULL, &first);
    e = e ? e : rn_go(s, careful_guest, seats);
    for (int i = 0; i < 2 && e == 0; i++)
        e = rn_chan_recv(seated, NULL, RN_NEVER);
    e = e ? e : rn_task_cancel_join(first, RN_NEVER); /* that one only */
    rn_sim_assert(e < 0 || *(_Atomic int *)seats == 1, "the other one stays");
    rn_scope_cancel_with(s, -EINTR);
    e = rn_scope_close_with(s, e);
    rn_chan_unref(seated);
    return e == -ECANCELED ? 0 : -EPROTO;
}

int
main(void)
{
    _Atomic int seats = 0;
    return rn_run(NULL, app, &seats) < 0 || seats != 0;
}

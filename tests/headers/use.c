/* use.c - every macro and initialiser of the public headers, as C and C++. */
#include <runnel/runnel.h>
#include <runnel/runnel.h>

static rn_mutex mutex = RN_MUTEX_INIT;
static rn_cond cond = RN_COND_INIT;
static rn_waitgroup group = RN_WAITGROUP_INIT;
static rn_once once = RN_ONCE_INIT;

int use(rn_chan *chan, rn_task task, int *value);

int
use(rn_chan *chan, rn_task task, int *value)
{
    rn_arm arms[] = {RN_ARM_NONE,
                     RN_ARM_SEND(chan, value),
                     RN_ARM_RECV(chan, value),
                     RN_ARM_RECV(chan, NULL),
                     RN_ARM_JOIN(task, value),
                     RN_ARM_AT(rn_now() + RN_SEC)};
    const rn_time spans[] = {RN_NOW, RN_NEVER, RN_US, RN_MS, RN_SEC};
    (void)spans;
    (void)mutex;
    (void)cond;
    (void)group;
    (void)once;
    return rn_select(arms, sizeof(arms) / sizeof(arms[0]), RN_SELECT_ORDERED,
                     RN_NEVER);
}

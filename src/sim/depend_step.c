/* sim/depend_step.c - what a step, and a timer, is to the order of acts: which
 * objects it uses, and how.
 */
#include "sim/depend.h"

#include "base/prng.h"
#include "sync/sync.h"

#include <runnel/cell.h>

/* What a step does to its object; what is not listed is taken for WHOLE. NONE:
 * it is about no object that another could see. */
struct rule {
    uint8_t mode;
    bool listed;
    bool word;    /* a cell: whether it waits is no question */
    bool deaf;    /* a cancel does not change it */
    bool of_task; /* the object is a task */
    bool takes;   /* what was given to the object is a cause of its end */
};

#define RULE(kind, how, ...) \
    [RN__##kind] = {.mode = RN__MODE_##how, .listed = true, ##__VA_ARGS__}

static const struct rule rules[RN__KIND_COUNT] = {
    RULE(SPAWN, NONE, .of_task = true),
    RULE(BEGIN, NONE),
    RULE(YIELD, NONE),
    RULE(SLEEP, NONE),
    RULE(SCOPE_OPEN, NONE),
    RULE(SELECT, NONE),
    RULE(CHOOSE, NONE),
    RULE(POLL, NONE),
    RULE(COMMIT, NONE),
    RULE(RETRY, NONE),
    RULE(TVAR_WRITE, NONE, .deaf = true),
    RULE(END, NONE, .deaf = true),
    RULE(JOIN, TAKE, .of_task = true, .takes = true),
    RULE(TASK_CANCEL, NONE, .of_task = true),
    RULE(SCOPE_CLOSE, QUIET, .word = true, .takes = true),
    RULE(SCOPE_CANCEL, NONE),
    RULE(SEND, PUT),
    RULE(RECV, TAKE),
    RULE(LOCK, TAKE, .takes = true),
    RULE(UNLOCK, PUT),
    RULE(RLOCK, READ, .takes = true),
    RULE(RUNLOCK, QUIET),
    RULE(WLOCK, TAKE, .takes = true),
    RULE(WUNLOCK, PUT),
    RULE(DOWNGRADE, PUT),
    RULE(COMPLETE, TAKE),
    RULE(FUTURE, QUIET, .takes = true),
    RULE(GROUP_ADD, QUIET, .word = true),
    RULE(GROUP_WAIT, QUIET, .takes = true),
    RULE(CHAN_LEN, READ),
    RULE(COND_WAIT, WHOLE, .word = true),
    RULE(COND_SIGNAL, WHOLE, .word = true),
    RULE(COND_BROADCAST, WHOLE, .word = true),
    RULE(ONCE, WHOLE, .word = true, .takes = true),
    RULE(CELL_READ, READ, .word = true, .deaf = true),
    RULE(CELL_WRITE, WHOLE, .word = true, .deaf = true),
    RULE(LOAD, READ, .word = true, .deaf = true),
    RULE(STORE, WHOLE, .word = true, .deaf = true),
    RULE(FETCH_ADD, WHOLE, .word = true, .deaf = true),
    RULE(EXCHANGE, WHOLE, .word = true, .deaf = true),
    RULE(CAS, WHOLE, .word = true, .deaf = true),
    RULE(TVAR_READ, READ, .word = true, .deaf = true),
    RULE(TVAR_SET, WHOLE, .word = true, .deaf = true),
    RULE(ARM_JOIN, WHOLE, .of_task = true),
};

bool
rn__depend_takes(uint8_t kind)
{
    return rules[kind].takes;
}

/* ---- what happens ------------------------------------------------------- */

static bool
is_cancel(const struct rn__doing *doing)
{
    return doing->kind == RN__SCOPE_CANCEL || doing->kind == RN__TASK_CANCEL ||
           doing->kind == RN__CONTEXT_CANCEL || doing->kind == RN__PAR_FAIL ||
           (doing->kind == RN__END && doing->at_once);
}

static void
use_arms(struct rn__depend *d, uint32_t strand, bool spoils)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < d->arm_count; i++)
        if (d->arms[i].strand == strand)
            rn__depend_use(d, d->arms[i].object, RN__MODE_WHOLE, spoils);
        else
            d->arms[left++] = d->arms[i];
    d->arm_count = left;
}

static void
keep_arm(struct rn__depend *d, uint32_t strand, uint32_t object)
{
    struct rn__arm_of arm = {strand, object};
    if (rn__depend_grow(d, &d->arms, &d->arm_room, d->arm_count + 1,
                        sizeof *d->arms))
        d->arms[d->arm_count++] = arm;
}

/* The end of a task, for who joins it and for its scope. */
static void
use_ends(struct rn__depend *d, const struct rn__doing *doing)
{
    const struct rn_scope *home = doing->task->home;
    bool numbered = home->object.id >> 32 == doing->task->rt->epoch;
    uint32_t scope = numbered ? (uint32_t)home->object.id : 0;
    rn__depend_use(d, rn__depend_object(d, rn__task_number(doing->task), true),
                   RN__MODE_QUIET, false);
    rn__depend_use(d, rn__depend_object(d, scope, false), RN__MODE_QUIET,
                   false);
}

static void
use_step(struct rn__depend *d, const struct rn__doing *doing)
{
    struct rule rule = rules[doing->kind];
    uint8_t mode = rule.listed ? rule.mode : RN__MODE_WHOLE;
    bool late = (doing->timed || doing->at_once) && doing->kind != RN__END &&
                mode != RN__MODE_NONE;
    bool spoils = !rule.word && (late || doing->kind == RN__CLOSE);
    /* Once there was a cancel it may have failed, and then taken no place. */
    if (late || (d->last_cancel && !rule.word && mode != RN__MODE_NONE))
        mode = RN__MODE_WHOLE;
    if (doing->kind == RN__CLOSE)
        mode = RN__MODE_WHOLE;
    if (doing->kind == RN__SELECT || doing->kind == RN__COMMIT)
        use_arms(d, rn__depend_last(d)->thread, doing->kind == RN__SELECT);
    if (doing->kind == RN__END)
        use_ends(d, doing);
    if (mode == RN__MODE_NONE || (rule.listed && !doing->object))
        return;
    bool apart = rule.of_task || !doing->object;
    uint32_t object = rn__depend_object(d, doing->object, apart);
    if (doing->kind == RN__SEND || doing->kind == RN__RECV)
        d->objects[object].capacity =
            ((const struct rn_chan *)doing->address)->capacity;
    rn__depend_use(d, object, mode, spoils);
    struct rn__access *access = &d->accesses[d->access_count - 1];
    access->kind = (uint8_t)doing->kind;
    access->expected = doing->expected;
    if (doing->kind >= RN__LOAD && doing->kind <= RN__CAS)
        access->value = ((const rn_atomic *)doing->address)->rn__value;
}

bool
rn__depend_in_tx(const struct rn__depend *d, uint32_t number)
{
    uint32_t thread = number < d->number_room ? d->thread_of[number] : 0;
    return thread && d->open && d->in_tx &&
           d->strands[thread - 1].last == d->act_count;
}

void
rn__depend_step(struct rn__depend *d, const struct rn__doing *doing)
{
    struct rn__strand *thread =
        rn__depend_strand(d, rn__task_number(doing->task));
    if (d->failed || !thread)
        return;
    thread->task = doing->task;
    thread->name = doing->name;
    bool tx = doing->kind == RN__TVAR_READ || doing->kind == RN__TVAR_WRITE;
    bool mine = d->open && d->act_count && thread->last == d->act_count;
    bool more = doing->goes_on && mine;
    if (!more) {
        rn__depend_close(d);
        if (!rn__depend_open(d, thread, doing->kind))
            return;
        d->in_tx = tx;
    }
    struct rn__act *act = rn__depend_last(d);
    act->heeds |= !rules[doing->kind].deaf;
    act->cancels |= is_cancel(doing);
    use_step(d, doing);
}

void
rn__depend_note(struct rn__depend *d, const struct rn__task *task,
                enum rn__kind kind, uint32_t object)
{
    if (d->failed)
        return;
    if (kind == RN__CAS_FAILED && d->open) {
        struct rn__act *act = rn__depend_last(d);
        if (act->accesses)
            d->accesses[act->access + act->accesses - 1].mode = RN__MODE_READ;
    }
    struct rn__strand *strand =
        task ? rn__depend_strand(d, rn__task_number(task)) : NULL;
    if (!strand)
        return;
    bool of_task = kind == RN__ARM_JOIN;
    if ((kind >= RN__ARM_SEND && kind <= RN__ARM_CONTEXT) ||
        kind == RN__TVAR_SET) {
        if (object)
            keep_arm(d, (uint32_t)(strand - d->strands),
                     rn__depend_object(d, object, of_task));
    } else if (kind == RN__NONE) {
        rn__depend_give_up(d, strand, rn__depend_object(d, object, false));
    }
}

/* Whose wait the timer ends; NULL: it is no task's. */
static const struct rn__task *
owner_of(const struct rn__timer *timer)
{
    return timer->expire == rn__wait_expire
               ? rn__container_of(timer, struct rn__task, timer)
               : NULL;
}

uint64_t
rn__depend_timer_name(const struct rn__depend *d, const struct rn__timer *timer)
{
    const struct rn__task *task = owner_of(timer);
    uint32_t number = task ? rn__task_number(task) : 0;
    if (!number || number >= d->number_room || !d->thread_of[number])
        return rn__mix64((uint64_t)(uintptr_t)timer);
    const struct rn__strand *owner = &d->strands[d->thread_of[number] - 1];
    return rn__mix64(owner->name + owner->count);
}

/* It does what the wait's own end would: it meets all who could end it. */
static void
use_wait(struct rn__depend *d, uint32_t act)
{
    const struct rn__act *waits = &d->acts[act];
    for (uint32_t i = 0; i < waits->accesses; i++)
        rn__depend_use(d, d->accesses[waits->access + i].object, RN__MODE_WHOLE,
                       true);
}

void
rn__depend_fire(struct rn__depend *d, const struct rn__timer *timer)
{
    rn__depend_close(d);
    const struct rn__task *task = owner_of(timer);
    struct rn__strand *owner =
        task ? rn__depend_strand(d, rn__task_number(task)) : NULL;
    uint32_t place = owner ? (uint32_t)(owner - d->strands) : 0;
    struct rn__strand *thread =
        rn__depend_new_strand(d, NULL, rn__depend_timer_name(d, timer));
    if (d->failed)
        return;
    owner = owner ? &d->strands[place] : NULL;
    if (owner)
        rn__depend_join(d, thread->pending, owner);
    else
        rn__depend_join_row(d, thread->pending, d->instant);
    if (!rn__depend_open(d, thread, RN__TIMEOUT))
        return;
    rn__depend_last(d)->heeds = true;
    rn__depend_last(d)->cancels = !owner;
    if (owner && d->strands[place].last)
        use_wait(d, d->strands[place].last - 1);
}

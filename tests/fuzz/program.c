/* Bytes as a small concurrent program, in the simulator: whatever it does with
 * channels, select, a mutex, scopes, cancels and time, it breaks no rule of
 * the library, so no schedule may end in a panic or a crash, and a schedule
 * repeats from its seed and from its choices. One world runs them all, as in a
 * search, so what one leaves behind may show in the next. (The public calls
 * describe each deadlock, by a child process, which is slow.)
 */
#include "sim/sim.h"

#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 4, CHANS = 3, DEPTH = 3, OPS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A task's program and its state. */
struct script {
    uint8_t ops[OPS];
    int count;
    rn_scope *scopes[DEPTH]; /* it has opened */
    int depth;
    bool locked;
};

static struct {
    struct script scripts[TASKS];
    rn_chan *chans[CHANS];
    bool closed[CHANS];
    rn_mutex mutex;
    rn_cond cond;
} program;

static rn_time
deadline_of(unsigned arg)
{
    rn_time deadlines[] = {RN_NEVER, RN_NOW, rn_now(), rn_now() + 2};
    return deadlines[arg % 4];
}

static int
receive_one(void *arg)
{
    int value;
    rn_chan_recv(arg, &value, rn_now() + 5);
    return 0;
}

static void
select_some(unsigned arg)
{
    int out = (int)arg, in;
    rn_chan **c = program.chans;
    rn_arm arms[] = {RN_ARM_SEND(c[arg % CHANS], &out),
                     RN_ARM_RECV(c[arg / 3 % CHANS], &in),
                     RN_ARM_RECV(c[0], NULL), RN_ARM_AT(rn_now() + 3)};
    rn_select(arms, 2 + arg % 3, arg & 1, deadline_of(arg >> 2));
}

static void
close_chan(unsigned i)
{
    if (program.closed[i])
        return;
    program.closed[i] = true; /* before another may run */
    rn_chan_close(program.chans[i]);
}

static void
lock_or_unlock(struct script *s, unsigned arg)
{
    if (!s->locked) {
        s->locked = rn_mutex_lock(&program.mutex, deadline_of(arg)) == 0;
    } else if (arg & 8) {
        int e = rn_cond_wait(&program.cond, &program.mutex, deadline_of(arg));
        (void)e; /* locked on every return */
    } else {
        s->locked = false;
        rn_mutex_unlock(&program.mutex);
    }
}

static void
open_or_close(struct script *s, unsigned arg)
{
    rn_time deadline = deadline_of(arg);
    if (arg & 8 && s->depth > 0)
        rn_scope_close(s->scopes[--s->depth]);
    else if (s->depth < DEPTH &&
             rn_scope_open(deadline, &s->scopes[s->depth]) == 0)
        s->depth++;
}

static void
do_op(struct script *s, unsigned op, unsigned arg)
{
    rn_chan *chan = program.chans[arg % CHANS];
    int value = (int)arg;
    switch (op) {
    case 0:
    case 1:
        rn_chan_send(chan, &value, deadline_of(arg / CHANS));
        break;
    case 2:
    case 3:
        rn_chan_recv(chan, &value, deadline_of(arg / CHANS));
        break;
    case 4:
    case 5:
        select_some(arg);
        break;
    case 6:
    case 7:
        lock_or_unlock(s, arg);
        break;
    case 8:
    case 9:
        open_or_close(s, arg);
        break;
    case 10:
        if (s->depth > 0)
            rn_scope_cancel(s->scopes[arg % (unsigned)s->depth]);
        break;
    case 11:
        rn_sleep(arg);
        break;
    case 12:
        close_chan(arg % CHANS);
        break;
    case 13:
        rn_cond_broadcast(&program.cond);
        break;
    case 14:
        rn_go(NULL, receive_one, chan);
        break;
    default:
        rn_yield();
    }
}

static int
run_script(void *arg)
{
    struct script *s = arg;
    for (int i = 0; i < s->count; i++)
        do_op(s, s->ops[i] & 15, s->ops[i] >> 4);
    if (s->locked)
        rn_mutex_unlock(&program.mutex);
    while (s->depth > 0)
        rn_scope_close(s->scopes[--s->depth]);
    return 0;
}

static int
run_all(void *arg)
{
    (void)arg;
    memset(program.closed, 0, sizeof program.closed);
    memset(&program.mutex, 0, sizeof program.mutex);
    memset(&program.cond, 0, sizeof program.cond);
    for (int i = 0; i < TASKS; i++) {
        program.scripts[i].depth = 0;
        program.scripts[i].locked = false;
    }
    for (size_t i = 0; i < CHANS; i++)
        if (rn_chan_new(sizeof(int), i, &program.chans[i]) < 0)
            return -1;
    for (int i = 1; i < TASKS; i++)
        rn_go(NULL, run_script, &program.scripts[i]);
    return run_script(&program.scripts[0]);
}

/* How a schedule ended. */
struct ending {
    rn_sim_verdict verdict;
    uint64_t steps, digest;
    rn_time time;
};

static struct ending
run(struct rn__world *world, uint64_t seed, const struct rn__choices *replay)
{
    rn__world_begin(world, seed, replay);
    rn__world_run(world, run_all, NULL);
    if (world->verdict > RN_SIM_LEAK || world->diverged) {
        fprintf(stderr, "%s: %s\n", rn_sim_verdict_name(world->verdict),
                world->message ? world->message : "");
        abort(); /* but a deadlock is the program's own */
    }
    return (struct ending){world->verdict, world->steps, world->digest,
                           world->now};
}

static void
check_same(struct ending a, struct ending b)
{
    if (a.digest != b.digest || a.verdict != b.verdict || a.steps != b.steps ||
        a.time != b.time)
        abort();
}

static struct rn__world *
the_world(void)
{
    static struct rn__world *world;
    rn_sim_options options = {.max_steps = 20000};
    char *why;
    if (!world && rn__world_open(&options, &world, &why) < 0)
        abort();
    return world;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct rn__world *world = the_world();
    uint64_t seed = size > 0 ? bytes[0] : 0;
    for (int i = 0; i < TASKS; i++)
        program.scripts[i].count = 0;
    for (size_t i = 1; i < size && i <= (size_t)TASKS * OPS; i++) {
        struct script *s = &program.scripts[i % TASKS];
        s->ops[s->count++] = bytes[i];
    }
    struct ending first = run(world, seed, NULL);
    check_same(first, run(world, seed, NULL));
    struct rn__choices choices = world->choices;
    memset(&world->choices, 0, sizeof world->choices);
    check_same(first, run(world, 0, &choices));
    free(choices.list);
    return 0;
}

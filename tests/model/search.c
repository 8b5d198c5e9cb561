/* search.c - schedule after schedule of a model, in one simulated world.
 *
 * Its choices are asked of a strategy. To see all schedules it walks the
 * tree of choices depth first: each run repeats the choices made so far but the
 * last, which becomes the next one that is left. A run is cut short where it
 * comes to a state an earlier run has left from, with no more switches left
 * than that one had (states by hash, 61 bits). With a bound, a switch is to go
 * on with another thread while the last one could (Musuvathi and Qadeer,
 * "Iterative context bounding", 2007).
 */
#include "engine.h"

#include "base/prng.h"
#include "sim/search.h"

#include <stdlib.h>
#include <string.h>

static enum { ALL, SOME, AGAIN } mode;

/* A choice with more than one option. */
struct choice {
    uint64_t left; /* options not tried yet, as bits */
    uint64_t costly;
    uint32_t taken;
};

static struct choice *path;
static size_t path_length, path_room, depth;
static int switches, switches_most; /* most 0: any number */

/* States seen, each with the fewest switches in the lowest three bits. */
static uint64_t *states;
static size_t state_count, state_room;
enum { MOST_STATES = 1 << 25 };

static uint64_t prng;
static uint32_t drain_odds, switch_odds;
static const struct rn__choices *repeated;

static enum asking asking;
static struct thread *last; /* thread that ran last */
static struct rn__world *the_world;

/* ---- states seen -------------------------------------------------------- */

static uint64_t *
state_slot(uint64_t *table, size_t room, uint64_t state)
{
    size_t i = (state >> 3) & (room - 1);
    while (table[i] && (table[i] ^ state) >> 3)
        i = (i + 1) & (room - 1);
    return &table[i];
}

static void
grow_states(void)
{
    size_t room = state_room ? 2 * state_room : 1 << 16;
    uint64_t *table = calloc(room, sizeof *table);
    if (!table)
        abort();
    for (size_t i = 0; i < state_room; i++)
        if (states[i])
            *state_slot(table, room, states[i]) = states[i];
    free(states);
    states = table;
    state_room = room;
}

/* Whether nothing new can come of this state. Note that it was here. */
static bool
seen_before(uint64_t state, int used)
{
    if (2 * (state_count + 1) > state_room) {
        if (state_count >= MOST_STATES)
            return false;
        grow_states();
    }
    state = (state | 8) & ~7ull;
    uint64_t *slot = state_slot(states, state_room, state);
    if (*slot && (int)(*slot & 7) <= used)
        return true;
    state_count += !*slot;
    *slot = state | (uint64_t)used;
    return false;
}

static uint64_t
signature(void)
{
    uint64_t hash = memory_signature() + asking * 0x9e3779b97f4a7c15u;
    if (asking == ASK_MODEL) /* who asks is about to do something */
        hash += (uint64_t)(running - threads + 1) << 32;
    if (switches_most)
        hash += (uint64_t)(last - threads + 1) << 40;
    return rn__mix64(hash);
}

/* End the schedule without a finding. */
__attribute__((noreturn)) static void
cut_short(void)
{
    rn__world_fail(the_world, RN_SIM_PASS, NULL, "seen before");
    abort();
}

void
search_stuck(void)
{
    rn__world_fail(the_world, RN_SIM_DEADLOCK, NULL,
                   "nobody can go on: a lost wake-up");
    abort();
}

void
model_fail(const char *file, int line, const char *what)
{
    const char *base = strrchr(file, '/');
    tell("FAILS: %s", what);
    rn__world_fail(the_world, RN_SIM_ASSERT, NULL, "%s:%d: %s",
                   base ? base + 1 : file, line, what);
    abort();
}

/* ---- choosing ----------------------------------------------------------- */

static uint32_t
first_of(uint64_t options)
{
    return (uint32_t)__builtin_ctzll(options);
}

static void
push(struct choice choice)
{
    if (path_length == path_room) {
        path_room = path_room ? 2 * path_room : 256;
        path = realloc(path, path_room * sizeof *path);
        if (!path)
            abort();
    }
    path[path_length++] = choice;
}

static uint32_t
choose_in_order(uint64_t allowed, uint64_t costly)
{
    if (switches_most && switches >= switches_most)
        allowed &= ~costly;
    if (!(allowed & (allowed - 1)))
        return first_of(allowed);
    if (depth == path_length) {
        if (running && seen_before(signature(), switches))
            cut_short();
        uint32_t first = first_of(allowed);
        push((struct choice){allowed & ~(1ull << first), costly, first});
    }
    struct choice *c = &path[depth++];
    if (switches_most)
        switches += c->costly >> c->taken & 1;
    return c->taken;
}

static uint32_t
choose_at_random(uint64_t allowed, uint64_t costly)
{
    uint32_t count = (uint32_t)__builtin_popcountll(allowed);
    uint32_t odds = asking == ASK_DRAIN ? drain_odds : costly ? switch_odds : 1;
    uint64_t calm = costly ? allowed & ~costly : 1;
    if (odds > 1 && (calm & allowed) && rn__prng_below(&prng, odds))
        return first_of(calm & allowed);
    for (uint32_t i = rn__prng_below(&prng, count); i > 0; i--)
        allowed &= allowed - 1;
    return first_of(allowed);
}

static uint32_t
choose(uint64_t allowed, uint64_t costly)
{
    size_t position = the_world->choices.count;
    switch (mode) {
    case ALL:
        return choose_in_order(allowed, costly);
    case SOME:
        return choose_at_random(allowed, costly);
    default:
        return position < repeated->count ? repeated->list[position]
                                          : first_of(allowed);
    }
}

/* Which thread stands for candidate i; NULL: main. */
static struct thread *
candidate(const struct rn__world *world, uint32_t n, uint32_t i)
{
    bool self = n > world->ready_count;
    const struct rn__task *task = !self    ? world->ready[i]
                                  : i == 0 ? rn__current(&world->worker)
                                           : world->ready[i - 1];
    for (int t = 0; t < thread_count; t++)
        if (task->arg == &threads[t])
            return &threads[t];
    return NULL;
}

static uint32_t
choose_thread(struct rn__world *world, uint32_t n)
{
    uint64_t allowed = 0, others = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct thread *thread = candidate(world, n, i);
        if (!thread)
            return i; /* main; also the end of all threads */
        if (!memory_enabled(thread))
            continue;
        allowed |= 1ull << i;
        if (thread != last)
            others |= 1ull << i;
    }
    if (!allowed) /* all are done and end one by one */
        return 0;
    bool could = last && memory_enabled(last);
    uint32_t choice = choose(allowed, could ? others : 0);
    last = candidate(world, n, choice);
    return choice;
}

static uint32_t
pick(struct rn__world *world, const struct rn__fork *fork)
{
    return asking == ASK_THREAD ? choose_thread(world, fork->n)
                                : choose(~0ull >> (64 - fork->n), 0);
}

static const struct rn__strategy strategy = {.name = "model", .pick = pick};

uint32_t
search_ask(enum asking what, uint32_t n)
{
    asking = what;
    uint32_t choice = rn__choose(n);
    asking = ASK_THREAD;
    return choice;
}

/* ---- a schedule --------------------------------------------------------- */

static int
run_threads(void *arg)
{
    rn_scope *scope;
    (void)arg;
    rn_sim_atomic_begin();
    memory_begin();
    thread_count = 0;
    the_model->setup();
    for (int i = 0; i < MODEL_THREADS && the_model->threads[i]; i++)
        thread_count++;
    int error = rn_scope_open(RN_NEVER, &scope);
    for (int i = 0; !error && i < thread_count; i++)
        error = rn_go(scope, memory_thread, &threads[i]);
    if (error)
        return error;
    error = rn_scope_close(scope);
    running = NULL;
    if (the_model->check)
        the_model->check();
    return error;
}

static void
run_schedule(uint64_t seed)
{
    depth = 0;
    switches = 0;
    last = NULL;
    asking = ASK_THREAD;
    prng = seed;
    drain_odds = 1u << (1 + 2 * rn__prng_below(&prng, 3));
    switch_odds = 1u << (1 + rn__prng_below(&prng, 4));
    struct rn__plan plan = {.strategy = &strategy, .seed = seed};
    rn__world_plan(the_world, &plan);
    rn__world_run(the_world, run_threads, NULL);
}

/* Go to the next leaf of the tree; false: that was the last. */
static bool
advance(void)
{
    path_length = depth; /* it may have been cut short */
    while (path_length > 0 && !path[path_length - 1].left)
        path_length--;
    if (path_length == 0)
        return false;
    struct choice *c = &path[path_length - 1];
    c->taken = first_of(c->left);
    c->left &= c->left - 1;
    return true;
}

static bool
judge(struct result *result)
{
    result->schedules++;
    if (the_world->verdict == RN_SIM_PASS)
        return true;
    const char *why = the_world->message;
    result->found = true;
    result->what = strdup(why ? why : rn_sim_verdict_name(the_world->verdict));
    result->token = rn__token_write(&the_world->choices);
    return false;
}

static rn_time
begin(struct result *result)
{
    rn_sim_options options = {.max_steps = 3000};
    char *why = NULL;
    memset(result, 0, sizeof *result);
    if (rn__world_open(&options, &the_world, &why) < 0)
        abort();
    the_world->judge_result = true;
    path_length = state_count = 0;
    return rn__os_now();
}

static void
end(struct result *result, rn_time started)
{
    result->seconds = (double)(rn__os_now() - started) / 1e9;
    result->states = state_count;
    rn__world_close(the_world);
    free(states);
    states = NULL;
    state_room = 0;
}

void
search_all(int bound, uint64_t most, struct result *result)
{
    rn_time started = begin(result);
    mode = ALL;
    switches_most = bound;
    while (!most || result->schedules < most) {
        run_schedule(0);
        if (!judge(result))
            break;
        if (!advance()) {
            result->exhausted = true;
            break;
        }
    }
    end(result, started);
}

void
search_some(uint64_t seed, uint64_t schedules, struct result *result)
{
    rn_time started = begin(result);
    mode = SOME;
    while (result->schedules < schedules) {
        run_schedule(rn__schedule_seed(seed, result->schedules));
        if (!judge(result))
            break;
    }
    end(result, started);
}

int
search_again(const char *token, struct result *result)
{
    struct rn__choices choices = {NULL, 0, 0};
    uint64_t seed;
    bool seeded;
    char *why = NULL;
    int error = rn__token_read(token, &choices, &seeded, &seed, &why);
    free(why);
    if (error || seeded)
        return -EINVAL;
    rn_time started = begin(result);
    mode = AGAIN;
    repeated = &choices;
    run_schedule(0);
    judge(result);
    end(result, started);
    free(choices.list);
    return 0;
}

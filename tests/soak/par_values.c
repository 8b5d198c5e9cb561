/* par_values.c - soak work of the operators that make values: races,
 * reductions, maps. A value that is not wanted is dropped, once.
 */
#include "soak.h"

#include <errno.h>

enum { MOST = 200, RACERS = 10 };

/* ---- races -------------------------------------------------------------- */

struct course {
    uint64_t seed;
    size_t wanted;
    bool ends; /* no deadline or cancel does */
    _Atomic int begun, ended, live;
    _Atomic int results[RACERS];
};

static int
runs(struct course *c, size_t i, uint64_t *prng)
{
    for (int k = below(prng, 4); k > 0; k--) {
        int error = dawdle(prng);
        if (error < 0)
            return error;
    }
    /* so many win in any case */
    if (i < c->wanted)
        return 0;
    int how = below(prng, 4);
    if (how == 0)
        return rn_chan_recv(NULL, NULL, RN_NEVER);
    return how == 1 ? -EIO : how == 2 ? -ECANCELED : 0;
}

static int
racer(size_t i, void *out, void *ctx)
{
    struct course *c = ctx;
    uint64_t prng = rn__mix64(c->seed + i);
    atomic_fetch_add(&c->begun, 1);
    int error = runs(c, i, &prng);
    if (error == 0) {
        *(size_t *)out = i + 100;
        atomic_fetch_add(&c->live, 1);
    }
    atomic_store(&c->results[i], error);
    atomic_fetch_add(&c->ended, 1);
    tick();
    return error;
}

static void
drop_place(void *value, void *ctx)
{
    struct course *c = ctx;
    need(*(size_t *)value >= 100);
    *(size_t *)value = 0;
    atomic_fetch_sub(&c->live, 1);
}

static void
check_winners(struct course *c, const rn_race *race, int e)
{
    const size_t *out = race->out;
    need(race->count <= c->wanted);
    need(race->count == 0 || race->winner == race->winners[0]);
    for (size_t i = 0; i < race->count; i++) {
        size_t who = race->winners[i];
        int result = atomic_load(&c->results[who]);
        need(result == 0 || result == e);
        need(e < 0 || out[who] == who + 100);
        for (size_t k = 0; k < i; k++)
            need(race->winners[k] != who);
    }
}

static void
one_race(uint64_t *prng)
{
    struct course c = {.seed = rn__prng_next(prng)};
    size_t out[RACERS] = {0}, winners[RACERS];
    size_t n = 1 + (size_t)below(prng, RACERS);
    bool hurry = below(prng, 4) == 0;
    rn_par_options o = {.drop = drop_place};
    c.wanted = 1 + (size_t)below(prng, 1 + (int)n / 2);
    if (c.wanted > n)
        c.wanted = n;
    rn_race race = {.out = out,
                    .stride = sizeof out[0],
                    .wanted = c.wanted,
                    .winners = winners};
    if (below(prng, 2))
        o.flags = RN_PAR_FIRST_SUCCESS;
    if (hurry)
        o.deadline = rn_after(below(prng, 200) * RN_US);
    int e = rn_par_race(n, racer, &c, &race, &o);
    need(atomic_load(&c.begun) == atomic_load(&c.ended));
    /* for a race that needs a success an error counts once it is cancelled */
    need(e == 0 || (e == -EIO && (hurry || !o.flags)) ||
         (e == -ETIMEDOUT && hurry) || (e == -ECANCELED && !o.flags));
    need(atomic_load(&c.live) == (e == 0 ? (int)race.count : 0));
    need(e < 0 || race.count == c.wanted);
    check_winners(&c, &race, e);
    tick();
}

int
work_race(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 25; i++)
        one_race(&prng);
    return 0;
}

/* ---- reductions --------------------------------------------------------- */

/* What items lo .. hi-1 hash to, in their order. */
struct hash {
    uint64_t value, power;
    size_t lo, hi;
};

struct sums {
    uint64_t seed;
    size_t bad; /* fails; none if beyond the last */
    _Atomic int live;
    bool waits;
};

static void
hash_init(void *acc, void *ctx)
{
    struct sums *s = ctx;
    *(struct hash *)acc = (struct hash){.power = 1};
    atomic_fetch_add(&s->live, 1);
}

static void
append(struct hash *a, const struct hash *b)
{
    need(a->lo == a->hi || b->lo == b->hi || a->hi == b->lo);
    if (a->lo == a->hi)
        a->lo = b->lo;
    if (b->lo != b->hi)
        a->hi = b->hi;
    a->value = a->value * b->power + b->value;
    a->power *= b->power;
}

static struct hash
hash_of(const struct sums *s, size_t i)
{
    return (struct hash){rn__mix64(s->seed + i), 0x9e3779b97f4a7c15, i, i + 1};
}

static int
hash_item(size_t i, void *acc, void *ctx)
{
    struct sums *s = ctx;
    uint64_t prng = rn__mix64(s->seed ^ i);
    int error = s->waits ? dawdle(&prng) : 0;
    if (error < 0)
        return error;
    if (i == s->bad)
        return -EIO;
    struct hash one = hash_of(s, i);
    append(acc, &one);
    tick();
    return 0;
}

static void
hash_drop(void *acc, void *ctx)
{
    struct sums *s = ctx;
    need(((struct hash *)acc)->power != 0);
    ((struct hash *)acc)->power = 0;
    atomic_fetch_sub(&s->live, 1);
}

static void
hash_combine(void *acc, void *next, void *ctx)
{
    append(acc, next);
    hash_drop(next, ctx);
}

static void
one_reduction(uint64_t *prng)
{
    static const rn_par_reducer reducer = {sizeof(struct hash), hash_init,
                                           hash_item, hash_combine};
    struct sums s = {.seed = rn__prng_next(prng), .waits = below(prng, 2)};
    struct hash out = {.value = 1234}, want = {.power = 1};
    size_t n = (size_t)below(prng, MOST);
    bool hurry = below(prng, 4) == 0;
    rn_par_options o = {.drop = hash_drop, .limit = (size_t)below(prng, 4)};
    s.bad = below(prng, 3) ? n : (size_t)below(prng, MOST);
    if (hurry)
        o.deadline = rn_after(below(prng, 200) * RN_US);
    int e = rn_par_reduce(n, &reducer, &s, &out, &o);
    need(atomic_load(&s.live) == (e == 0));
    need(e == 0 || (e == -EIO && s.bad < n) || (e == -ETIMEDOUT && hurry));
    if (e < 0) {
        need(out.value == 1234);
        return;
    }
    need(s.bad >= n);
    for (size_t i = 0; i < n; i++) {
        struct hash one = hash_of(&s, i);
        append(&want, &one);
    }
    need(out.value == want.value && out.hi == n);
    tick();
}

int
work_reduce(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 20; i++)
        one_reduction(&prng);
    return 0;
}

/* ---- maps, ranges and functions of their own ---------------------------- */

struct squares {
    uint64_t seed;
    size_t bad, covered;
    _Atomic int live;
    _Atomic int seen[MOST];
};

static int
square(size_t i, void *out, void *ctx)
{
    struct squares *s = ctx;
    uint64_t prng = rn__mix64(s->seed + i);
    int error = dawdle(&prng);
    if (error < 0 || i == s->bad)
        return error < 0 ? error : -EIO;
    *(size_t *)out = i * i + 1;
    atomic_fetch_add(&s->live, 1);
    tick();
    return 0;
}

static void
drop_square(void *value, void *ctx)
{
    struct squares *s = ctx;
    need(*(size_t *)value > 0);
    *(size_t *)value = 0;
    atomic_fetch_sub(&s->live, 1);
}

static int
mark(size_t lo, size_t hi, void *ctx)
{
    struct squares *s = ctx;
    uint64_t prng = rn__mix64(s->seed + lo);
    need(lo < hi && hi <= MOST);
    for (size_t i = lo; i < hi; i++)
        need(atomic_fetch_add(&s->seen[i], 1) == 0);
    tick();
    return dawdle(&prng);
}

static int
one_job(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    int error = dawdle(&prng);
    return error < 0 ? error : (int)(*(uint64_t *)arg % 1000);
}

static void
several_jobs(uint64_t *prng)
{
    enum { JOBS = 5 };
    rn_par_job jobs[JOBS];
    uint64_t seeds[JOBS];
    for (int i = 0; i < JOBS; i++) {
        seeds[i] = rn__prng_next(prng);
        jobs[i] = (rn_par_job){one_job, &seeds[i], -1};
    }
    need(rn_par_call(jobs, JOBS, NULL) == 0);
    for (int i = 0; i < JOBS; i++)
        need(jobs[i].result == (int)(seeds[i] % 1000));
}

static void
one_map(uint64_t *prng)
{
    struct squares s = {.seed = rn__prng_next(prng)};
    size_t out[MOST] = {0}, n = (size_t)below(prng, MOST);
    rn_par_options o = {.drop = drop_square};
    s.bad = below(prng, 2) ? n : (size_t)below(prng, MOST);
    o.limit = below(prng, 2) ? (size_t)below(prng, 5) : 0;
    int e = rn_par_map(n, square, &s, out, sizeof out[0], &o);
    need(e == (s.bad < n ? -EIO : 0));
    need(atomic_load(&s.live) == (e == 0 ? (int)n : 0));
    for (size_t i = 0; e == 0 && i < n; i++)
        need(out[i] == i * i + 1);
    need(rn_par_for_range(n, mark, &s, NULL) == 0);
    for (size_t i = 0; i < n; i++)
        need(atomic_load(&s.seen[i]) == 1);
    several_jobs(prng);
}

int
work_map(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 10; i++)
        one_map(&prng);
    return 0;
}

/* unit_test.c - a unit test that searches schedules, and finds its bug.
 *
 * The cache loads a missing value outside its lock, so two readers may both
 * find it missing. A test that runs once passes nearly always; the search
 * finds the other schedule at once, with a token that repeats it.
 */
#include <runnel/runnel.h>
#include <stdbool.h>
#include <stdio.h>

struct cache {
    bool keep_lock; /* while loading: the repair */
    rn_mutex lock;  /* guards the rest */
    int value;      /* 0: missing */
    int loads;      /* how often it was loaded */
};

/* One reader: load the value if it is missing. */
static int
cache_read(void *arg)
{
    struct cache *c = arg;
    int e = rn_mutex_lock(&c->lock, RN_NEVER);

    if (e == 0 && c->value == 0) {
        if (!c->keep_lock) {
            rn_mutex_unlock(&c->lock);
            e = rn_mutex_lock(&c->lock, RN_NEVER); /* loaded meanwhile */
        }
        c->value = 42;
        c->loads++;
    }
    if (e == 0)
        rn_mutex_unlock(&c->lock);
    return e;
}

/* The test: two readers, one load. */
static int
test_loads_once(void *keep_lock)
{
    struct cache c = {*(bool *)keep_lock, RN_MUTEX_INIT, 0, 0};
    rn_scope *s;
    int e = rn_scope_open(RN_NEVER, &s);

    if (e < 0)
        return e;
    for (int i = 0; i < 2 && e == 0; i++)
        e = rn_go(s, cache_read, &c);
    e = rn_scope_close(s);
    rn_sim_assert(c.loads == 1, "the value is loaded once");
    return e;
}

/* Search and print. Returns: whether the verdict is the expected one. */
static bool
explore(bool keep_lock, rn_sim_verdict expected)
{
    rn_sim_options options = {.schedules = 1000, .seed = 1};
    rn_sim_report r;
    int e = rn_sim_explore(&options, test_loads_once, &keep_lock, &r);
    bool ok = e == 0 && r.verdict == expected;

    printf("%s: ", keep_lock ? "repaired" : "as written");
    if (e == 0)
        printf("%s after %llu schedules\n", rn_sim_verdict_name(r.verdict),
               (unsigned long long)r.schedules);
    if (r.text)
        printf("%s\n", r.text);
    rn_sim_report_fini(&r);
    return ok;
}

int
main(void)
{
    return !(explore(false, RN_SIM_ASSERT) && explore(true, RN_SIM_PASS));
}

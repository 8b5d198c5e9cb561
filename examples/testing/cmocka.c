/* cmocka.c - search the schedules of a test body under cmocka.
 *
 * cmocka leaves a failed test by longjmp, which must not cross a task's stack:
 * tasks say rn_sim_assert, and the test judges the report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* wants the four above */
#include <runnel/runnel.h>

static rn_atomic sold;

static int
sell(void *by_add)
{
    if (by_add)
        rn_atomic_fetch_add(&sold, 1);
    else
        rn_atomic_store(&sold, rn_atomic_load(&sold) + 1);
    return 0;
}

/* The test body: two sales at once. */
static int
two_sell(void *by_add)
{
    rn_scope *s;
    int e = rn_scope_open(RN_NEVER, &s);

    rn_atomic_store(&sold, 0); /* statics are not rewound */
    for (int i = 0; i < 2 && e == 0; i++)
        e = rn_go(s, sell, by_add);
    e = rn_scope_close(s);
    rn_sim_assert(rn_atomic_load(&sold) == 2, "both sales are counted");
    return e;
}

/* Search; print what was found, with the token that repeats it. */
static void
expect(rn_sim_verdict verdict, void *by_add)
{
    rn_sim_options options = {.schedules = 1000, .seed = 1};
    rn_sim_report r;
    int e = rn_sim_explore(&options, two_sell, by_add, &r);
    rn_sim_verdict found = r.verdict;

    if (r.text)
        print_message("%s\n", r.text);
    rn_sim_report_fini(&r); /* before an assertion leaves */
    assert_int_equal(e, 0);
    assert_string_equal(rn_sim_verdict_name(found),
                        rn_sim_verdict_name(verdict));
}

static void
load_and_store_lose_a_sale(void **state)
{
    (void)state;
    expect(RN_SIM_ASSERT, NULL);
}

static void
add_loses_none(void **state)
{
    (void)state;
    expect(RN_SIM_PASS, &sold);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_and_store_lose_a_sale),
        cmocka_unit_test(add_loses_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

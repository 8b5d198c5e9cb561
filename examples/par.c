/* par.c - loops whose items run at once: for, map, reduce, and what is said of
 * items that fail. */
#include <errno.h>
#include <runnel/runnel.h>
#include <stdbool.h>
#include <stdio.h>

enum { NUMBERS = 500, PRIMES = 95, PAGES = 20 };

static int
check_prime(size_t i, void *prime, void *ctx)
{
    bool *p = prime;
    (void)ctx;
    *p = i >= 2;
    for (size_t d = 2; d * d <= i && *p; d++)
        *p = i % d != 0;
    return 0;
}

struct sum { /* what is known of a stretch of numbers */
    size_t primes, last;
};

static int
add_number(size_t i, void *sum, void *primes)
{
    struct sum *s = sum;
    if (((bool *)primes)[i])
        *s = (struct sum){s->primes + 1, i};
    return 0;
}

static void /* next is of the numbers behind those of sum */
add_sums(void *sum, void *next, void *ctx)
{
    struct sum *s = sum, *n = next;
    (void)ctx;
    s->primes += n->primes;
    s->last = n->primes ? n->last : s->last;
}

static int
fetch(size_t page, void *ctx)
{
    int e = rn_sleep(RN_MS); /* waits for a server */
    return e < 0 || ctx ? e : page % 10 == 9 ? -ENOENT : 0;
}

static int
app(void *arg)
{
    bool primes[NUMBERS];
    struct sum sum;
    rn_par_reducer adder = {
        .bytes = sizeof sum, .item = add_number, .combine = add_sums};
    rn_report report = RN_REPORT_INIT;
    rn_par_options options = {
        .limit = 4, .flags = RN_PAR_COLLECT, .report = &report};
    int e = rn_par_map(NUMBERS, check_prime, arg, primes, sizeof *primes, NULL);
    e = e ? e : rn_par_reduce(NUMBERS, &adder, primes, &sum, NULL);
    if (e < 0)
        return e;
    printf("%zu primes, the last is %zu\n", sum.primes, sum.last);
    rn_sim_assert(sum.primes == PRIMES && sum.last == 499, "95 below 500");
    e = rn_par_for(PAGES, fetch, NULL, &options);
    printf("%zu pages fetched\n", report.ok);
    for (size_t i = 0; i < report.count; i++)
        printf("page %zu: error %d\n", report.failures[i].index,
               report.failures[i].code);
    rn_sim_assert(e == -ENOENT && report.ok == 18, "two pages are missing");
    rn_report_fini(&report);
    return 0;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}

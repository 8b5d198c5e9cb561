/* Two tasks take two locks, one after the other: each in its own order, or,
 * with the argument "same way", both in the same order. */
#include <runnel/runnel.h>
#include <stdio.h>
#include <string.h>

static rn_mutex a = RN_MUTEX_INIT, b = RN_MUTEX_INIT;
static int same_way;

static int
take_both(rn_mutex *first, rn_mutex *second)
{
    int e = rn_mutex_lock(first, RN_NEVER);
    if (e < 0)
        return e;
    e = rn_mutex_lock(second, RN_NEVER);
    if (e == 0)
        rn_mutex_unlock(second);
    rn_mutex_unlock(first);
    return e;
}

static int
left(void *arg)
{
    (void)arg;
    return take_both(&a, &b);
}

static int
right(void *arg)
{
    (void)arg;
    return same_way ? take_both(&a, &b) : take_both(&b, &a);
}

static int
app(void *arg)
{
    const rn_task_options l = {.name = "left"}, r = {.name = "right"};
    rn_scope *scope;
    (void)arg;
    int e = rn_scope_open(RN_NEVER, &scope);
    if (e < 0)
        return e;
    rn_task_spawn(scope, left, NULL, &l, NULL);
    rn_task_spawn(scope, right, NULL, &r, NULL);
    return rn_scope_close(scope);
}

int
main(int argc, char **argv)
{
    same_way = argc > 1 && !strcmp(argv[1], "same way");
    return rn_run(NULL, app, NULL) < 0;
}

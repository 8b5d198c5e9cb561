/* Items that OS threads post which are no workers: each arrives once, in any
 * order. */
#include "core_run.h"

enum { POSTERS = 3, ITEMS = 1000 };

struct item {
    struct rn__outside outside;
    int number;
};

static struct {
    struct rn__rt *rt;
    struct item items[POSTERS][ITEMS];
    _Atomic int counts[POSTERS]; /* arrived, of each poster's */
    _Atomic int arrived;
} posts;

static void
item_arrives(struct rn__outside *outside)
{
    struct item *item = rn__container_of(outside, struct item, outside);
    CHECK(rn__worker_self() != NULL);
    atomic_fetch_add(&posts.counts[item->number / ITEMS], 1);
    atomic_fetch_add(&posts.arrived, 1);
}

static void
post_all(void *arg)
{
    struct item *items = arg;
    for (int i = 0; i < ITEMS; i++)
        rn__outside_post(posts.rt, &items[i].outside);
}

static int
expect_posts(void *arg)
{
    (void)arg;
    struct rn__thread threads[POSTERS];
    posts.rt = rn__rt_self();
    for (int i = 0; i < POSTERS; i++)
        for (int k = 0; k < ITEMS; k++) {
            posts.items[i][k].outside.arrive = item_arrives;
            posts.items[i][k].number = i * ITEMS + k;
            rn__outside_expect(posts.rt);
        }
    for (int i = 0; i < POSTERS; i++)
        CHECK_EQ(rn__thread_start(&threads[i], post_all, posts.items[i]), 0);
    while (atomic_load(&posts.arrived) < POSTERS * ITEMS)
        CHECK_EQ(rn_yield(), 0);
    for (int i = 0; i < POSTERS; i++) {
        rn__thread_join(&threads[i]);
        CHECK_EQ(atomic_load(&posts.counts[i]), ITEMS);
        atomic_store(&posts.counts[i], 0);
    }
    CHECK_EQ(atomic_load(&posts.rt->outside_due), 0);
    CHECK(!rn__outside_take(posts.rt));
    atomic_store(&posts.arrived, 0);
    return 0;
}

TEST(outside_all_that_is_posted_arrives_once)
{
    for (int workers = 1; workers <= WORKERS; workers += WORKERS - 1) {
        rn_options options = {.workers = workers};
        CHECK_EQ(rn_run(&options, expect_posts, NULL), 0);
    }
}

/* ---- what a handle has posted, in another order ------------------------- */

static struct {
    rn_scope_handle *handle;
    bool ran, closed;
} held;

static int
run_held(void *arg)
{
    (void)arg;
    held.ran = true;
    return 0;
}

static int
hold_and_close(void *arg)
{
    rn_scope *scope = open_scope();
    (void)arg;
    CHECK_EQ(rn_scope_hold(scope, &held.handle), 0);
    CHECK_EQ(rn_scope_close(scope), 0);
    held.closed = true;
    return 0;
}

static void
go_and_release(void *arg)
{
    (void)arg;
    CHECK_EQ(rn_scope_handle_go(held.handle, run_held, NULL), 0);
    rn_scope_handle_release(held.handle);
}

/* As if another worker had taken the first, and was slow. */
static int
release_arrives_first(void *arg)
{
    struct rn__rt *rt = rn__rt_self();
    struct rn__thread thread;
    (void)arg;
    go(NULL, hold_and_close, NULL);
    while (!held.handle)
        CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn__thread_start(&thread, go_and_release, NULL), 0);
    rn__thread_join(&thread);
    struct rn__outside *release = atomic_exchange(&rt->outside, NULL);
    struct rn__outside *order = release->next;
    rn__outside_call_off(rt);
    release->arrive(release);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(rn_yield(), 0);
    CHECK(!held.closed);
    rn__outside_call_off(rt);
    order->arrive(order);
    while (!held.closed)
        CHECK_EQ(rn_yield(), 0);
    CHECK(held.ran);
    return 0;
}

TEST(outside_release_arrives_before_what_was_posted)
{
    rn_options options = {.workers = 1};
    CHECK_EQ(rn_run(&options, release_arrives_first, NULL), 0);
}

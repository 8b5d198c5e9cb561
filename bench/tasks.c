/* tasks.c - benchmarks of spawning, joining and yielding. */
#include "ours.h"

static int
count_one(void *arg)
{
    ++*(uint64_t *)arg;
    return 0;
}

uint64_t
bench_spawn_one(uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        rn_task task;
        bench_check(rn_task_spawn(NULL, count_one, &count, NULL, &task) == 0,
                    "rn_task_spawn");
        bench_check(rn_task_join(task, RN_NEVER, NULL) == 0, "rn_task_join");
    }
    bench_check(count == n, "tasks that ran");
    return n;
}

/* n groups of size tasks each. */
static void
groups(uint64_t n, size_t size)
{
    uint64_t slots[1000] = {0}, sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        rn_scope *scope = bench_open();
        for (size_t j = 0; j < size; j++)
            bench_go(scope, count_one, &slots[j]);
        bench_close(scope);
    }
    for (size_t j = 0; j < size; j++)
        sum += slots[j];
    bench_check(sum == n * size, "tasks that ran");
}

uint64_t
bench_spawn_batch(uint64_t n)
{
    groups(bench_share(n, 1000), 1000);
    return bench_share(n, 1000) * 1000;
}

uint64_t
bench_group10(uint64_t n)
{
    groups(n, 10);
    return n;
}

uint64_t
bench_group100(uint64_t n)
{
    groups(n, 100);
    return n;
}

struct yielder {
    uint64_t rounds, done;
};

static int
yielder(void *arg)
{
    struct yielder *y = arg;
    uint64_t i = 0;
    while (i < y->rounds && rn_yield() == 0)
        i++;
    y->done = i;
    return 0;
}

static uint64_t
yields(uint64_t n, size_t tasks)
{
    struct yielder yielders[1000];
    uint64_t sum = 0;
    rn_scope *scope = bench_open();
    for (size_t i = 0; i < tasks; i++) {
        yielders[i] = (struct yielder){bench_share(n, tasks), 0};
        bench_go(scope, yielder, &yielders[i]);
    }
    bench_close(scope);
    for (size_t i = 0; i < tasks; i++)
        sum += yielders[i].done;
    return sum;
}

uint64_t
bench_yield2(uint64_t n)
{
    return yields(n, 2);
}

uint64_t
bench_yield1000(uint64_t n)
{
    return yields(n, 1000);
}

struct node {
    rn_scope *scope;
    rn_chan *parent;
    int64_t first, leaves;
};

static int
skynet_node(void *arg)
{
    struct node *self = arg, children[10];
    if (self->leaves == 1) {
        bench_send(self->parent, self->first);
        return 0;
    }
    rn_chan *chan = bench_chan(0);
    int64_t part = self->leaves / 10, sum = 0;
    for (int i = 0; i < 10; i++) {
        children[i] =
            (struct node){self->scope, chan, self->first + i * part, part};
        bench_go(self->scope, skynet_node, &children[i]);
    }
    for (int i = 0; i < 10; i++)
        sum += bench_recv(chan);
    rn_chan_unref(chan);
    bench_send(self->parent, sum);
    return 0;
}

uint64_t
bench_skynet(uint64_t n)
{
    int64_t leaves = 1, tasks = 1;
    while ((uint64_t)leaves < n) {
        leaves *= 10;
        tasks += leaves;
    }
    rn_scope *scope = bench_open();
    rn_chan *chan = bench_chan(0);
    struct node root = {scope, chan, 0, leaves};
    bench_go(scope, skynet_node, &root);
    bench_check(bench_recv(chan) == leaves * (leaves - 1) / 2,
                "sum of the leaves");
    bench_close(scope);
    rn_chan_unref(chan);
    return (uint64_t)tasks;
}

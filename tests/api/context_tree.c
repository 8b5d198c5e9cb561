/* context_tree.c - tests of runnel/context.h: trees, cancels at once, many. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>

static rn_context *
child(rn_context *parent)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_new(parent, RN_NEVER, &ctx), 0);
    return ctx;
}

static rn_context *
merge(rn_context *a, rn_context *b)
{
    rn_context *parents[] = {a, b}, *ctx;
    CHECK_EQ(rn_context_merge(parents, 2, &ctx), 0);
    return ctx;
}

/* ---- against a model ---------------------------------------------------- */

enum { NODES = 40, KEYS = 4 };

/* What a context should be, told without a tree of live pointers. */
struct node {
    rn_context *ctx; /* NULL: freed */
    int parents[2];  /* by number, -1: none */
    int cause;       /* 0: live */
    int key, value;  /* key -1: none */
};

struct model {
    struct node nodes[NODES];
    int count;
    uint64_t random;
};

static const char keys[KEYS];

static int
draw(struct model *m, int n)
{
    if (rn_sim_active())
        return (int)rn_sim_choose((uint32_t)n);
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((m->random >> 33) % (uint64_t)n);
}

/* A context that is still referred to, or -1. */
static int
draw_node(struct model *m)
{
    int i = draw(m, m->count + 1) - 1;
    return i >= 0 && m->nodes[i].ctx ? i : -1;
}

static rn_context *
ctx_of(struct model *m, int i)
{
    return i < 0 ? NULL : m->nodes[i].ctx;
}

static int
cause_of(const struct model *m, int i)
{
    return i < 0 ? 0 : m->nodes[i].cause;
}

static void
model_add(struct model *m)
{
    int a = draw_node(m), b = -1, how = draw(m, 4);
    struct node *n = &m->nodes[m->count];
    rn_context *pa = ctx_of(m, a);
    *n = (struct node){NULL, {a, -1}, cause_of(m, a), -1, 0};
    if (how == 0) {
        b = draw_node(m);
        n->ctx = merge(pa, ctx_of(m, b));
        n->parents[1] = b;
        if (!n->cause)
            n->cause = cause_of(m, b);
    } else if (how == 1) {
        CHECK_EQ(rn_context_without_cancel(pa, &n->ctx), 0);
        n->cause = 0;
    } else if (how == 2) {
        n->key = draw(m, KEYS);
        n->value = m->count;
        CHECK_EQ(
            rn_context_with_value(pa, &keys[n->key], &n->value, NULL, &n->ctx),
            0);
    } else {
        n->ctx = child(pa);
    }
    if (how == 1) /* for values it has a parent, for cancels it has none */
        n->parents[1] = -2;
    m->count++;
}

static void
model_cancel(struct model *m, int i, int cause)
{
    if (m->nodes[i].cause)
        return;
    m->nodes[i].cause = cause;
    for (int k = i + 1; k < m->count; k++) {
        const struct node *n = &m->nodes[k];
        if (n->parents[1] != -2 && (n->parents[0] == i || n->parents[1] == i))
            model_cancel(m, k, cause);
    }
}

static const int *
model_value(const struct model *m, int i, int key)
{
    while (i >= 0 && m->nodes[i].key != key)
        i = m->nodes[i].parents[0];
    return i < 0 ? NULL : &m->nodes[i].value;
}

static void
model_check(const struct model *m)
{
    for (int i = 0; i < m->count; i++) {
        const struct node *n = &m->nodes[i];
        if (!n->ctx)
            continue;
        CHECK_EQ(rn_context_cause(n->ctx), n->cause);
        CHECK_EQ(rn_context_status(n->ctx), n->cause ? -ECANCELED : 0);
        for (int key = 0; key < KEYS; key++)
            CHECK(rn_context_value(n->ctx, &keys[key]) ==
                  model_value(m, i, key));
    }
}

API_TEST_SCHEDULES(context_tree_is_like_its_model, 1000)
{
    static struct model m;
    long rounds = rn_sim_active() ? 1 : test_count(200);
    for (long round = 0; round < rounds; round++) {
        m.count = 0;
        m.random = (uint64_t)round;
        rn_sim_atomic_begin(); /* nobody else is there */
        while (m.count < NODES) {
            int i = draw_node(&m), what = draw(&m, 6);
            if (what > 1) {
                model_add(&m);
            } else if (i >= 0 && what == 0) {
                int cause = -1 - draw(&m, 100);
                rn_context_cancel(m.nodes[i].ctx, cause);
                model_cancel(&m, i, cause);
                model_check(&m);
            } else if (i >= 0) {
                rn_context_unref(m.nodes[i].ctx);
                m.nodes[i].ctx = NULL;
            }
        }
        model_check(&m);
        for (int i = 0; i < NODES; i++)
            rn_context_unref(m.nodes[i].ctx);
        rn_sim_atomic_end();
    }
}

/* ---- at once ------------------------------------------------------------ */

enum { LAYERS = 3, WIDTH = 3, CANCELS = 3 };

struct layers {
    rn_context *at[LAYERS][WIDTH];
    bool above[LAYERS][WIDTH][LAYERS][WIDTH]; /* from, to */
    int picked[CANCELS];                      /* layer * WIDTH + place */
};

/* Layer by layer, each below one or two of the layer above. */
static void
grow(struct layers *l, struct model *m)
{
    for (int y = 0; y < LAYERS; y++) {
        for (int x = 0; x < WIDTH; x++) {
            int a = draw(m, WIDTH), b = draw(m, WIDTH);
            l->above[y][x][y][x] = true;
            if (y == 0) {
                l->at[y][x] = child(NULL);
                continue;
            }
            l->at[y][x] = a == b ? child(l->at[y - 1][a])
                                 : merge(l->at[y - 1][a], l->at[y - 1][b]);
            for (int i = 0; i < y * WIDTH; i++)
                l->above[i / WIDTH][i % WIDTH][y][x] =
                    l->above[i / WIDTH][i % WIDTH][y - 1][a] ||
                    l->above[i / WIDTH][i % WIDTH][y - 1][b];
        }
    }
}

/* Ended exactly if some above was cancelled, with the cause of such a one. */
static void
check_layers(const struct layers *l)
{
    for (int i = 0; i < LAYERS * WIDTH; i++) {
        int y = i / WIDTH, x = i % WIDTH;
        int cause = rn_context_cause(l->at[y][x]);
        bool ended = false, known = false;
        for (int k = 0; k < CANCELS; k++) {
            int p = l->picked[k];
            if (!l->above[p / WIDTH][p % WIDTH][y][x])
                continue;
            ended = true;
            known = known || cause == -1 - p;
        }
        CHECK_EQ(cause != 0, ended);
        CHECK_EQ(known, ended);
        rn_context_unref(l->at[y][x]);
    }
}

struct canceller {
    rn_context *ctx;
    int cause;
};

static int
cancel_one(void *arg)
{
    const struct canceller *c = arg;
    rn_context_cancel(c->ctx, c->cause);
    return 0;
}

API_TEST_SCHEDULES(context_layers_cancelled_at_once, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(200);
    for (long round = 0; round < rounds; round++) {
        struct layers l = {.picked = {0}};
        struct model m = {.random = (uint64_t)round};
        struct canceller c[CANCELS];
        grow(&l, &m);
        rn_scope *s = open_scope(RN_NEVER);
        for (int k = 0; k < CANCELS; k++) {
            int p = l.picked[k] = draw(&m, LAYERS * WIDTH);
            c[k] = (struct canceller){l.at[p / WIDTH][p % WIDTH], -1 - p};
            go(cancel_one, &c[k]);
        }
        CHECK_EQ(rn_scope_close(s), 0);
        check_layers(&l);
    }
}

struct domino {
    rn_context *mine, *next;
};

static int
fall(void *arg)
{
    const struct domino *d = arg;
    CHECK_EQ(rn_context_wait(d->mine, RN_NEVER), 0);
    rn_context_cancel(d->next, 0);
    return 0;
}

/* Each ends the next, the last the first; with merges across. */
API_TEST_SCHEDULES(context_cancels_interlock, 1000)
{
    enum { N = 4 };
    rn_context *own[N], *crossed[N];
    struct domino dominoes[N];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < N; i++)
        own[i] = child(NULL);
    for (int i = 0; i < N; i++)
        crossed[i] = merge(own[i], own[(i + N - 1) % N]);
    for (int i = 0; i < N; i++) {
        dominoes[i] = (struct domino){crossed[i], own[i]};
        go(fall, &dominoes[i]);
    }
    rn_context_cancel(own[0], -EIO);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(rn_context_status(crossed[i]), -ECANCELED);
        rn_context_unref(own[i]);
        rn_context_unref(crossed[i]);
    }
}

/* ---- made and freed while it is cancelled -------------------------------- */

static int
make_and_drop(void *arg)
{
    for (int i = 0; i < 3; i++) {
        rn_context *a = child(arg), *b = merge(NULL, a), *c = merge(b, arg);
        bool ended = rn_context_status(a) != 0;
        rn_context_unref(a);
        if (ended) /* or is about to be */
            CHECK_EQ(rn_context_wait(c, RN_NEVER), 0);
        if (ended)
            CHECK_EQ(rn_context_status(c), -ECANCELED);
        rn_context_unref(b);
        if (rn_context_status(c))
            CHECK_EQ(rn_context_cause(c), -EIO);
        rn_context_unref(c);
    }
    rn_context_unref(arg);
    return 0;
}

API_TEST_SCHEDULES(context_made_and_freed_during_a_cancel, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(300);
    for (long round = 0; round < rounds; round++) {
        rn_context *top = child(NULL);
        rn_scope *s = open_scope(RN_NEVER);
        for (int i = 0; i < 3; i++)
            go(make_and_drop, rn_context_ref(top));
        struct canceller c = {top, -EIO};
        go(cancel_one, &c);
        CHECK_EQ(rn_scope_close(s), 0);
        rn_context_unref(top);
    }
}

struct herd {
    rn_context *top, **all;
    int count, from;
};

/* From the moment the first is marked. */
static int
drop_half(void *arg)
{
    const struct herd *h = arg;
    while (!rn_context_status(h->top))
        CHECK_EQ(rn_yield(), 0);
    for (int i = h->from; i < h->count; i += 2)
        rn_context_unref(h->all[i]);
    return 0;
}

API_TEST_SCHEDULES(context_freed_while_a_cancel_is_at_it, 20)
{
    long rounds = rn_sim_active() ? 1 : test_count(20);
    int n = rn_sim_active() ? 20 : 2000;
    rn_context **all = calloc((size_t)n, sizeof *all);
    CHECK(all != NULL);
    for (long round = 0; round < rounds; round++) {
        struct herd a = {child(NULL), all, n, 0}, b = {a.top, all, n, 1};
        for (int i = 0; i < n; i++)
            all[i] = child(i % 3 ? all[i - 1] : a.top);
        rn_scope *s = open_scope(RN_NEVER);
        go(drop_half, &a);
        go(drop_half, &b);
        struct canceller c = {a.top, -EIO};
        go(cancel_one, &c);
        CHECK_EQ(rn_scope_close(s), 0);
        rn_context_unref(a.top);
    }
    free(all);
}

static int
drop_it(void *arg)
{
    rn_context_unref(arg);
    return 0;
}

/* The deadline, the cancel and the last reference: whichever is first. */
API_TEST_SCHEDULES(context_deadline_against_cancel_and_unref, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(300);
    for (long round = 0; round < rounds; round++) {
        rn_time when = rn_now() + 20 * RN_US;
        rn_context *top, *below;
        rn_scope *s = open_scope(RN_NEVER);
        CHECK_EQ(rn_context_new(NULL, when, &top), 0);
        below = child(top);
        CHECK_EQ(rn_sleep_until(when - (round % 20) * RN_US), 0);
        struct canceller c = {top, -EIO};
        go(cancel_one, &c);
        go(drop_it, rn_context_ref(top));
        rn_context_wait(below, RN_NEVER);
        int status = rn_context_status(below), cause = rn_context_cause(below);
        CHECK(status == -ETIMEDOUT ? cause == -ETIMEDOUT
                                   : status == -ECANCELED && cause == -EIO);
        CHECK_EQ(rn_context_status(top), status);
        rn_context_unref(below);
        CHECK_EQ(rn_scope_close(s), 0);
        rn_context_unref(top);
    }
}

/* ---- numbers ------------------------------------------------------------ */

static rn_context *
deeper(rn_context *ctx, int i)
{
    rn_context *more;
    if (i % 3 == 0)
        more = merge(i % 2 ? ctx : NULL, ctx);
    else if (i % 3 == 1)
        CHECK_EQ(rn_context_with_value(ctx, &keys[0], ctx, NULL, &more), 0);
    else
        more = child(ctx);
    rn_context_unref(ctx);
    return more;
}

API_TEST_SCHEDULES(context_chain_of_100000, 2)
{
    int n = (int)test_count(100000);
    rn_context *top = child(NULL), *last = rn_context_ref(top);
    for (int i = 0; i < n; i++)
        last = deeper(last, i);
    CHECK(rn_context_value(last, &keys[1]) == NULL);
    rn_context_cancel(top, -EIO);
    CHECK_EQ(rn_context_cause(last), -EIO);
    rn_context_unref(top);
    rn_context_unref(last);
}

API_TEST_SCHEDULES(context_with_100000_children, 2)
{
    int n = (int)test_count(100000);
    rn_context *top = child(NULL), **all = calloc((size_t)n, sizeof *all);
    CHECK(all != NULL);
    for (int i = 0; i < n; i++)
        all[i] = child(top);
    rn_context_cancel(top, 0);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(rn_context_status(all[i]), -ECANCELED);
        rn_context_unref(all[i]);
    }
    rn_context_unref(top);
    free(all);
}

/* Go's first version kept each timed context in its parent. */
REAL_TEST(context_timed_ones_leave_no_memory)
{
    rn_context *top = child(NULL), *ctx;
    long before = 0, n = test_count(100000);
    for (long i = 0; i < n; i++) {
        CHECK_EQ(rn_context_new(top, rn_after(3600 * RN_SEC), &ctx), 0);
        if (i % 2)
            rn_context_cancel(ctx, 0);
        rn_context_unref(ctx);
        if (i == n / 10)
            before = resident_bytes();
    }
    CHECK_LE(resident_bytes(), before + (1 << 20));
    rn_context_unref(top);
}

static int
make_many(void *arg)
{
    rn_context *top = child(NULL);
    for (int i = 0; i < 1000; i++) {
        rn_context *ctx, *below;
        CHECK_EQ(rn_context_new(top, rn_after(3600 * RN_SEC), &ctx), 0);
        CHECK_EQ(rn_context_with_value(ctx, &keys[0], arg, NULL, &below), 0);
        rn_context_cancel(ctx, 0);
        rn_context_unref(ctx);
        rn_context_unref(below);
    }
    rn_context_unref(top);
    return 0;
}

/* Allocation number 200 would fail. */
TEST(context_is_made_from_what_was_freed)
{
    rn_options options = {.workers = 1, .fail_alloc = 200};
    if (TEST_SANITIZED == TEST_SANITIZE_ADDRESS)
        test_skip("it wants all memory freed");
    CHECK_EQ(rn_run(&options, make_many, NULL), 0);
}

/* rwmutex.c - tests of runnel/rwmutex.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

static void
read_lock(rn_rwmutex *m)
{
    CHECK_EQ(rn_rwmutex_read_lock(m, RN_NEVER), 0);
}

static void
write_lock(rn_rwmutex *m)
{
    CHECK_EQ(rn_rwmutex_lock(m, RN_NEVER), 0);
}

/* ---- exclusion ---------------------------------------------------------- */

struct hammer {
    rn_rwmutex mutex;
    atomic_int readers, writers; /* inside */
    int plain, rounds;
};

static int
hammer_read(void *arg)
{
    struct hammer *h = arg;
    for (int i = 0; i < h->rounds; i++) {
        read_lock(&h->mutex);
        int plain = h->plain;
        atomic_fetch_add(&h->readers, 1);
        if (i % 2 == 0)
            CHECK_EQ(rn_yield(), 0);
        CHECK_EQ(atomic_load(&h->writers), 0);
        CHECK_EQ(h->plain, plain);
        atomic_fetch_sub(&h->readers, 1);
        rn_rwmutex_read_unlock(&h->mutex);
    }
    return 0;
}

static int
hammer_write(void *arg)
{
    struct hammer *h = arg;
    for (int i = 0; i < h->rounds; i++) {
        write_lock(&h->mutex);
        CHECK_EQ(atomic_fetch_add(&h->writers, 1), 0);
        CHECK_EQ(atomic_load(&h->readers), 0);
        int plain = h->plain;
        if (i % 2 == 0)
            CHECK_EQ(rn_yield(), 0);
        h->plain = plain + 1;
        atomic_fetch_sub(&h->writers, 1);
        if (i % 4 == 3) { /* nobody writes in between */
            rn_rwmutex_downgrade(&h->mutex);
            CHECK_EQ(h->plain, plain + 1);
            rn_rwmutex_read_unlock(&h->mutex);
        } else {
            rn_rwmutex_unlock(&h->mutex);
        }
    }
    return 0;
}

static const struct {
    int readers, writers;
} mixes[] = {{1, 1}, {2, 1}, {1, 2}, {3, 1},  {1, 3},
             {4, 2}, {2, 4}, {8, 1}, {10, 2}, {5, 5}};

static void
hammer_mix(uint32_t mix)
{
    struct hammer h = {.mutex = RN_RWMUTEX_INIT,
                       .rounds = rn_sim_active() ? 4 : (int)test_count(2000)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 10; i++) {
        if (i < mixes[mix].writers)
            go(hammer_write, &h);
        if (i < mixes[mix].readers)
            go(hammer_read, &h);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(h.plain, mixes[mix].writers * h.rounds);
    CHECK_EQ(rn_rwmutex_lock(&h.mutex, RN_NOW), 0); /* free again */
}

API_TEST_SCHEDULES(rwmutex_excludes_in_ten_mixes, 2000)
{
    if (rn_sim_active()) {
        hammer_mix(rn_sim_choose(10));
        return;
    }
    for (uint32_t mix = 0; mix < 10; mix++)
        hammer_mix(mix);
}

/* Each of them comes in while all others are inside, or none ever leaves. */
struct meeting {
    rn_rwmutex mutex;
    rn_waitgroup here;
};

static int
meet(void *arg)
{
    struct meeting *m = arg;
    read_lock(&m->mutex);
    rn_waitgroup_done(&m->here);
    CHECK_EQ(rn_waitgroup_wait(&m->here, RN_NEVER), 0);
    rn_rwmutex_read_unlock(&m->mutex);
    return 0;
}

API_TEST_SCHEDULES(rwmutex_readers_are_in_together, 1000)
{
    struct meeting m = {RN_RWMUTEX_INIT, RN_WAITGROUP_INIT};
    rn_waitgroup_add(&m.here, 5);
    rn_scope *s = open_scope(RN_NEVER);
    write_lock(&m.mutex);
    for (int i = 0; i < 5; i++)
        go(meet, &m);
    settle(); /* so that the writer lets some of them in */
    rn_rwmutex_unlock(&m.mutex);
    CHECK_EQ(rn_scope_close(s), 0);
}

/* ---- order -------------------------------------------------------------- */

struct line {
    rn_rwmutex mutex;
    char order[16];
    int count;
};

struct place {
    struct line *line;
    char name;
};

static int
write_name(void *arg)
{
    struct place *p = arg;
    write_lock(&p->line->mutex);
    p->line->order[p->line->count++] = p->name;
    rn_rwmutex_unlock(&p->line->mutex);
    return 0;
}

static int
read_name(void *arg)
{
    struct place *p = arg;
    read_lock(&p->line->mutex);
    rn_sim_atomic_begin();
    p->line->order[p->line->count++] = 'r';
    rn_sim_atomic_end();
    CHECK_EQ(rn_yield(), 0);
    rn_rwmutex_read_unlock(&p->line->mutex);
    return 0;
}

/* Line up, one after the other: a letter is a writer, r a reader. */
static void
line_up(struct line *line, struct place *places, const char *names)
{
    for (int i = 0; names[i]; i++) {
        places[i] = (struct place){line, names[i]};
        go(names[i] == 'r' ? read_name : write_name, &places[i]);
        settle();
    }
}

SIM_TEST(rwmutex_writers_are_let_in_in_order)
{
    struct line line = {.count = 0};
    struct place places[5];
    rn_scope *s = open_scope(RN_NEVER);
    write_lock(&line.mutex);
    line_up(&line, places, "abcde");
    rn_rwmutex_unlock(&line.mutex);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_STR(line.order, "abcde");
}

/* A writer lets all readers in that wait, then comes the next writer. */
SIM_TEST(rwmutex_phases_alternate)
{
    struct line line = {.count = 0};
    struct place places[8];
    rn_scope *s = open_scope(RN_NEVER);
    write_lock(&line.mutex);
    line_up(&line, places, "arbrcr");
    rn_rwmutex_unlock(&line.mutex);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_STR(line.order, "rrrabc");
}

/* While a writer waits no reader is let in, but after it all of them are. */
SIM_TEST(rwmutex_prefers_a_waiting_writer)
{
    struct line line = {.count = 0};
    struct place places[8];
    rn_scope *s = open_scope(RN_NEVER);
    read_lock(&line.mutex);
    line_up(&line, places, "arrbr");
    CHECK_EQ(line.count, 0);
    CHECK_EQ(rn_rwmutex_read_lock(&line.mutex, RN_NOW), -EAGAIN);
    rn_rwmutex_read_unlock(&line.mutex);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_STR(line.order, "arrrb");
}

struct stream {
    rn_rwmutex mutex;
    atomic_int over;
    rn_chan *started;
};

static int
write_all_the_time(void *arg)
{
    struct stream *st = arg;
    send_int(st->started, 1);
    while (!atomic_load(&st->over)) {
        write_lock(&st->mutex);
        CHECK_EQ(rn_yield(), 0);
        rn_rwmutex_unlock(&st->mutex);
    }
    return 0;
}

static int
read_all_the_time(void *arg)
{
    struct stream *st = arg;
    send_int(st->started, 1);
    while (!atomic_load(&st->over)) {
        read_lock(&st->mutex);
        CHECK_EQ(rn_yield(), 0);
        rn_rwmutex_read_unlock(&st->mutex);
    }
    return 0;
}

/* Three hogs of one kind keep the lock held all the time; one of the other
 * kind would never get it if it could be overtaken for ever. */
static void
against_hogs(rn_task_fn *hog, int (*lock)(rn_rwmutex *, rn_time),
             void (*unlock)(rn_rwmutex *))
{
    struct stream st = {.started = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(hog, &st);
    for (int i = 0; i < 3; i++)
        recv_int(st.started);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(lock(&st.mutex, RN_NEVER), 0);
        unlock(&st.mutex);
    }
    atomic_store(&st.over, 1);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(st.started);
}

API_TEST_SCHEDULES(rwmutex_writers_do_not_starve_a_reader, 1000)
{
    against_hogs(write_all_the_time, rn_rwmutex_read_lock,
                 rn_rwmutex_read_unlock);
}

API_TEST_SCHEDULES(rwmutex_readers_do_not_starve_a_writer, 1000)
{
    against_hogs(read_all_the_time, rn_rwmutex_lock, rn_rwmutex_unlock);
}

SIM_TEST(rwmutex_downgrade_lets_readers_in_but_no_writer)
{
    struct line line = {.count = 0};
    struct place places[8];
    rn_scope *s = open_scope(RN_NEVER);
    write_lock(&line.mutex);
    line_up(&line, places, "rar");
    rn_rwmutex_downgrade(&line.mutex);
    CHECK_EQ(rn_rwmutex_lock(&line.mutex, RN_NOW), -EAGAIN);
    settle();
    CHECK_STR(line.order, "rr");
    rn_rwmutex_read_unlock(&line.mutex);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_STR(line.order, "rra");
}

/* ---- deadlines and cancels ---------------------------------------------- */

static void
check_deadlines(int (*lock)(rn_rwmutex *, rn_time), rn_rwmutex *m)
{
    CHECK_EQ(lock(m, RN_NOW), -EAGAIN);
    CHECK_EQ(lock(m, rn_now()), -ETIMEDOUT);
    CHECK_EQ(lock(m, -1), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(lock(m, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
}

static int
find_it_written(void *arg)
{
    check_deadlines(rn_rwmutex_lock, arg);
    check_deadlines(rn_rwmutex_read_lock, arg);
    return 0;
}

static int
find_it_read(void *arg)
{
    check_deadlines(rn_rwmutex_lock, arg);
    /* the writers that gave up are in nobody's way */
    CHECK_EQ(rn_rwmutex_read_lock(arg, RN_NOW), 0);
    rn_rwmutex_read_unlock(arg);
    return 0;
}

API_TEST(rwmutex_lock_keeps_its_deadline)
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    CHECK_EQ(rn_rwmutex_lock(&m, -1), 0); /* free: past does not matter */
    rn_task t = go_joinable(find_it_written, &m);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_rwmutex_unlock(&m);
    CHECK_EQ(rn_rwmutex_read_lock(&m, -1), 0);
    t = go_joinable(find_it_read, &m);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_rwmutex_read_unlock(&m);
    CHECK_EQ(rn_rwmutex_lock(&m, RN_NOW), 0);
}

static int
write_cancelled(void *arg)
{
    int e = rn_rwmutex_lock(arg, RN_NEVER);
    if (e == 0)
        rn_rwmutex_unlock(arg);
    CHECK(e == 0 || e == -ECANCELED);
    return 0;
}

static int
read_cancelled(void *arg)
{
    int e = rn_rwmutex_read_lock(arg, RN_NEVER);
    if (e == 0)
        rn_rwmutex_read_unlock(arg);
    CHECK(e == 0 || e == -ECANCELED);
    return 0;
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

/* R13: a lock that was cancelled is not held. */
API_TEST_SCHEDULES(rwmutex_cancelled_lock_is_not_held, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 1000); i++) {
        rn_rwmutex m = RN_RWMUTEX_INIT;
        rn_scope *s = open_scope(RN_NEVER);
        if (i % 2)
            CHECK_EQ(rn_rwmutex_lock(&m, RN_NOW), 0);
        else
            CHECK_EQ(rn_rwmutex_read_lock(&m, RN_NOW), 0);
        for (int k = 0; k < 2; k++) {
            go(write_cancelled, &m);
            go(read_cancelled, &m);
        }
        go(cancel_it, s);
        if (i % 4 < 2)
            rn_yield();
        if (i % 2)
            rn_rwmutex_unlock(&m);
        else
            rn_rwmutex_read_unlock(&m);
        close_cancelled(s);
        CHECK_EQ(rn_rwmutex_lock(&m, RN_NOW), 0); /* nobody kept it */
        rn_rwmutex_unlock(&m);
    }
}

static int
just_read(void *arg)
{
    read_lock(arg);
    rn_rwmutex_read_unlock(arg);
    return 0;
}

/* R13: readers behind a writer that gives up go on, while others read. */
API_TEST_SCHEDULES(rwmutex_cancelled_writer_holds_up_nobody, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 500); i++) {
        rn_rwmutex m = RN_RWMUTEX_INIT;
        rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        read_lock(&m);
        go(write_cancelled, &m);
        if (i % 2)
            rn_yield();
        CHECK_EQ(rn_go(outer, just_read, &m), 0);
        CHECK_EQ(rn_go(outer, just_read, &m), 0);
        go(cancel_it, s);
        close_cancelled(s);
        CHECK_EQ(rn_scope_close(outer), 0); /* we still read */
        rn_rwmutex_read_unlock(&m);
    }
}

/* ---- lifetime: whoever has it last may unmap it ------------------------- */

struct guarded {
    rn_rwmutex mutex;
    atomic_int in;
};

static int
read_once(void *arg)
{
    struct guarded *g = arg;
    read_lock(&g->mutex);
    atomic_fetch_add(&g->in, 1);
    rn_rwmutex_read_unlock(&g->mutex); /* may be gone before this ends */
    return 0;
}

static int
write_once(void *arg)
{
    struct guarded *g = arg;
    write_lock(&g->mutex);
    atomic_fetch_add(&g->in, 1);
    rn_rwmutex_unlock(&g->mutex);
    return 0;
}

API_TEST_SCHEDULES(rwmutex_may_be_unmapped_by_the_next_holder, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(3000)); i++) {
        struct guarded *g = page_new();
        rn_scope *s = open_scope(RN_NEVER);
        go(read_once, g);
        go(i % 2 ? read_once : write_once, g);
        for (int in = 0; in < 2;) {
            write_lock(&g->mutex);
            in = atomic_load(&g->in);
            rn_rwmutex_unlock(&g->mutex);
            if (in < 2)
                CHECK_EQ(rn_yield(), 0);
        }
        page_free(g);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(rwmutex_stray_unlock_panics, "rwmutex")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    rn_rwmutex_unlock(&m);
}

API_PANICS(rwmutex_unlock_of_a_read_lock_panics, "rwmutex")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    read_lock(&m);
    rn_rwmutex_unlock(&m);
}

API_PANICS(rwmutex_read_unlock_of_a_write_lock_panics, "nobody reads")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    write_lock(&m);
    rn_rwmutex_read_unlock(&m);
}

API_PANICS(rwmutex_stray_read_unlock_panics, "nobody reads")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    read_lock(&m);
    rn_rwmutex_read_unlock(&m);
    rn_rwmutex_read_unlock(&m);
}

API_PANICS(rwmutex_recursive_write_panics, "holds for writing")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    write_lock(&m);
    write_lock(&m);
}

API_PANICS(rwmutex_read_inside_a_write_panics, "holds for writing")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    write_lock(&m);
    read_lock(&m);
}

static int
unlock_foreign(void *arg)
{
    rn_rwmutex_unlock(arg);
    return 0;
}

API_PANICS(rwmutex_unlock_by_another_task_panics, "rwmutex")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    write_lock(&m);
    go(unlock_foreign, &m);
    settle();
}

API_PANICS(rwmutex_downgrade_of_a_read_lock_panics, "downgrade")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    read_lock(&m);
    rn_rwmutex_downgrade(&m);
}

SIM_FINDS_TEXT(rwmutex_upgrade_is_a_deadlock_of_one, RN_SIM_DEADLOCK,
               "main|to write rwmutex")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    read_lock(&m);
    write_lock(&m);
}

struct crossed {
    rn_rwmutex a, b;
};

static int
lock_b_then_a(void *arg)
{
    struct crossed *c = arg;
    write_lock(&c->b);
    read_lock(&c->a);
    rn_rwmutex_read_unlock(&c->a);
    rn_rwmutex_unlock(&c->b);
    return 0;
}

/* The report names the writers that hold, as it does for a mutex. */
SIM_FINDS_TEXT(rwmutex_crossed_locks_are_a_cycle, RN_SIM_DEADLOCK,
               "wait-for cycle|to read rwmutex|to write rwmutex|held by")
{
    struct crossed c = {RN_RWMUTEX_INIT, RN_RWMUTEX_INIT};
    rn_scope *s = open_scope(RN_NEVER);
    go(lock_b_then_a, &c);
    write_lock(&c.a);
    write_lock(&c.b);
    rn_rwmutex_unlock(&c.b);
    rn_rwmutex_unlock(&c.a);
    CHECK_EQ(rn_scope_close(s), 0);
}

#define OUTSIDE(name, call)                                                  \
    TEST_DIES_WITH(name##_outside_a_task_panics, "outside a task", -SIGABRT) \
    {                                                                        \
        rn_rwmutex m = RN_RWMUTEX_INIT;                                      \
        call;                                                                \
    }

OUTSIDE(rwmutex_read_lock, (void)!rn_rwmutex_read_lock(&m, RN_NOW))
OUTSIDE(rwmutex_read_unlock, rn_rwmutex_read_unlock(&m))
OUTSIDE(rwmutex_lock, (void)!rn_rwmutex_lock(&m, RN_NOW))
OUTSIDE(rwmutex_unlock, rn_rwmutex_unlock(&m))
OUTSIDE(rwmutex_downgrade, rn_rwmutex_downgrade(&m))

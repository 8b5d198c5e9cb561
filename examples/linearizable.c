/* linearizable.c - find a lost update by what the callers of an object saw.
 *
 * Tasks count up a cell by compare-and-swap. What they call and what returns
 * is recorded; the checker looks for an order that a sequential cell explains.
 */
#include <runnel/runnel.h>
#include <stdbool.h>
#include <stdio.h>

struct cell {
    bool keep_lock; /* between load and store: the repair */
    rn_mutex lock;  /* guards value */
    int64_t value;
    rn_lin_history *history;
};

/* Set the cell to b if it is a. Returns: whether it was. */
static int64_t
cell_cas(struct cell *c, int64_t a, int64_t b)
{
    int e = rn_mutex_lock(&c->lock, RN_NEVER);
    int64_t was = e == 0 && c->value == a;

    if (e == 0 && !c->keep_lock) {
        rn_mutex_unlock(&c->lock);
        e = rn_mutex_lock(&c->lock, RN_NEVER);
    }
    if (was)
        c->value = b;
    if (e == 0)
        rn_mutex_unlock(&c->lock);
    return was;
}

static int
count_up(void *cell)
{
    struct cell *c = cell;
    rn_lin_op op = {.f = RN_LIN_CAS, .arg = RN_LIN_NIL, .arg2 = 1};
    int64_t id = rn_lin_call(c->history, &op);

    rn_lin_return(c->history, id, cell_cas(c, RN_LIN_NIL, 1));
    return 0;
}

static int
test_cell(void *keep_lock)
{
    struct cell c = {*(bool *)keep_lock, RN_MUTEX_INIT, RN_LIN_NIL, NULL};
    const rn_lin_model *model = rn_lin_model_find("cas-register");
    rn_lin_report r;
    rn_scope *s;

    if (rn_lin_history_new(&c.history) < 0 || rn_scope_open(RN_NEVER, &s) < 0)
        return -1;
    if (rn_go(s, count_up, &c) < 0 || rn_go(s, count_up, &c) < 0)
        rn_scope_cancel(s);
    if (rn_scope_close(s) < 0 || rn_lin_check(c.history, model, NULL, &r) < 0)
        return -1;
    rn_sim_assert(r.verdict == RN_LIN_OK, r.text);
    rn_lin_report_fini(&r);
    rn_lin_history_free(c.history);
    return 0;
}

int
main(void)
{
    rn_sim_options options = {.schedules = 1000, .seed = 1};
    rn_sim_verdict verdict[2];

    for (int keep = 0; keep < 2; keep++) {
        rn_sim_report r;
        rn_sim_explore(&options, test_cell, &(bool){keep}, &r);
        printf("%s\n", r.text ? r.text : "Repaired: always linearizable.");
        verdict[keep] = r.verdict;
        rn_sim_report_fini(&r);
    }
    return !(verdict[0] == RN_SIM_ASSERT && verdict[1] == RN_SIM_PASS);
}

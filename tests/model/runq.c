/* runq.c - the run queue: one owner puts and takes while thieves take and
 * steal. Each task comes out once, and none gets lost; indices wrap, and the
 * ring is small enough to be filled and used again.
 */
#include "shadow.h"

#include "core/core.h"

#define RN__RUNQ_ROOM 4 /* of the ring's places; core.h has been read */
#include "core/runq.c"

enum { TASKS = 6 };

static struct rn__runq a, b, c;
static struct rn__task tasks[TASKS];
static int got[TASKS], put_count;

static void
begin(struct rn__runq *q, uint32_t at)
{
    q->head = q->tail = at;
    for (int i = 0; i < RN__RUNQ_ROOM; i++)
        q->ring[i] = NULL;
}

static void
share(struct rn__runq *q, const char *head, const char *tail, const char *ring)
{
    model_place(head, &q->head, sizeof q->head);
    model_place(tail, &q->tail, sizeof q->tail);
    model_places(ring, q->ring, sizeof q->ring[0], RN__RUNQ_ROOM);
}

static void
setup(void)
{
    begin(&a, UINT32_MAX - 1);
    begin(&b, 0);
    begin(&c, 3);
    share(&a, "head", "tail", "ring");
    share(&b, "b.head", "b.tail", "b.ring");
    for (int i = 0; i < TASKS; i++)
        got[i] = 0;
    put_count = 0;
}

static void
setup_three(void)
{
    setup();
    share(&c, "c.head", "c.tail", "c.ring");
}

/* Whether there was one. */
static bool
get(struct rn__task *task)
{
    if (!task)
        return false;
    model_check(task >= tasks && task < tasks + TASKS);
    model_check(++got[task - tasks] == 1);
    return true;
}

static void
put(void)
{
    struct rn__task *task = &tasks[put_count++];
    if (!rn__runq_put(&a, task))
        get(task); /* it would go to the global queue */
}

static void
owner(void)
{
    put();
    put();
    get(rn__runq_take(&a));
    put();
    put();
    put();
    get(rn__runq_take(&a));
}

static void
short_owner(void)
{
    put();
    put();
    put();
    get(rn__runq_take(&a));
}

static void
thief_b(void)
{
    get(rn__runq_steal(&b, &a));
    get(rn__runq_take(&b));
}

/* Steals twice, so it meets its own loot. */
static void
thief_b_twice(void)
{
    if (get(rn__runq_steal(&b, &a)))
        while (get(rn__runq_take(&b)))
            ;
    get(rn__runq_steal(&b, &a));
}

static void
thief_c(void)
{
    if (!get(rn__runq_steal(&c, &b)))
        get(rn__runq_steal(&c, &a));
}

static void
check(void)
{
    struct rn__runq *queues[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++)
        while (get(rn__runq_take(queues[i])))
            ;
    for (int i = 0; i < put_count; i++)
        model_check(got[i] == 1);
}

MODEL(runq_owner_and_thief, .setup = setup, .threads = {owner, thief_b_twice},
      .check = check, .values = true,
      .breaks = {
          {"tail is stored relaxed", MODEL_RELAX, "tail", NULL},
          {"head moves by load and store", MODEL_SPLIT, "head", NULL},
      });

MODEL(runq_owner_and_two_thieves, .setup = setup_three,
      .threads = {short_owner, thief_b, thief_c}, .check = check,
      .values = true,
      .breaks = {
          {"tail is stored relaxed", MODEL_RELAX, "tail", NULL},
          {"the loot's head moves by load and store", MODEL_SPLIT, "b.head",
           NULL},
      });

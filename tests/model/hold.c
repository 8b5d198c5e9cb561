/* hold.c - a scope held by another OS thread: what it posts is taken by several
 * workers, in any order, and the last of it to arrive lets the scope go; its
 * task has begun by then; nobody touches handle, scope or runtime afterwards.
 * (core/hold.c.)
 *
 * The first thread is no worker: it posts a task to be and the release. Of the
 * next two each takes one of these. The last one closes the scope and ends the
 * run.
 */
#include "machine.h"

#include <string.h>

enum { POSTS = 2, CLOSER = 3 };

static _Atomic(struct rn__outside *) posted[POSTS];
static int posts;
static struct rn__task late;
static int made, ran;

static struct rn__rt *
rt_self(void)
{
    return model_self() == 0 ? NULL : &machine;
}

static void
post_item(struct rn__rt *rt, struct rn__outside *item)
{
    (void)rt;
    model_check(posts < POSTS);
    atomic_store(&posted[posts++], item);
}

static struct rn__task *
make_late(void)
{
    made++;
    late = (struct rn__task){.rt = &machine};
    return &late;
}

static void free_memory(void *memory);

#define rn__rt_self rt_self
#undef rn__outside_post
#define rn__outside_post post_item
#undef rn__outside_expect
#define rn__outside_expect(rt) ((void)(rt))
#undef rn__outside_call_off
#define rn__outside_call_off(rt) ((void)(rt))
#undef rn__task_make
#define rn__task_make(fn, arg, site) make_late()
#undef rn__free
#define rn__free(rt, memory) ((void)(rt), free_memory(memory))
/* Whoever has let it arrive runs it. */
#undef rn__sched_ready
#define rn__sched_ready(task) model_check((task) == &late)

#include "core/hold.c"

static struct rn_scope scope;
static struct rn_scope_handle handle;

static void
free_memory(void *memory)
{
    if (memory == &handle)
        model_free(&handle.due);
}

/* As if nothing could be on its way any more. */
static void
arrive_release_alone(struct rn__outside *item)
{
    (void)item;
    rn__free(&machine, &handle);
    struct rn__waiter *closer = rn__scope_give_back(&machine, &scope);
    if (closer)
        rn__fire(closer->task);
}

static void
setup(void)
{
    machine_setup();
    memset(&scope, 0, sizeof scope);
    rn__scope_init(&scope, &machine.root, &machine_tasks[CLOSER]);
    scope.live = 2; /* its owner, and the handle */
    memset(&handle, 0, sizeof handle);
    handle.release.arrive = model_broken("a release arrives alone")
                                ? arrive_release_alone
                                : arrive_release;
    handle.rt = &machine;
    handle.scope = &scope;
    handle.due = 1;
    posted[0] = posted[1] = NULL;
    posts = made = ran = 0;
    model_share_array(posted);
    model_place("live", -1, &scope.live, sizeof scope.live);
    model_place("due", -1, &handle.due, sizeof handle.due);
    model_place("posting", -1, &machine.posting, sizeof machine.posting);
}

static int
run_late(void *arg)
{
    (void)arg;
    return 0;
}

static void
outsider(void)
{
    model_check(rn_scope_handle_go(&handle, run_late, NULL) == 0);
    rn_scope_handle_release(&handle);
}

static void
take(int i)
{
    struct rn__outside *item;
    while (!(item = atomic_load(&posted[i])))
        model_pause();
    item->arrive(item);
    if (i == 1)
        return;
    ran++;
    struct rn__waiter *closer = rn__scope_give_back(&machine, &scope);
    if (closer)
        rn__fire(closer->task);
}

static void
take_first(void)
{
    take(0);
}

static void
take_second(void)
{
    take(1);
}

static void
closer(void)
{
    struct rn__task *self = machine_self();
    struct rn__waiter waiter = {.task = self};
    rn__wait_open(self, RN__SCOPE_CLOSE, &scope.object, NULL, false);
    scope.closer = &waiter;
    if (!rn__scope_give_back(&machine, &scope))
        rn__wait_park(self, RN_NEVER);
    model_check(made == 1 && ran == 1);
    model_free(&scope.live);
    if (!model_broken("the run ends under who posts"))
        rn__hold_end(&machine);
    model_free(&machine.posting);
}

MODEL(hold_release_and_task, .setup = setup, .check = machine_check,
      .threads = {outsider, take_first, take_second, closer}, .bound = 2,
      .breaks = {
          {"what is due is counted by load and store", MODEL_SPLIT, "due",
           NULL},
          {"a release arrives alone", MODEL_OTHER, NULL, NULL},
          {"the run ends under who posts", MODEL_OTHER, NULL, NULL},
      });

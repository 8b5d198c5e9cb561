/* history.c - write a random history in Jepsen's notation, for `runnel lin`:
 *
 *     history MODEL map|log SEED OPS [stale|lost|doubled|reordered|phantom]
 *
 * OPS operations by five processes on an object that is right, unless a fault
 * is planted near the end. Some operations end with :info, their process goes
 * on as another.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 5, VALUES = 5, KEYS = 3, LONGEST = 6 };

static uint64_t random_state;

static int
below(int n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (uint64_t)n);
}

/* What a process does. */
struct op {
    const char *f;
    int key, arg, arg2, ret; /* ret -1: nil */
    int process;             /* its present number */
    bool open, done, keyed;
};

static int cells[KEYS];    /* -1: nil */
static int queue[LONGEST]; /* oldest first */
static int length;
static const char *model, *fault;
static bool map;

static bool
is_queue(void)
{
    return strcmp(model, "queue") == 0;
}

static bool
is(const struct op *op, const char *f)
{
    return strcmp(op->f, f) == 0;
}

static void
begin(struct op *op)
{
    static const char *const names[] = {"read", "write", "cas"};
    op->key = below(KEYS) * op->keyed;
    op->arg = below(VALUES);
    op->arg2 = below(VALUES);
    op->f = names[below(strcmp(model, "register") ? 3 : 2)];
    if (is_queue())
        op->f =
            length < LONGEST - PROCESSES && below(2) ? "enqueue" : "dequeue";
    op->ret = -1;
    op->done = false;
    op->open = true;
}

static void
perform(struct op *op)
{
    int *cell = &cells[op->key];
    if (is(op, "read")) {
        op->ret = *cell;
    } else if (is(op, "write")) {
        *cell = op->arg;
    } else if (is(op, "cas")) {
        op->ret = *cell == op->arg;
        *cell = op->ret ? op->arg2 : *cell;
    } else if (is(op, "enqueue")) {
        queue[length++] = op->arg;
    } else if (length) {
        op->ret = queue[0];
        memmove(queue, queue + 1, (size_t)--length * sizeof queue[0]);
    }
    op->done = true;
}

static void
print(const struct op *op, const char *type)
{
    char value[64] = "nil";
    bool returned = strcmp(type, "ok") == 0;
    if (is(op, "cas"))
        snprintf(value, sizeof value, "[%d %d]", op->arg, op->arg2);
    else if (is(op, "write") || is(op, "enqueue"))
        snprintf(value, sizeof value, "%d", op->arg);
    else if (returned && op->ret >= 0)
        snprintf(value, sizeof value, "%d", op->ret);
    if (!strcmp(type, "info"))
        snprintf(value, sizeof value, ":timed-out");
    if (!map) {
        printf("INFO  jepsen.util - %d\t:%s\t:%s\t%s\n", op->process, type,
               op->f, value);
        return;
    }
    printf("{:process %d, :type :%s, :f :%s, ", op->process, type, op->f);
    if (op->keyed)
        printf(":key \"k%d\", ", op->key);
    printf(":value %s}\n", value);
}

static void
end(struct op *op)
{
    bool refused = is(op, "cas") && !op->ret;
    bool lost = op->done && !refused && below(40) == 0 && !is_queue();
    print(op, lost ? "info" : refused ? "fail" : "ok");
    op->process += lost ? PROCESSES : 0;
    op->open = false;
}

/* One more operation, alone. */
static void
alone(struct op op, const char *f, int arg, int ret)
{
    op.f = f;
    op.arg = arg;
    op.ret = ret;
    op.key = 0;
    print(&op, "invoke");
    print(&op, "ok");
}

/* Values that nothing else uses: what is wrong does not depend on chance. */
static void
plant(struct op op)
{
    const char *put = is_queue() ? "enqueue" : "write";
    const char *get = is_queue() ? "dequeue" : "read";
    while (is_queue() && length) {
        alone(op, get, 0, queue[0]);
        memmove(queue, queue + 1, (size_t)--length * sizeof queue[0]);
    }
    if (strcmp(fault, "phantom")) {
        alone(op, put, 100, -1);
        alone(op, put, 101, -1);
    }
    if (!strcmp(fault, "lost")) /* the first element, or both writes */
        alone(op, get, 0, is_queue() ? 101 : -1);
    else if (!strcmp(fault, "doubled"))
        alone(op, get, 0, 100);
    alone(op, get, 0, !strcmp(fault, "reordered") ? 101 : 100);
}

int
main(int argc, char **argv)
{
    struct op ops[PROCESSES] = {{0}};
    if (argc < 5)
        return 2;
    model = argv[1];
    map = !strcmp(argv[2], "map");
    random_state = strtoull(argv[3], NULL, 10);
    int count = atoi(argv[4]), open = 0;
    fault = argc > 5 ? argv[5] : NULL;
    for (int i = 0; i < KEYS; i++)
        cells[i] = -1;
    for (int i = 0; i < PROCESSES; i++) {
        ops[i].process = i;
        ops[i].keyed = !strcmp(model, "kv");
    }
    while (count || open) {
        struct op *op = &ops[below(PROCESSES)];
        if (!op->open && count) {
            begin(op);
            print(op, "invoke");
            count--;
            open++;
        } else if (op->open && !op->done) {
            perform(op);
        } else if (op->open) {
            end(op);
            open--;
        }
    }
    if (fault)
        plant(ops[0]);
    return 0;
}

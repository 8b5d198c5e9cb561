/* lin/read.c - histories as text: maps in EDN, lines of Jepsen's log. */
#include "lin/lin.h"

#include "base/prng.h"
#include "lin/edn.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The operation that a process has begun. */
struct open {
    int64_t process, number, line;
    int f; /* 0: the slot is free */
    bool running;
};

struct reader {
    rn_lin_history *history;
    const rn_lin_model *model;
    bool kv;
    FILE *err;
    struct rn__edn_reader edn;
    struct open *open; /* by hash of process */
    size_t open_count, open_room;
};

/* An operation's line or map, as values of the EDN reader; NULL: not there. */
struct entry {
    const struct rn__edn *process, *type, *f, *value, *key;
    int64_t line;
};

__attribute__((format(printf, 3, 4))) static int
refuse(struct reader *r, int64_t line, const char *format, ...)
{
    va_list list;
    if (!r->err)
        return -EINVAL;
    fprintf(r->err, "%" PRId64 ": ", line);
    va_start(list, format);
    vfprintf(r->err, format, list);
    va_end(list);
    putc('\n', r->err);
    return -EINVAL;
}

/* ---- processes ---------------------------------------------------------- */

static struct open *
slot_of(struct open *open, size_t room, int64_t process)
{
    size_t i = rn__mix64((uint64_t)process) & (room - 1);
    while (open[i].f && open[i].process != process)
        i = (i + 1) & (room - 1);
    return &open[i];
}

/* The slot of a process, maybe free; NULL: out of memory. */
static struct open *
find_open(struct reader *r, int64_t process)
{
    if (2 * r->open_count >= r->open_room) {
        size_t room = r->open_room ? 2 * r->open_room : 64;
        struct open *grown = calloc(room, sizeof *grown);
        if (!grown)
            return NULL;
        for (size_t i = 0; i < r->open_room; i++)
            if (r->open[i].f)
                *slot_of(grown, room, r->open[i].process) = r->open[i];
        free(r->open);
        r->open = grown;
        r->open_room = room;
    }
    return slot_of(r->open, r->open_room, process);
}

/* ---- values ------------------------------------------------------------- */

static const struct rn__edn *
element(const struct reader *r, const struct rn__edn *vector, int i)
{
    return &r->edn.values[vector->elements[i]];
}

static bool
is_pair(const struct rn__edn *v)
{
    return v && v->kind == RN__EDN_VECTOR && v->count == 2;
}

/* An atom as a value of the history. */
static int
value_of(struct reader *r, int64_t line, const struct rn__edn *v,
         int64_t *value)
{
    char small[64], *text = small;
    *value = RN_LIN_NIL;
    if (!v || v->kind == RN__EDN_NIL)
        return 0;
    if (v->kind == RN__EDN_VECTOR || v->kind == RN__EDN_OTHER)
        return refuse(r, line, ":value is a collection");
    if (v->kind == RN__EDN_INTEGER && v->number < RN_LIN_MIN)
        return refuse(r, line, "a number that is too small");
    if (v->kind == RN__EDN_INTEGER || v->kind == RN__EDN_BOOL) {
        *value = v->number;
        return 0;
    }
    if (v->bytes > sizeof small)
        text = malloc(v->bytes);
    if (!text)
        return -ENOMEM;
    size_t bytes = v->bytes;
    if (v->kind == RN__EDN_STRING)
        bytes = rn__edn_unescape(v, text);
    else
        memcpy(text, v->text, bytes);
    *value = rn_lin_text(r->history, text, bytes);
    if (text != small)
        free(text);
    return *value == RN_LIN_NIL ? -ENOMEM : 0;
}

/* ---- operations --------------------------------------------------------- */

static int
operation_of(const struct rn__edn *word)
{
    static const struct {
        const char *word;
        rn_lin_f f;
    } words[] = {
        {":read", RN_LIN_READ},       {":get", RN_LIN_READ},
        {":write", RN_LIN_WRITE},     {":put", RN_LIN_WRITE},
        {":cas", RN_LIN_CAS},         {":append", RN_LIN_APPEND},
        {":delete", RN_LIN_DELETE},   {":enqueue", RN_LIN_ENQUEUE},
        {":dequeue", RN_LIN_DEQUEUE}, {":enq", RN_LIN_ENQUEUE},
        {":deq", RN_LIN_DEQUEUE},     {":push", RN_LIN_PUSH},
        {":pop", RN_LIN_POP},         {":add", RN_LIN_ADD},
        {":remove", RN_LIN_REMOVE},   {":contains", RN_LIN_CONTAINS},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (rn__edn_is(word, words[i].word))
            return words[i].f;
    return 0;
}

/* Of kv, the key is a member of its own or stands before the value. */
static int
split_key(struct reader *r, struct entry *e, int64_t *key)
{
    *key = 0;
    if (!r->kv)
        return 0;
    if (!e->key && !is_pair(e->value))
        return refuse(r, e->line, "no :key, nor is :value [key value]");
    if (!e->key) {
        e->key = element(r, e->value, 0);
        e->value = element(r, e->value, 1);
    }
    return value_of(r, e->line, e->key, key);
}

/* The operands of a call. */
static int
read_operands(struct reader *r, const struct entry *e, rn_lin_op *op)
{
    switch (op->f) {
    case RN_LIN_READ:
    case RN_LIN_DELETE:
    case RN_LIN_DEQUEUE:
    case RN_LIN_POP:
        return 0;
    case RN_LIN_CAS:
        if (!is_pair(e->value))
            return refuse(r, e->line, ":cas needs a :value [old new]");
        int error = value_of(r, e->line, element(r, e->value, 0), &op->arg);
        return error ? error
                     : value_of(r, e->line, element(r, e->value, 1), &op->arg2);
    default:
        if (!e->value || e->value->kind == RN__EDN_NIL)
            return refuse(r, e->line, "%.*s needs a :value", (int)e->f->bytes,
                          e->f->text);
        if (op->f == RN_LIN_APPEND && e->value->kind != RN__EDN_STRING)
            return refuse(r, e->line, ":append needs a string");
        return value_of(r, e->line, e->value, &op->arg);
    }
}

static int
read_call(struct reader *r, struct entry *e)
{
    rn_lin_op op = {.f = operation_of(e->f),
                    .process = e->process->number,
                    .called = e->line};
    struct open *open = find_open(r, op.process);
    if (!open)
        return -ENOMEM;
    if (!rn__lin_knows(r->model, op.f))
        return refuse(r, e->line, "a %s has no operation %.*s", r->model->name,
                      (int)e->f->bytes, e->f->text);
    if (open->running)
        return refuse(r, e->line,
                      "process %" PRId64 " calls, but what it called in line "
                      "%" PRId64 " has not ended",
                      op.process, open->line);
    int error = split_key(r, e, &op.key);
    if (error == 0)
        error = read_operands(r, e, &op);
    if (error)
        return error;
    int64_t number = rn__lin_record_call(r->history, &op);
    if (number < 0)
        return (int)number;
    r->open_count += open->f == 0;
    *open = (struct open){op.process, number, e->line, op.f, true};
    return 0;
}

/* What an operation has returned. */
static int
read_result(struct reader *r, struct entry *e, int f, int64_t *ret)
{
    int64_t key;
    const struct rn__edn *v = e->value;
    *ret = f == RN_LIN_CAS ? 1 : RN_LIN_NIL;
    switch (f) {
    case RN_LIN_READ:
    case RN_LIN_DEQUEUE:
    case RN_LIN_POP:
        if (!v)
            return refuse(r, e->line, "no :value was returned");
        if (r->kv && !e->key && split_key(r, e, &key) < 0)
            return -EINVAL;
        return value_of(r, e->line, e->value, ret);
    case RN_LIN_ADD:
    case RN_LIN_REMOVE:
    case RN_LIN_CONTAINS:
        if (is_pair(v))
            v = element(r, v, 1);
        if (v && v->kind == RN__EDN_BOOL)
            *ret = v->number;
        else if (f == RN_LIN_CONTAINS)
            return refuse(r, e->line, ":contains returns true or false");
        return 0;
    default:
        return 0;
    }
}

static int
read_return(struct reader *r, struct entry *e)
{
    int64_t process = e->process->number, ret = RN_LIN_NIL;
    struct open *open = find_open(r, process);
    if (!open)
        return -ENOMEM;
    if (!open->running)
        return refuse(r, e->line,
                      "process %" PRId64 " ends what it has not called",
                      process);
    if (operation_of(e->f) != open->f)
        return refuse(r, e->line,
                      "process %" PRId64 " ends %.*s, but in line %" PRId64
                      " it called %s",
                      process, (int)e->f->bytes, e->f->text, open->line,
                      rn__lin_word(open->f));
    enum rn__lin_outcome outcome = RN__LIN_LOST;
    if (rn__edn_is(e->type, ":ok")) {
        int error = read_result(r, e, open->f, &ret);
        if (error)
            return error;
        outcome = RN__LIN_RETURNED;
    } else if (rn__edn_is(e->type, ":fail")) {
        outcome = RN__LIN_FAILED;
    }
    rn__lin_record_end(r->history, open->number, outcome, ret, e->line);
    open->running = false;
    return 0;
}

static int
read_entry(struct reader *r, struct entry *e)
{
    if (r->edn.error)
        return refuse(r, r->edn.line, "%s", r->edn.error);
    if (!e->process || !e->type || !e->f)
        return refuse(r, e->line, "an operation without %s",
                      !e->process ? ":process"
                      : !e->type  ? ":type"
                                  : ":f");
    if (e->process->kind != RN__EDN_INTEGER)
        return 0; /* the nemesis: what was done to the object from outside */
    if (rn__edn_is(e->type, ":invoke"))
        return read_call(r, e);
    if (rn__edn_is(e->type, ":ok") || rn__edn_is(e->type, ":fail") ||
        rn__edn_is(e->type, ":info"))
        return read_return(r, e);
    return refuse(r, e->line, ":type is none of :invoke, :ok, :fail, :info");
}

/* ---- maps --------------------------------------------------------------- */

static int
read_map(struct reader *r)
{
    struct rn__edn_reader *edn = &r->edn;
    struct entry e = {.line = edn->line};
    edn->at++;
    edn->count = 0;
    for (;;) {
        rn__edn_skip(edn);
        if (edn->error || edn->at >= edn->end || *edn->at == '}')
            break;
        int16_t count = edn->count;
        int key = rn__edn_read(edn);
        if (key < 0)
            break;
        const struct rn__edn name = edn->values[key];
        edn->count = count;
        int value = rn__edn_read(edn);
        if (value < 0)
            break;
        const struct rn__edn **member = rn__edn_is(&name, ":process")
                                            ? &e.process
                                        : rn__edn_is(&name, ":type")  ? &e.type
                                        : rn__edn_is(&name, ":f")     ? &e.f
                                        : rn__edn_is(&name, ":value") ? &e.value
                                        : rn__edn_is(&name, ":key")   ? &e.key
                                                                      : NULL;
        if (member)
            *member = &edn->values[value];
        else
            edn->count = count;
    }
    if (!edn->error && edn->at >= edn->end)
        edn->error = "a bracket that is not closed";
    edn->at += !edn->error;
    return read_entry(r, &e);
}

/* ---- lines of a log ----------------------------------------------------- */

/* The next word of a line, which ends at end. */
static const char *
next_word(const char *at, const char *end, size_t *bytes)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    *bytes = 0;
    while (at + *bytes < end && at[*bytes] != ' ' && at[*bytes] != '\t' &&
           at[*bytes] != '\r')
        ++*bytes;
    return at;
}

/* Where a line's operation begins, at the process; NULL: it has none. */
static const char *
find_operation(const char *at, const char *end)
{
    static const char *const types[] = {":invoke", ":ok", ":fail", ":info"};
    const char *before = NULL;
    size_t bytes;
    for (;; at += bytes) {
        at = next_word(at, end, &bytes);
        if (bytes == 0)
            return NULL;
        for (int i = 0; i < 4; i++)
            if (before && strlen(types[i]) == bytes &&
                !memcmp(at, types[i], bytes))
                return before;
        before = at;
    }
}

static bool
is_log(const char *line, size_t bytes)
{
    static const char *const levels[] = {"INFO", "WARN", "ERROR", "DEBUG"};
    for (int i = 0; i < 4; i++)
        if (bytes >= strlen(levels[i]) &&
            !memcmp(line, levels[i], strlen(levels[i])))
            return true;
    return false;
}

static int
read_line(struct reader *r)
{
    struct rn__edn_reader *edn = &r->edn;
    const char *from = edn->at, *all = edn->end;
    const char *end = memchr(from, '\n', (size_t)(all - from));
    struct entry e = {.line = edn->line};
    const struct rn__edn **members[] = {&e.process, &e.type, &e.f, &e.value};
    edn->end = end ? end : all;
    edn->at = find_operation(from, edn->end);
    edn->count = 0;
    if (!edn->at && !is_log(from, (size_t)(edn->end - from)))
        return refuse(r, e.line, "neither an operation nor a line of a log");
    for (int i = 0; edn->at && i < 4; i++) {
        rn__edn_skip(edn);
        int value = edn->at < edn->end ? rn__edn_read(edn) : -1;
        if (value < 0)
            break;
        *members[i] = &edn->values[value];
    }
    int error = edn->at ? read_entry(r, &e) : 0;
    edn->at = edn->end;
    edn->end = all;
    edn->line = e.line;
    return error;
}

/* ---- all ---------------------------------------------------------------- */

/* Read what begins here. */
static int
read_one(struct reader *r)
{
    struct rn__edn_reader *edn = &r->edn;
    switch (*edn->at) {
    case '{':
        return read_map(r);
    case '[': /* around all of the maps */
    case ']':
        edn->at++;
        return 0;
    case '#': /* a record's tag */
        while (edn->at < edn->end && *edn->at != '{' && *edn->at != '\n')
            edn->at++;
        if (edn->at < edn->end && *edn->at == '{')
            return 0;
        return refuse(r, edn->line, "a tag without a map");
    default:
        return read_line(r);
    }
}

int
rn_lin_read(rn_lin_history *history, const rn_lin_model *model,
            const char *text, size_t bytes, FILE *err)
{
    rn__need(history, "rn_lin_read", rn__site());
    rn__need(model, "rn_lin_read", rn__site());
    struct reader r = {
        .history = history,
        .model = model,
        .kv = !strcmp(model->name, "kv"),
        .err = err,
        .edn = {.at = text, .end = text + bytes, .line = 1},
    };
    if (!rn__lin_built_in(model))
        rn__panic_at(rn__site(), "rn_lin_read: %s is not a built-in model",
                     model->name);
    history->lines = true;
    int e = 0;
    while (e == 0) {
        rn__edn_skip(&r.edn);
        if (r.edn.error)
            e = refuse(&r, r.edn.line, "%s", r.edn.error);
        else if (r.edn.at >= r.edn.end)
            break;
        else
            e = read_one(&r);
    }
    free(r.open);
    return e;
}

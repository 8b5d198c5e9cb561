/* lin/print.c - operations and values as text. */
#include "lin/lin.h"

#include <inttypes.h>

static const char *const words[] = {
    [RN_LIN_READ] = "read",       [RN_LIN_WRITE] = "write",
    [RN_LIN_CAS] = "cas",         [RN_LIN_APPEND] = "append",
    [RN_LIN_DELETE] = "delete",   [RN_LIN_ENQUEUE] = "enqueue",
    [RN_LIN_DEQUEUE] = "dequeue", [RN_LIN_PUSH] = "push",
    [RN_LIN_POP] = "pop",         [RN_LIN_ADD] = "add",
    [RN_LIN_REMOVE] = "remove",   [RN_LIN_CONTAINS] = "contains",
};

const char *
rn__lin_word(int f)
{
    return f > 0 && f < RN_LIN_USER ? words[f] : NULL;
}

/* A text's end: of appended ones that is where they differ. */
static void
print_text(const struct rn__lin_context *c, uint32_t seq, FILE *out)
{
    enum { SHOWN = 20 };
    const struct rn__lin_seqs *s = &c->seqs;
    uint32_t length = s->nodes[seq].depth;
    uint32_t from = length > SHOWN ? length - SHOWN : 0;
    fputs(from ? "\"..." : "\"", out);
    for (uint32_t i = from + 1; i <= length; i++) {
        int64_t byte = s->nodes[rn__lin_seq_head(s, seq, i)].value;
        bool plain = byte >= ' ' && byte < 127 && byte != '"' && byte != '\\';
        if (plain)
            putc((int)byte, out);
        else
            fprintf(out, "\\x%02x", (unsigned)byte & 0xff);
    }
    putc('"', out);
}

void
rn__lin_print_value(const struct rn__lin_context *c, int64_t value, FILE *out)
{
    if (value == RN_LIN_NIL)
        fputs("nil", out);
    else if (rn__lin_is_text(value))
        print_text(c, rn__lin_text_number(value), out);
    else
        fprintf(out, "%" PRId64, value);
}

static bool
takes_value(int f)
{
    return f != RN_LIN_READ && f != RN_LIN_DELETE && f != RN_LIN_DEQUEUE &&
           f != RN_LIN_POP;
}

static void
print_result(const struct rn__lin_context *c, const rn_lin_op *op, FILE *out)
{
    bool told = op->known && op->ret != RN_LIN_NIL;
    switch (op->f) {
    case RN_LIN_READ:
    case RN_LIN_DEQUEUE:
    case RN_LIN_POP:
        fputs(" -> ", out);
        if (op->known)
            rn__lin_print_value(c, op->ret, out);
        else
            putc('?', out);
        break;
    case RN_LIN_CAS:
        fputs(!op->known ? " -> ?" : op->ret ? " -> done" : " -> refused", out);
        break;
    case RN_LIN_ADD:
    case RN_LIN_REMOVE:
    case RN_LIN_CONTAINS:
        fputs(!told ? "" : op->ret ? " -> true" : " -> false", out);
        break;
    default:
        break;
    }
}

void
rn__lin_print_op(const rn_lin_op *op, FILE *out, void *context)
{
    const struct rn__lin_context *c = context;
    fputs(rn__lin_word(op->f), out);
    if (c->kv) {
        putc(' ', out);
        rn__lin_print_value(c, op->key, out);
    }
    if (takes_value(op->f)) {
        putc(' ', out);
        rn__lin_print_value(c, op->arg, out);
    }
    if (op->f == RN_LIN_CAS) {
        fputs(" to ", out);
        rn__lin_print_value(c, op->arg2, out);
    }
    print_result(c, op, out);
}

void
rn__lin_print_plain(const rn_lin_op *op, FILE *out, void *arg)
{
    const char *word = rn__lin_word(op->f);
    (void)arg;
    if (word)
        fputs(word, out);
    else
        fprintf(out, "f%d", op->f);
    fprintf(out, "(%" PRId64 ", %" PRId64 ", %" PRId64 ")", op->key, op->arg,
            op->arg2);
    if (op->known)
        fprintf(out, " -> %" PRId64, op->ret);
    else
        fputs(" -> ?", out);
}

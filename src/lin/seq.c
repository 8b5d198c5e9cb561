/* lin/seq.c - sequences of values, each kept once.
 *
 * A stack's state is such a node, a text is one with a value a byte, and a
 * queue's is the end of one (model.c); so a step costs the same however long
 * they are. jump skips ahead as in a skew-binary list (Myers, "An applicative
 * random-access stack", 1983): a prefix is found in logarithmic time.
 */
#include "lin/lin.h"

#include "base/prng.h"

#include <string.h>

enum { ROOM_FIRST = 256 };

static uint32_t
slot_of(const struct rn__lin_seqs *s, uint32_t parent, int64_t value)
{
    uint64_t hash = rn__mix64((uint64_t)value ^ rn__mix64(parent + 1u));
    return (uint32_t)hash & (s->room - 1);
}

static bool
make_room(struct rn__lin_seqs *s)
{
    uint32_t room = s->room ? 2 * s->room : ROOM_FIRST;
    size_t size = sizeof *s->nodes, word = sizeof *s->heads;
    if (room == 0)
        s->budget->end = RN__LIN_NO_BYTES;
    void *nodes =
        room ? rn__lin_grow(s->budget, s->nodes, s->room * size, room * size)
             : NULL;
    if (!nodes)
        return false;
    s->nodes = nodes;
    void *heads = rn__lin_grow(s->budget, NULL, 0, room * word);
    if (!heads) {
        s->budget->bytes -= (room - s->room) * size; /* as if it had shrunk */
        return false;
    }
    rn__lin_release(s->budget, s->heads, s->room * word);
    s->heads = heads;
    s->room = room;
    memset(s->heads, 0, room * word);
    for (uint32_t i = 1; i < s->count; i++) {
        struct rn__lin_node *n = &s->nodes[i];
        uint32_t *head = &s->heads[slot_of(s, n->parent, n->value)];
        n->next = *head;
        *head = i;
    }
    return true;
}

bool
rn__lin_seqs_init(struct rn__lin_seqs *seqs, struct rn__lin_budget *budget)
{
    *seqs = (struct rn__lin_seqs){.budget = budget};
    if (!make_room(seqs))
        return false;
    seqs->nodes[0] = (struct rn__lin_node){0};
    seqs->count = 1;
    return true;
}

void
rn__lin_seqs_fini(struct rn__lin_seqs *s)
{
    if (!s->budget)
        return;
    rn__lin_release(s->budget, s->nodes, s->room * sizeof *s->nodes);
    rn__lin_release(s->budget, s->heads, s->room * sizeof *s->heads);
    *s = (struct rn__lin_seqs){0};
}

uint32_t
rn__lin_seq_push(struct rn__lin_seqs *s, uint32_t seq, int64_t value)
{
    uint32_t slot = slot_of(s, seq, value);
    for (uint32_t i = s->heads[slot]; i; i = s->nodes[i].next)
        if (s->nodes[i].parent == seq && s->nodes[i].value == value)
            return i;
    if (s->count == s->room) {
        if (!make_room(s))
            return 0;
        slot = slot_of(s, seq, value);
    }
    const struct rn__lin_node *n = s->nodes, *parent = &n[seq];
    const struct rn__lin_node *once = &n[parent->jump], *twice = &n[once->jump];
    bool far = parent->depth - once->depth == once->depth - twice->depth;
    s->nodes[s->count] = (struct rn__lin_node){
        .value = value,
        .parent = seq,
        .jump = far ? once->jump : seq,
        .depth = parent->depth + 1,
        .next = s->heads[slot],
    };
    s->heads[slot] = s->count;
    return s->count++;
}

uint32_t
rn__lin_seq_head(const struct rn__lin_seqs *s, uint32_t seq, uint32_t length)
{
    while (s->nodes[seq].depth > length) {
        const struct rn__lin_node *n = &s->nodes[seq];
        seq = s->nodes[n->jump].depth >= length ? n->jump : n->parent;
    }
    return seq;
}

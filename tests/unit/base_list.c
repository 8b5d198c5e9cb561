/* Lists, against an array that does the same. */
#include "base/list.h"
#include "base/prng.h"
#include "test.h"

enum { NODES = 12, LISTS = 2 };

TEST(list_zeroed_head_is_empty_and_usable)
{
    struct rn__list head = {0}, node = {0};
    CHECK(rn__list_empty(&head));
    CHECK(!rn__list_pop(&head));
    rn__list_append(&head, &node);
    CHECK(!rn__list_empty(&head));
    CHECK(rn__list_pop(&head) == &node);
    CHECK(rn__list_empty(&head));
}

TEST(list_removing_twice_is_harmless)
{
    struct rn__list head, a = {0}, b = {0};
    rn__list_init(&head);
    rn__list_remove(&a); /* never was in a list */
    rn__list_append(&head, &a);
    rn__list_append(&head, &b);
    rn__list_remove(&a);
    rn__list_remove(&a);
    CHECK(head.next == &b && head.prev == &b);
    CHECK(rn__list_pop(&head) == &b);
    rn__list_remove(&b);
    CHECK(rn__list_empty(&head));
}

struct twin {
    int nodes[NODES];
    int count;
};

static void
twin_remove(struct twin *twin, int node)
{
    int kept = 0;
    for (int i = 0; i < twin->count; i++)
        if (twin->nodes[i] != node)
            twin->nodes[kept++] = twin->nodes[i];
    twin->count = kept;
}

static void
check_same(struct rn__list *head, struct rn__list *nodes,
           const struct twin *twin)
{
    int i = 0;
    CHECK_EQ(rn__list_empty(head), twin->count == 0);
    if (!head->next)
        return;
    rn__list_each (node, head) {
        CHECK_LT(i, twin->count);
        CHECK_EQ(node - nodes, twin->nodes[i++]);
        CHECK(node->next->prev == node && node->prev->next == node);
    }
    CHECK_EQ(i, twin->count);
}

TEST(list_does_what_an_array_does)
{
    struct rn__list heads[LISTS] = {{0}}, nodes[NODES] = {{0}};
    struct twin twins[LISTS] = {{.count = 0}};
    uint64_t random = 1;
    for (long step = 0; step < 100000; step++) {
        int node = (int)rn__prng_below(&random, NODES);
        int list = (int)rn__prng_below(&random, LISTS);
        struct twin *twin = &twins[list];
        if (rn__prng_below(&random, 3) == 0) {
            struct rn__list *popped = rn__list_pop(&heads[list]);
            CHECK_EQ(popped != NULL, twin->count > 0);
            if (popped) {
                CHECK_EQ(popped - nodes, twin->nodes[0]);
                twin_remove(twin, twin->nodes[0]);
            }
        } else {
            rn__list_remove(&nodes[node]);
            for (int i = 0; i < LISTS; i++)
                twin_remove(&twins[i], node);
            if (rn__prng_below(&random, 2)) {
                rn__list_append(&heads[list], &nodes[node]);
                twin->nodes[twin->count++] = node;
            }
        }
        for (int i = 0; i < LISTS; i++)
            check_same(&heads[i], nodes, &twins[i]);
    }
}

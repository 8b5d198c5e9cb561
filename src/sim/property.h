/* sim/property.h - properties and invariants, part of sim.h.
 *
 * What a search has seen of properties is a plain table without pointers: it
 * may lie in memory that processes share.
 */
#ifndef RN_SIM_PROPERTY_H
#define RN_SIM_PROPERTY_H

#include <runnel/property.h>
#include <runnel/sim.h>
#include <stdbool.h>

struct rn__world;

enum {
    RN__PROPERTIES = 256,     /* names in a program */
    RN__PROPERTY_NAME = 64,   /* bytes, with the end */
    RN__PROPERTY_SLOTS = 512, /* of the table by name; a power of two */
    RN__INVARIANTS = 32       /* at a time */
};

struct rn__property {
    char name[RN__PROPERTY_NAME]; /* "": no property */
    uint64_t asked;               /* how often, without an answer yet */
    uint64_t seen;
    bool expected; /* by rn_sim_expect */
};

struct rn__properties {
    uint32_t count;
    struct rn__property slots[RN__PROPERTY_SLOTS];
};

struct rn__invariant {
    const char *name;
    rn_sim_invariant_fn *fn;
    void *arg;
};

/* Of the schedule that runs. */
struct rn__invariants {
    uint32_t count;
    struct rn__invariant list[RN__INVARIANTS];
};

/* Before a step of the running task, or when it parks: whether all hold after
 * its last one. */
void rn__invariants_check(struct rn__world *world);
/* Add what from has to to. */
void rn__properties_merge(struct rn__properties *to,
                          const struct rn__properties *from);
/* A search has ended: if it passed, but something was never seen, that is its
 * verdict. */
void rn__properties_judge(const struct rn__properties *properties,
                          rn_sim_report *report);

#endif

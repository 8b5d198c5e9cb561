/* sim/server_link.h - the searcher's end of one server (see shared.h). */
#ifndef RN_SERVER_LINK_H
#define RN_SERVER_LINK_H

#include "sim/shared.h"
#include "sim/sim.h"

#include <sys/types.h>

enum { RN__LINKS_MAX = 256 };

struct rn__link {
    struct rn__shared *shared;
    size_t bytes;
    int memory; /* file descriptors */
    int socket;
    pid_t pid;
    bool busy;            /* a schedule is being run */
    struct rn__plan plan; /* of which one */
};

/* Start a program and wait until it is ready to serve. 0, or as
 * rn_sim_program, with *why. */
int rn__link_open(struct rn__link *link, const rn_sim_options *options,
                  char *const argv[], char **why);
void rn__link_close(struct rn__link *link);
/* Have it run what shared->request says. 0 or -EPIPE: it is gone. */
int rn__link_go(struct rn__link *link);
/* Wait for the end of that; the response is valid then. 0 or -EPIPE. */
int rn__link_wait(struct rn__link *link);
/* Put a plan where the request wants it. */
void rn__link_put(struct rn__link *link, const struct rn__plan *plan);
/* The log of the response; points into shared. */
void rn__link_log(struct rn__link *link, struct rn__log *log);

#endif

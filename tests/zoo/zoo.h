/* zoo.h - what the kernels of the zoo share.
 *
 * A kernel is a small program with one known bug. Without an argument it runs
 * the bug, with the argument `fixed` the repaired twin. A kernel that comes in
 * several sizes takes the size before that. Its state is a struct
 * in main's frame that begins with a struct zoo; the main task sets it up
 * anew, so a kernel can also be run many times in one process.
 *
 * Calls of the library are written out in the kernels, wrapped in must() only,
 * so that a report names the kernel's own line and not one of this file.
 */
#ifndef ZOO_H
#define ZOO_H

#include "search.h"

#include <errno.h>
#include <runnel/runnel.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most channels a kernel keeps until its end. */
#define ZOO_CHANS 16
/* Time where a scenario only says "later". */
#define ZOO_TICK RN_MS

/* What every kernel has; the first member of its state. */
struct zoo {
    bool fixed;                /* run the twin */
    int size;                  /* of a kernel that comes in several sizes */
    size_t chan_count;         /* channels in use */
    rn_chan *chans[ZOO_CHANS]; /* freed after the run: tasks may outlive main */
};

/* A call that cannot fail in a kernel: nothing here is cancelled or late. */
static inline int
must(int result)
{
    if (result < 0)
        rn_panic("a call of the kernel failed: %s", strerror(-result));
    return result;
}

/* Make a channel that lives until the program ends. */
static inline rn_chan *
zoo_chan(struct zoo *zoo, size_t elem_bytes, size_t capacity)
{
    rn_chan *chan;

    if (zoo->chan_count == ZOO_CHANS)
        rn_panic("more than %d channels", ZOO_CHANS);
    must(rn_chan_new(elem_bytes, capacity, &chan));
    zoo->chans[zoo->chan_count++] = chan;
    return chan;
}

/* Wait until a channel is closed that is only ever closed. */
#define zoo_await(chan)                                     \
    do {                                                    \
        if (rn_chan_recv((chan), NULL, RN_NEVER) != -EPIPE) \
            rn_panic("only ever closed: %s", #chan);        \
    } while (0)

/* The one of sizes (0 ends them) that a word names; 0: none. */
static inline int
zoo_size(const int *sizes, const char *word)
{
    while (*sizes != 0 && *sizes != atoi(word))
        sizes++;
    return *sizes;
}

/* The whole of the main of a kernel that comes in several sizes: read the
 * arguments, run, clean up. sizes: ends with 0; the first is the default. */
static inline int
zoo_main_sized(int argc, char **argv, rn_task_fn *kernel, struct zoo *zoo,
               const int *sizes)
{
    int next = 1, result;

    zoo->chan_count = 0;
    zoo->size = sizes[0];
    if (next < argc && sizes[0] != 0 && zoo_size(sizes, argv[next]) != 0)
        zoo->size = zoo_size(sizes, argv[next++]);
    zoo->fixed = next < argc && strcmp(argv[next], "fixed") == 0;
    if (next + zoo->fixed < argc) {
        fprintf(stderr, "usage: %s%s [fixed]\n", argv[0],
                sizes[0] != 0 ? " [SIZE]" : "");
        return 2;
    }
    result = zoo_run(kernel, zoo);
    if (getenv("ZOO_SEARCH")) /* the channels went with the schedules */
        zoo->chan_count = 0;
    while (zoo->chan_count > 0)
        rn_chan_unref(zoo->chans[--zoo->chan_count]);
    return result < 0;
}

/* The whole of the main of any other kernel. */
static inline int
zoo_main(int argc, char **argv, rn_task_fn *kernel, struct zoo *zoo)
{
    return zoo_main_sized(argc, argv, kernel, zoo, (const int[]){0});
}

#endif

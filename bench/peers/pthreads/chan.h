/* chan.h - a channel of int64_t between threads. */
#ifndef BENCH_CHAN_H
#define BENCH_CHAN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define CHAN_CAP_MAX 128

/* A channel of int64_t; cap 0: a send ends when its value was received. */
struct chan {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    size_t cap, head, len;
    uint64_t put, taken;
    int closed;
    int64_t ring[CHAN_CAP_MAX];
};

#define CHAN_INIT(n)                                                           \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, \
        .emptied = PTHREAD_COND_INITIALIZER, .cap = (n)                        \
    }

/* Wait for room, and with cap 0 until the value was received. */
void chan_send(struct chan *c, int64_t value);

/* Wait for a value. Returns 0 if there will be none: closed and empty. */
int chan_recv(struct chan *c, int64_t *value);

/* Nothing is sent any more. */
void chan_close(struct chan *c);

#endif

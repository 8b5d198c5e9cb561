/* chan.c - the channel of the threads: one lock, two condition variables. */
#include "chan.h"

void
chan_send(struct chan *c, int64_t value)
{
    size_t slots = c->cap ? c->cap : 1;
    pthread_mutex_lock(&c->lock);
    while (c->len == slots)
        pthread_cond_wait(&c->emptied, &c->lock);
    c->ring[(c->head + c->len++) % slots] = value;
    uint64_t ticket = ++c->put;
    pthread_cond_signal(&c->filled);
    while (!c->cap && c->taken < ticket)
        pthread_cond_wait(&c->emptied, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

int
chan_recv(struct chan *c, int64_t *value)
{
    size_t slots = c->cap ? c->cap : 1;
    pthread_mutex_lock(&c->lock);
    while (!c->len && !c->closed)
        pthread_cond_wait(&c->filled, &c->lock);
    int got = c->len > 0;
    if (got) {
        *value = c->ring[c->head];
        c->head = (c->head + 1) % slots;
        c->len--;
        c->taken++;
        if (c->cap)
            pthread_cond_signal(&c->emptied);
        else
            pthread_cond_broadcast(&c->emptied);
    }
    pthread_mutex_unlock(&c->lock);
    return got;
}

void
chan_close(struct chan *c)
{
    pthread_mutex_lock(&c->lock);
    c->closed = 1;
    pthread_cond_broadcast(&c->filled);
    pthread_mutex_unlock(&c->lock);
}

/* threads.h - what the benchmarks on OS threads share. */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include "../../bench.h"

#include <pthread.h>

/* Start a thread with a small stack. */
pthread_t spawn(void *(*fn)(void *), void *arg);

/* Benchmarks of many threads (crowd.c). */
uint64_t wake_all(uint64_t n);
uint64_t sleepers(uint64_t n);
uint64_t idle_wakeups(uint64_t n);

/* A call handed to another thread and back (crowd.c). */
uint64_t blocking(uint64_t n);

#endif

/* philosophers.c - a ring of locks, each task takes two neighbours.
 *
 * Every philosopher takes the fork of the next one and then his own. If each
 * has taken his first, each waits for his second.
 *
 * The argument is the number of philosophers.
 * Shows: deadlock of all and main; the rarer, the more there are. Twin: the
 * fork with the lower number is taken first.
 */
#include "zoo.h"

#define MOST 7

struct kernel;

struct philosopher {
    struct kernel *kernel;
    int place;
};

struct kernel {
    struct zoo zoo;
    rn_mutex forks[MOST];
    struct philosopher philosophers[MOST];
};

static int
philosopher(void *arg)
{
    struct philosopher *me = arg;
    struct kernel *k = me->kernel;
    int own = me->place, next = (own + 1) % k->zoo.size;
    bool own_first = k->zoo.fixed && own < next;
    rn_mutex *first = &k->forks[own_first ? own : next];
    rn_mutex *second = &k->forks[own_first ? next : own];

    must(rn_mutex_lock(first, RN_NEVER));
    must(rn_mutex_lock(second, RN_NEVER));
    rn_mutex_unlock(second);
    rn_mutex_unlock(first);
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[MOST] = {{"P0"}, {"P1"}, {"P2"}, {"P3"},
                                                {"P4"}, {"P5"}, {"P6"}};
    struct kernel *k = arg;
    int size = k->zoo.size;
    rn_task tasks[MOST];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .zoo.size = size};
    for (int i = 0; i < size; i++) {
        k->philosophers[i] = (struct philosopher){k, i};
        must(rn_task_spawn(NULL, philosopher, &k->philosophers[i], &named[i],
                           &tasks[i]));
    }
    for (int i = 0; i < size; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    static const int sizes[] = {2, 3, 4, 5, 6, MOST, 0};
    struct kernel k;

    return zoo_main_sized(argc, argv, kernel_main, &k.zoo, sizes);
}

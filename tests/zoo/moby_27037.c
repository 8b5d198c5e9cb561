/* moby_27037.c - a version number read from the variable of a loop.
 *
 * A test tries the versions 17 to 21, each in a task of its own that reads the
 * version from the loop's variable. Some are tried twice and some never.
 *
 * Shows: race on the variable. Twin: the version is passed by value.
 */
#include "zoo.h"

#define FIRST 17
#define LAST 21

struct kernel;

struct request {
    struct kernel *kernel;
    int version; /* twin only */
};

struct kernel {
    struct zoo zoo;
    rn_waitgroup requests;
    rn_cell variable;
    struct request request[LAST - FIRST + 1];
};

/* T: tries a version. */
static int
request(void *arg)
{
    struct request *r = arg;
    struct kernel *k = r->kernel;
    char url[32];
    int version = r->version;

    if (!k->zoo.fixed)
        version = (int)rn_cell_read(&k->variable);
    snprintf(url, sizeof url, "/v1.%d/version", version);
    rn_waitgroup_done(&k->requests);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    for (int i = FIRST; i <= LAST; i++) {
        struct request *r = &k->request[i - FIRST];

        *r = (struct request){k, i};
        rn_cell_write(&k->variable, i);
        rn_waitgroup_add(&k->requests, 1);
        must(rn_task_spawn(NULL, request, r, &(rn_task_options){"T"}, NULL));
    }
    must(rn_waitgroup_wait(&k->requests, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}

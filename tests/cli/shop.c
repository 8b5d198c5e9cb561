/* A shop with an argument: `full` expects to be full once and never is,
 * `memory` takes for granted that there is memory, `patient` does not.
 */
#include <runnel/runnel.h>
#include <string.h>

static int
customer(void *arg)
{
    int e = rn_sema_acquire(arg, 1, RN_NEVER);
    if (e < 0)
        return 0;
    rn_yield();
    rn_sema_release(arg, 1);
    return 0;
}

static int
shop(void *arg)
{
    rn_sema room = RN_SEMA_INIT(3);
    rn_chan *queue = NULL;
    rn_scope *scope;

    if (strcmp(arg, "full") == 0)
        rn_sim_expect("the shop is full");
    int e = rn_chan_new(1, 1, &queue);
    if (e < 0 && strcmp(arg, "memory") == 0)
        rn_panic("no memory for a queue");
    rn_chan_unref(queue);
    e = rn_scope_open(RN_NEVER, &scope);
    if (e < 0)
        return 0;
    for (int i = 0; i < 2; i++)
        rn_go(scope, customer, &room);
    if (rn_sema_acquire(&room, 3, RN_NOW) == 0)
        rn_sema_release(&room, 3);
    else
        rn_sim_sometimes(1, "a customer was there");
    rn_scope_close(scope);
    return 0;
}

int
main(int argc, char **argv)
{
    return rn_run(NULL, shop, argc > 1 ? argv[1] : "") < 0;
}

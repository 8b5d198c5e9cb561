/* core/shield.c - shields of the calling task.
 *
 * A task counts the shields it has pushed; cancel.c tells what that does. Each
 * push has a number, and the task knows that of the innermost one in force, so
 * a token can be told from all others of the task.
 */
#include "core/core.h"

rn_shield
rn_shield_push(void)
{
    struct rn__task *self = rn__self_in("rn_shield_push");
    uint32_t before = self->shields / RN__SHIELD;
    rn_shield shield = {.rn__task = rn__task_handle(self).id,
                        .rn__scope = self->scope,
                        .rn__number = ++self->shield_last,
                        .rn__outer = before ? self->shield_top : 0,
                        .rn__before = before};
    self->shield_top = shield.rn__number;
    self->shields += RN__SHIELD;
    rn__task_touch(self);
    return shield;
}

static void
check(const struct rn__task *self, const rn_shield *shield,
      const char *function, const void *site)
{
    if (shield->rn__task != rn__task_handle(self).id)
        rn__panic_at(site, "%s: another task has pushed this shield", function);
    if (shield->rn__number != self->shield_top ||
        self->shields != (shield->rn__before + 1) * RN__SHIELD)
        rn__panic_at(site,
                     "%s of what is not the innermost shield in force "
                     "(restored before, inside rn_unshield already, or another "
                     "was pushed since)",
                     function);
    if (shield->rn__scope != self->scope)
        rn__panic_at(site, "%s: a scope was opened since rn_shield_push",
                     function);
}

/* As it was before the push. */
static void
lift(struct rn__task *self, const rn_shield *shield)
{
    self->shields = shield->rn__before * RN__SHIELD;
    self->shield_top = shield->rn__outer;
}

void
rn_shield_restore(rn_shield shield)
{
    struct rn__task *self = rn__self_in("rn_shield_restore");
    check(self, &shield, "rn_shield_restore", rn__site());
    lift(self, &shield);
}

int
rn_unshield(rn_shield shield, int (*fn)(void *arg), void *arg)
{
    struct rn__task *self = rn__self_in("rn_unshield");
    const void *site = rn__site();
    rn__need(fn, "rn_unshield", site);
    check(self, &shield, "rn_unshield", site);
    lift(self, &shield);
    int result = fn(arg);
    if (self->shields != shield.rn__before * RN__SHIELD ||
        (shield.rn__before && self->shield_top != shield.rn__outer) ||
        self->scope != shield.rn__scope)
        rn__panic_at(site, "rn_unshield: the function has left a shield or a "
                           "scope behind");
    self->shields += RN__SHIELD;
    self->shield_top = shield.rn__number;
    return result;
}

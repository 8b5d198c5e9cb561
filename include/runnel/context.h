/* runnel/context.h - contexts: cancel, deadlines and values for what is not one
 * scope.
 *
 * A context is made from another one and is cancelled with it, or before it:
 * by a call, or when its deadline passes. It carries values down. All of it can
 * be handed to any task: a context is counted by references, not bound to where
 * it was made.
 *
 *     rn_context *ctx;
 *     int e = rn_context_new(request, rn_after(2 * RN_SEC), &ctx);
 *     if (e < 0)
 *         return e;
 *     rn_scope_options options = {.context = ctx};
 *     e = rn_scope_open_with(&options, &s); // cancelled when ctx is
 *     ...
 *     rn_context_cancel(ctx, 0);
 *     rn_context_unref(ctx);
 *
 * Scopes are contexts: rn_scope_context gives that of a scope, for others to
 * watch or to derive from. A task needs no context to be cancelled: it sees the
 * cancels of its scopes. Contexts are for what lies across the tree of scopes.
 *
 * NULL is the background: never cancelled, without deadline, without values.
 */
#ifndef RUNNEL_BACKEND_H
#define RUNNEL_BACKEND_H

#include <runnel/scope.h>

RN_BEGIN

typedef struct rn_context rn_context;

/* The root of all contexts. */
#define RN_CONTEXT_BACKGROUND ((rn_context *)0)

/* Make a context from parent, with a deadline or RN_NEVER.
 *
 * It is cancelled when parent is, with the same cause. A deadline that is later
 * than the parent's adds nothing; one that has passed cancels it at once.
 * Owner: the caller has one reference. It keeps parent alive.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_context_new(rn_context *parent, rn_time deadline,
                                      rn_context **ctx);

/* Make a context from parent that has a value.
 *
 * key: an address that nobody else uses, such as that of a static variable.
 * drop: called with the value once the context is freed; may be NULL.
 * Owner: as rn_context_new; on failure the caller keeps the value.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task; if key is NULL.
 */
RN_API RN_MUST_USE int rn_context_with_value(rn_context *parent,
                                             const void *key, void *value,
                                             void (*drop)(void *value),
                                             rn_context **ctx);

/* Make a context with the values of parent, but not its cancel and deadline:
 * for what must be done in any case.
 *
 * Owner: as rn_context_new.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_context_without_cancel(rn_context *parent,
                                                 rn_context **ctx);

/* Make a context from several: cancelled when the first of them is, with that
 * one's cause; with the earliest of their deadlines and the values of
 * parents[0]. Of none it is like one from the background.
 *
 * Owner: as rn_context_new; of all parents.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_context_merge(rn_context *const *parents,
                                        size_t count, rn_context **ctx);

/* Add a reference; NULL is allowed.
 *
 * Returns: ctx.
 * Panics: outside a task.
 */
RN_API rn_context *rn_context_ref(rn_context *ctx);

/* Drop a reference; the last one frees the context without cancelling it, and
 * stops its timer. NULL is allowed.
 *
 * Panics: outside a task; if the last reference goes while a task waits for it.
 */
RN_API void rn_context_unref(rn_context *ctx);

/* Cancel a context and all that was made from it, also the scopes under these.
 * Never waits; again is harmless and leaves the first cause.
 *
 * cause: a negative code; 0: -ECANCELED. That of a scope cancels the scope.
 * Panics: outside a task; of the background; if cause is positive.
 */
RN_API void rn_context_cancel(rn_context *ctx, int cause);

/* Whether a context is cancelled.
 *
 * Returns: 0: it is not. -ETIMEDOUT: its deadline has passed, or that of one it
 * was made from. -ECANCELED: it was cancelled otherwise.
 * Order: if it is, what led to it is visible to the caller.
 */
RN_API int rn_context_status(const rn_context *ctx);

/* Why a context is cancelled.
 *
 * Returns: 0: it is not. Otherwise the cause given to rn_context_cancel, of it
 * or of one it was made from; -ETIMEDOUT: a deadline. Of a scope's context: the
 * code of the cancel, or of the task that failed; -EPIPE: the scope has been
 * closed; -ECANCELED if none is known.
 */
RN_API int rn_context_cause(const rn_context *ctx);

/* The deadline: the earliest of its own and of those it was made from. That of
 * a scope counts as it was when rn_scope_context was first called.
 *
 * Returns: it, whether it has passed or not; RN_NEVER: none.
 */
RN_API rn_time rn_context_deadline(const rn_context *ctx);

/* The value of a key: the nearest, from ctx upwards.
 *
 * Owner: the context, so it lives as long as ctx.
 * Returns: NULL if there is none.
 * Panics: if key is NULL.
 */
RN_API void *rn_context_value(const rn_context *ctx, const void *key);

/* Wait until a context is cancelled; RN_ARM_CONTEXT(ctx) does in rn_select.
 *
 * The caller must have a reference until the call has returned.
 * Waits: until it is cancelled; a cancellation point.
 * Returns: 0: it is cancelled. -EAGAIN, -ETIMEDOUT: not yet. -ECANCELED: the
 * caller is.
 * Panics: outside a task.
 */
RN_API int rn_context_wait(rn_context *ctx, rn_time deadline);

/* ---- calls -------------------------------------------------------------- */

typedef struct rn_context_call rn_context_call;

/* Run fn(arg) in a task of its own once a context is cancelled; at once if it
 * is already.
 *
 *     rn_context_call *call;
 *     int e = rn_context_after(ctx, NULL, hang_up, conn, &call);
 *     ...
 *     if (rn_context_call_stop(call))
 *         ...hang_up will not be called
 *
 * The call has a place in scope (NULL: the caller's innermost), as if a task
 * waited there: the scope does not close before fn has returned or the call is
 * stopped. fn is called even if the scope is cancelled by then; its waits fail,
 * unless it pushes a shield.
 * Owner: the caller has the call, and ends it by rn_context_call_stop.
 * Returns: 0. -ENOMEM. -ECANCELED: scope is cancelled. -EPIPE: it is closed. On
 * failure fn will not run.
 * Order: what the caller did before, and what led to the cancel, is visible to
 * fn.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_context_after(rn_context *ctx, rn_scope *scope,
                                        rn_task_fn *fn, void *arg,
                                        rn_context_call **call);

/* Stop a call and free it; NULL is allowed. Never waits.
 *
 * Returns: 1: fn was not called and will not be. 0: it is being called, or has
 * been; the close of the scope waits for it.
 * Panics: outside a task.
 */
RN_API int rn_context_call_stop(rn_context_call *call);

/* ---- scopes ------------------------------------------------------------- */

/* The context of a scope that is open: cancelled when the scope is, with its
 * cause, and at the latest when the scope is closed, with -EPIPE. Values and
 * deadlines are those of the contexts and scopes it is under.
 *
 * Owner: the scope; who needs it longer takes a reference.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_scope_context(rn_scope *scope, rn_context **ctx);

/* The context of the caller's innermost scope: by it a task finds the values
 * of those around it.
 *
 * Owner: as rn_scope_context.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_context_current(rn_context **ctx);

RN_END

#endif

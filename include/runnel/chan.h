/* runnel/chan.h - channels: typed by size, first in first out, Go's rules.
 *
 * A channel of capacity 0 hands a value over directly: the send ends when a
 * receiver has it. A channel of capacity k holds k values. Waiting tasks are
 * served in the order they came. A NULL channel is never ready: send and
 * receive wait for ever (or until the deadline or a cancel), select skips it.
 *
 *     rn_chan *c;
 *     int e = rn_chan_new(sizeof(int), 0, &c);
 *     ...
 *     e = rn_chan_send(c, &value, RN_NEVER);
 *     while (rn_chan_recv(c, &value, RN_NEVER) == 0)
 *         use(value);
 *
 * After close, receive yields what is buffered, then a zeroed value and
 * -EPIPE; send returns -EPIPE. Once a call has returned, no other task touches
 * the channel on its behalf: the last user may free it at once.
 */
#ifndef RUNNEL_CHAN_H
#define RUNNEL_CHAN_H

#include <runnel/base.h>

RN_BEGIN

typedef struct rn_chan rn_chan;

/* Make a channel of elem_bytes-sized values that holds capacity of them.
 *
 * Both may be 0; values of size 0 take no storage.
 * Owner: the caller has one reference.
 * Returns: 0. -EINVAL: a size is absurd or their product is (negative numbers
 * turned into sizes are). -ENOMEM.
 */
RN_API RN_MUST_USE int rn_chan_new(size_t elem_bytes, size_t capacity,
                                   rn_chan **chan);

/* Add a reference; NULL is allowed.
 *
 * Returns: chan.
 */
RN_API rn_chan *rn_chan_ref(rn_chan *chan);

/* Drop a reference; the last one frees the channel and what it holds. NULL is
 * allowed.
 *
 * Panics: if the last reference goes while a task waits on the channel.
 */
RN_API void rn_chan_unref(rn_chan *chan);

/* Send the value at elem.
 *
 * Waits: until a receiver or a free place takes it; a cancellation point
 * unless the deadline is RN_NOW.
 * Returns: 0. -EPIPE: closed. -EAGAIN, -ETIMEDOUT, -ECANCELED.
 * Order: what the sender did before is visible to the receiver of the value.
 * Panics: outside a task.
 */
RN_API int rn_chan_send(rn_chan *chan, const void *elem, rn_time deadline);

/* Receive a value into elem; a NULL elem drops it.
 *
 * Waits: until there is one or the channel is closed; a cancellation point
 * unless the deadline is RN_NOW.
 * Returns: 0. -EPIPE: closed and empty, elem is zeroed. -EAGAIN, -ETIMEDOUT,
 * -ECANCELED.
 * Order: what the sender of the value did before sending is visible; so is
 * what the closer did before closing.
 * Panics: outside a task.
 */
RN_API int rn_chan_recv(rn_chan *chan, void *elem, rn_time deadline);

/* Close: nothing can be sent any more. Wakes every waiting task at once.
 *
 * Panics: on a channel that is NULL or closed; outside a task.
 */
RN_API void rn_chan_close(rn_chan *chan);

/* How many values the channel holds; 0 for NULL. */
RN_API size_t rn_chan_len(const rn_chan *chan);

/* How many values the channel can hold; 0 for NULL. */
RN_API size_t rn_chan_cap(const rn_chan *chan);

RN_END

#endif

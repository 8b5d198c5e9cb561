/* os/frames.h - backtraces of what a signal interrupted. */
#ifndef RN_OS_FRAMES_H
#define RN_OS_FRAMES_H

/* In a signal handler: return addresses from the interrupted instruction on,
 * without the handler's own. The first is that instruction plus one, as
 * readers take one off a return address. ucontext: the handler's third
 * argument. */
int rn__frames_at(const void *ucontext, void **frames, int max);

/* First thing in a handler of faults: if it was rn__frames_at that faulted,
 * over a broken stack, go on there; does not return then. */
void rn__frames_failed(void);

#endif

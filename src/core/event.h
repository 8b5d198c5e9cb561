/* core/event.h - what a visible operation looks like in a record.
 *
 * An event is written before the operation happens. 24 bytes each; the call
 * site takes 56 bits, which is all a user-space address needs.
 */
#ifndef RN_EVENT_H
#define RN_EVENT_H

#include <runnel/base.h>

/* X(name, text, object): object is the word for what the number names. */
#define RN__KINDS(X)                       \
    X(NONE, "-", "")                       \
    X(SPAWN, "spawn", "task")              \
    X(BEGIN, "begin", "")                  \
    X(END, "end", "")                      \
    X(YIELD, "yield", "")                  \
    X(SLEEP, "sleep", "")                  \
    X(JOIN, "join", "task")                \
    X(SCOPE_OPEN, "open", "scope")         \
    X(SCOPE_CLOSE, "close", "scope")       \
    X(SCOPE_CANCEL, "cancel", "scope")     \
    X(HOLD, "hold", "scope")               \
    X(RELEASE, "let go", "scope")          \
    X(TASK_CANCEL, "cancel task", "task")  \
    X(TASK_MOVE, "move to", "scope")       \
    X(SEND, "send", "chan")                \
    X(RECV, "recv", "chan")                \
    X(CLOSE, "close", "chan")              \
    X(SELECT, "select", "")                \
    X(ARM_SEND, "arm send", "chan")        \
    X(ARM_RECV, "arm recv", "chan")        \
    X(ARM_JOIN, "arm join", "task")        \
    X(ARM_SCOPE, "arm cancel", "scope")    \
    X(ARM_AT, "arm at", "")                \
    X(ARM_FUTURE, "arm future", "future")  \
    X(ARM_CONTEXT, "arm", "context")       \
    X(CONTEXT_OF, "context of", "scope")   \
    X(CONTEXT_NEW, "make from", "context") \
    X(CONTEXT_CANCEL, "cancel", "context") \
    X(CONTEXT_LOOK, "look at", "context")  \
    X(CONTEXT_WAIT, "wait", "context")     \
    X(CONTEXT_CALL, "call at", "context")  \
    X(CONTEXT_STOP, "stop at", "context")  \
    X(LOCK, "lock", "mutex")               \
    X(UNLOCK, "unlock", "mutex")           \
    X(RLOCK, "read lock", "rwmutex")       \
    X(RUNLOCK, "read unlock", "rwmutex")   \
    X(WLOCK, "write lock", "rwmutex")      \
    X(WUNLOCK, "write unlock", "rwmutex")  \
    X(DOWNGRADE, "downgrade", "rwmutex")   \
    X(ACQUIRE, "acquire", "sema")          \
    X(GIVE_BACK, "release", "sema")        \
    X(BARRIER, "wait", "barrier")          \
    X(COMPLETE, "complete", "future")      \
    X(FUTURE, "wait", "future")            \
    X(PLACE, "place in", "workgroup")      \
    X(COND_WAIT, "wait", "cond")           \
    X(COND_SIGNAL, "signal", "cond")       \
    X(COND_BROADCAST, "broadcast", "cond") \
    X(GROUP_ADD, "add", "group")           \
    X(GROUP_WAIT, "wait", "group")         \
    X(ONCE, "do", "once")                  \
    X(TIMER_START, "start", "timer")       \
    X(TIMER_STOP, "stop", "timer")         \
    X(AFTER_STOP, "stop", "task")          \
    X(AFTER_RESET, "reset", "task")        \
    X(CHAN_LEN, "length of", "chan")       \
    X(POLL, "poll cancel", "")             \
    X(CHOOSE, "choose", "choice")          \
    X(CELL_READ, "read", "cell")           \
    X(CELL_WRITE, "write", "cell")         \
    X(LOAD, "load", "atomic")              \
    X(STORE, "store", "atomic")            \
    X(FETCH_ADD, "add to", "atomic")       \
    X(EXCHANGE, "exchange", "atomic")      \
    X(CAS, "compare and swap", "atomic")   \
    X(TVAR_READ, "read", "tvar")           \
    X(TVAR_WRITE, "write", "tvar")         \
    X(COMMIT, "commit", "")                \
    X(TVAR_SET, "set", "tvar")             \
    X(RETRY, "retry", "tvar")              \
    X(BLOCKING, "blocking call", "")       \
    X(BLOCKING_END, "call done", "")       \
    X(PAR, "start", "par")                 \
    X(PAR_TAKE, "take items", "par")       \
    X(PAR_FAIL, "item fails", "par")       \
    X(LIN_CALL, "call in", "history")      \
    X(LIN_END, "return in", "history")     \
    X(ANNOTATE_FIRST, "", "")              \
    X(BLOCK, "blocked", "")                \
    X(CAS_FAILED, "unchanged", "atomic")   \
    X(WAKE, "wakes", "task")               \
    X(TIMEOUT, "timer wakes", "task")      \
    X(FIRE, "fires", "timer")              \
    X(EXPIRE, "deadline of", "scope")      \
    X(RUN_AGAIN, "begins anew", "")        \
    X(CONTEXT_DUE, "expiry of", "context") \
    X(FREE, "frees", "object")             \
    X(NO_MEMORY, "gets no memory", "")     \
    X(SPURIOUS, "wakes for nothing", "")   \
    X(TRY_FAILS, "try fails", "")          \
    X(LATE, "timers are late", "")         \
    X(KILLED, "is cancelled", "")          \
    X(VERDICT, "verdict", "")

/* Kinds up to ANNOTATE_FIRST are operations and points where the schedule
 * chooses; later ones say what happened. */
enum rn__kind {
#define RN__KIND_ENUM(name, text, object) RN__##name,
    RN__KINDS(RN__KIND_ENUM)
#undef RN__KIND_ENUM
        RN__KIND_COUNT
};

struct rn__event {
    rn_time time;
    uint64_t site_kind; /* call site << 8 | kind */
    uint32_t task;      /* number of the task; 0: none (a timer) */
    uint32_t object;    /* number of the object; 0: none */
};

static inline struct rn__event
rn__event_make(rn_time time, uint32_t task, enum rn__kind kind, uint32_t object,
               const void *site)
{
    struct rn__event e = {time, (uint64_t)(uintptr_t)site << 8 | kind, task,
                          object};
    return e;
}

static inline enum rn__kind
rn__event_kind(const struct rn__event *e)
{
    return (enum rn__kind)(e->site_kind & 0xff);
}

static inline const void *
rn__event_site(const struct rn__event *e)
{
    return (const void *)(uintptr_t)(e->site_kind >> 8);
}

/* The words of a kind: the operation, and what its object is called. */
const char *rn__kind_text(enum rn__kind kind);
const char *rn__kind_object(enum rn__kind kind);

#endif

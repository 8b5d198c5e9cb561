/* memory.c - the threads and the weak memory of a model; model.h says how weak.
 *
 * What tells states apart: a thread's state follows from what it has read, so
 * a hash of that stands for it. For each read the hash takes in the stamp of
 * the store that was read: with model.values a hash of the value, else one of
 * the storing thread's history. The latter also tells apart what plain memory
 * holds, as long as plain memory is only touched by who has a right to it.
 */
#include "engine.h"

#include "base/prng.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct thread threads[MODEL_THREADS];
int thread_count;
struct thread *running;
bool telling;

static struct place places[PLACES];
static int place_count;
/* Places by a hash of their address, + 1; 0: nothing here. */
enum { SLOTS = 256 };
static uint8_t slots[SLOTS];

/* The flags of base/atomic.h and core/core.h as the models see them. */
_Atomic uint32_t modelled_parallel, modelled_env_count, modelled_joined;
_Atomic bool modelled_full_fences;

/* What each thread is inside of; the last is setup and check. */
static struct rn__inside insides[MODEL_THREADS + 1];

struct rn__inside *modelled_inside_self(void);
struct rn__inside *
modelled_inside_self(void)
{
    return &insides[running ? running - threads : MODEL_THREADS];
}

void
model_share_inside(int thread)
{
    struct rn__inside *inside = &insides[thread];
    model_place("window", thread, &inside->window, sizeof inside->window);
    model_place("section", thread, &inside->section, sizeof inside->section);
}

static uint64_t
mix(uint64_t hash, uint64_t with)
{
    return rn__mix64(hash * 31 + with + 0x9e3779b97f4a7c15u);
}

/* ---- the story ---------------------------------------------------------- */

void
tell(const char *format, ...)
{
    if (!telling)
        return;
    va_list args;
    va_start(args, format);
    printf("#   %c  ", running ? 'A' + (int)(running - threads) : ' ');
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static const char *
name_of(const struct place *place)
{
    static char text[80];
    if (place->index < 0)
        return place->name;
    snprintf(text, sizeof text, "%s[%d]", place->name, place->index);
    return text;
}

static void
tell_access(const char *what, const struct place *place, uint64_t value,
            struct model_site site)
{
    if (telling)
        tell("%-5s %s = 0x%llx  (%s:%d)", what, name_of(place),
             (unsigned long long)value, site.function, site.line);
}

/* ---- places ------------------------------------------------------------- */

static unsigned
slot_of(const volatile void *at)
{
    return (unsigned)((uintptr_t)at >> 2) * 0x9e3779b1u >> 24;
}

static struct place *
find(const volatile void *at)
{
    for (unsigned i = slot_of(at); slots[i]; i = (i + 1) % SLOTS)
        if (places[slots[i] - 1].at == at)
            return &places[slots[i] - 1];
    return NULL;
}

void
model_place(const char *name, int index, volatile void *at, size_t bytes)
{
    unsigned i = slot_of(at);
    rn__assert(place_count < PLACES);
    while (slots[i])
        i = (i + 1) % SLOTS;
    places[place_count] = (struct place){name, index, at, bytes, 0, false, {0}};
    slots[i] = (uint8_t)++place_count;
}

void
model_places(const char *name, volatile void *at, size_t bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        model_place(name, (int)i, (volatile char *)at + i * bytes, bytes);
}

static void
need_alive(const struct place *place)
{
    if (place->freed)
        model_fail(__FILE__, __LINE__, "touched after it was freed");
}

static uint64_t
read_place(const struct place *place)
{
    need_alive(place);
    uint64_t value = 0;
    memcpy(&value, (const void *)place->at, place->bytes);
    return value;
}

void
memory_begin(void)
{
    memset(slots, 0, sizeof slots);
    memset(threads, 0, sizeof threads);
    place_count = 0;
    running = NULL;
    modelled_parallel = 1;
    modelled_full_fences = false;
    modelled_joined = 0;
    memset(insides, 0, sizeof insides);
}

/* ---- stores become visible ---------------------------------------------- */

static void
write_place(const struct thread *by, struct pending store)
{
    struct place *place = store.place;
    need_alive(place);
    memcpy((void *)place->at, &store.value, place->bytes);
    place->stamp = store.stamp;
    for (int i = 0; i < thread_count; i++)
        if (&threads[i] != by && threads[i].seen & 1ull << (place - places)) {
            threads[i].news = true;
            threads[i].paused = false;
        }
}

static void
drain_at(struct thread *thread, int i)
{
    struct pending store = thread->pending[i];
    memmove(&thread->pending[i], &thread->pending[i + 1],
            (size_t)(thread->count - i - 1) * sizeof store);
    thread->count--;
    if (telling)
        tell("      %c's %s = 0x%llx is visible", 'A' + (int)(thread - threads),
             name_of(store.place), (unsigned long long)store.value);
    write_place(thread, store);
}

static void
drain_all(struct thread *thread)
{
    while (thread->count > 0)
        drain_at(thread, 0);
}

/* The stores up to the last one to the place. */
static void
drain_place(struct thread *thread, const struct place *place)
{
    for (int i = 0; i < thread->count;) {
        if (thread->pending[i].place != place)
            i++;
        else if (thread->pending[i].release && i > 0)
            drain_at(thread, 0), i--;
        else
            drain_at(thread, i);
    }
}

void
model_free(volatile void *at)
{
    struct place *place = find(at);
    rn__assert(place);
    drain_place(running, place);
    place->freed = true;
    tell("frees %s", name_of(place));
}

/* Whether the store may become visible before all older ones. */
static bool
drainable(const struct thread *thread, int i)
{
    if (thread->pending[i].release)
        return i == 0;
    for (int j = 0; j < i; j++)
        if (thread->pending[j].place == thread->pending[i].place)
            return false;
    return true;
}

static bool
could_go_on(const struct thread *thread)
{
    return !thread->done && !thread->paused && !thread->sleeps;
}

/* Whether one could that does not want others to get on first. */
static bool
any_eager(void)
{
    for (int i = 0; i < thread_count; i++)
        if (could_go_on(&threads[i]) && !threads[i].yields)
            return true;
    return false;
}

bool
memory_enabled(const struct thread *thread)
{
    return could_go_on(thread) && !(thread->yields && any_eager());
}

static bool
any_enabled(void)
{
    for (int i = 0; i < thread_count; i++)
        if (memory_enabled(&threads[i]))
            return true;
    return false;
}

static bool
all_done(void)
{
    for (int i = 0; i < thread_count; i++)
        if (!threads[i].done)
            return false;
    return true;
}

/* Choose stores that become visible now, one after the other. */
static void
choose_drains(void)
{
    for (;;) {
        struct {
            struct thread *thread;
            int i;
        } list[MODEL_THREADS * MODEL_PENDING];
        uint32_t count = 0, none = any_eager();
        for (int t = 0; t < thread_count; t++)
            for (int i = 0; i < threads[t].count; i++)
                if (drainable(&threads[t], i)) {
                    list[count].thread = &threads[t];
                    list[count++].i = i;
                }
        uint32_t choice = count ? search_ask(ASK_DRAIN, count + none) : 0;
        if (count == 0 || choice < none)
            return;
        drain_at(list[choice - none].thread, list[choice - none].i);
    }
}

/* ---- steps -------------------------------------------------------------- */

/* Before an operation of the running thread that others could notice. */
static void
step(void)
{
    struct thread *self = running;
    choose_drains();
    if (!any_enabled() && !all_done())
        search_stuck();
    rn__step(RN__CHOOSE, NULL, NULL);
    running = self;
    for (int i = 0; i < thread_count; i++)
        threads[i].yields = false;
}

int
memory_thread(void *arg)
{
    struct thread *self = arg;
    running = self;
    self->history = mix(1, (uint64_t)(self - threads));
    the_model->threads[self - threads]();
    self->done = true;
    do
        step();
    while (!all_done());
    running = NULL;
    return 0;
}

uint64_t
memory_signature(void)
{
    uint64_t hash = 0;
    for (int t = 0; t < thread_count; t++) {
        const struct thread *thread = &threads[t];
        uint64_t own =
            mix(thread->history, thread->paused * 4u + thread->news * 2u +
                                     thread->done + (thread->sleeps ? 8u : 0u));
        for (int i = 0; i < thread->count; i++)
            own = mix(own, thread->pending[i].stamp);
        hash = mix(hash, own);
    }
    for (int i = 0; i < place_count; i++)
        hash = mix(hash, places[i].stamp);
    return hash;
}

/* ---- operations --------------------------------------------------------- */

static bool
broken(enum model_how how, const struct place *place,
       const struct model_site *site)
{
    const struct model_break *b = the_break;
    return b && b->how == how &&
           (!b->place || (place && strcmp(b->place, place->name) == 0)) &&
           (!b->function || (site && strcmp(b->function, site->function) == 0));
}

bool
model_broken(const char *name)
{
    return the_break && strcmp(the_break->name, name) == 0;
}

static bool
releases(const struct place *place, const struct model_site *site)
{
    return site->order >= __ATOMIC_RELEASE && !broken(MODEL_RELAX, place, site);
}

/* The state of the running thread changes, also if it only gets on. */
static void
get_on(uint64_t with)
{
    running->history = mix(running->history, with);
}

/* The stamp of a store of the running thread. */
static uint64_t
stamp(struct place *place, uint64_t value)
{
    get_on(1);
    uint64_t *own = &place->own[running - threads];
    *own = the_model->values ? mix((uint64_t)(place - places), value)
                             : running->history;
    return *own;
}

/* Read what is visible. That it is the thread's own store is as if that were
 * still in its buffer. */
static uint64_t
observe(const struct place *place)
{
    uint64_t own = place->own[running - threads];
    get_on(own && own == place->stamp ? 3 : place->stamp);
    running->seen |= 1ull << (place - places);
    return read_place(place);
}

void
model_load(const volatile void *at, void *out, size_t bytes,
           struct model_site site)
{
    struct place *place = running ? find(at) : NULL;
    if (!place) {
        memcpy(out, (const void *)at, bytes);
        return;
    }
    running->seen |= 1ull << (place - places);
    for (int i = running->count; i-- > 0;)
        if (running->pending[i].place == place) {
            memcpy(out, &running->pending[i].value, bytes);
            get_on(3);
            return;
        }
    step();
    uint64_t value = observe(place);
    memcpy(out, &value, bytes);
    tell_access("load", place, value, site);
}

void
model_store(volatile void *at, const void *in, size_t bytes,
            struct model_site site)
{
    struct place *place = running ? find(at) : NULL;
    uint64_t value = 0;
    if (!place) {
        memcpy((void *)at, in, bytes);
        return;
    }
    memcpy(&value, in, bytes);
    bool release = releases(place, &site);
    bool drains = release && site.order == __ATOMIC_SEQ_CST;
    int room = the_model->buffer ? the_model->buffer : MODEL_PENDING;
    if (drains || running->count == room)
        step();
    if (running->count == room)
        drain_at(running, 0);
    tell_access(drains ? "swap" : "store", place, value, site);
    running->pending[running->count++] =
        (struct pending){place, value, stamp(place, value), release};
    if (drains)
        drain_all(running);
}

/* A read-modify-write begins: what is there. */
static uint64_t
rmw_read(struct place *place, const struct model_site *site)
{
    step();
    if (releases(place, site))
        drain_all(running);
    else
        drain_place(running, place);
    return observe(place);
}

static void
rmw_write(struct place *place, uint64_t value, const struct model_site *site)
{
    if (broken(MODEL_SPLIT, place, site)) {
        step();
        get_on(10);
    }
    write_place(running,
                (struct pending){place, value, stamp(place, value), false});
    tell_access("rmw", place, value, *site);
}

static uint64_t
result_of(enum model_op op, uint64_t old, uint64_t value)
{
    switch (op) {
    case MODEL_ADD:
        return old + value;
    case MODEL_SUB:
        return old - value;
    case MODEL_OR:
        return old | value;
    case MODEL_AND:
        return old & value;
    default:
        return value;
    }
}

void
model_fetch(volatile void *at, enum model_op op, void *inout, size_t bytes,
            struct model_site site)
{
    struct place *place = running ? find(at) : NULL;
    uint64_t value = 0, old = 0;
    memcpy(&value, inout, bytes);
    if (place)
        old = rmw_read(place, &site);
    else
        memcpy(&old, (const void *)at, bytes);
    memcpy(inout, &old, bytes);
    value = result_of(op, old, value);
    if (place)
        rmw_write(place, value, &site);
    else
        memcpy((void *)at, &value, bytes);
}

bool
model_cas(volatile void *at, void *expected, const void *in, size_t bytes,
          struct model_site site)
{
    struct place *place = running ? find(at) : NULL;
    uint64_t old = 0, value = 0;
    if (place)
        old = rmw_read(place, &site);
    else
        memcpy(&old, (const void *)at, bytes);
    if (memcmp(&old, expected, bytes) != 0) {
        memcpy(expected, &old, bytes);
        if (place)
            tell_access("cas no", place, old, site);
        return false;
    }
    memcpy(&value, in, bytes);
    if (place)
        rmw_write(place, value, &site);
    else
        memcpy((void *)at, in, bytes);
    return true;
}

void
model_fence_full(void)
{
    if (!running || broken(MODEL_NO_FULL, NULL, NULL))
        return;
    step();
    get_on(4);
    tell("full fence");
    drain_all(running);
}

void
model_fence_heavy(void)
{
    if (modelled_full_fences) {
        model_fence_full();
        return;
    }
    if (!running || broken(MODEL_NO_HEAVY, NULL, NULL))
        return;
    step();
    get_on(5);
    tell("heavy fence");
    for (int i = 0; i < thread_count; i++)
        drain_all(&threads[i]);
}

/* ---- waiting ------------------------------------------------------------ */

void
model_pause(void)
{
    if (!running || !running->seen)
        return;
    if (!running->news) {
        running->paused = true;
        tell("waits for news");
        step();
    }
    get_on(6);
    running->seen = 0;
    running->news = false;
}

void
model_yield(void)
{
    if (!running)
        return;
    running->yields = true;
    tell("yields");
    step();
    get_on(7);
}

void
model_sleep(_Atomic uint32_t *word, uint32_t expected)
{
    struct place *place = find((void *)word);
    rn__assert(place);
    step();
    drain_all(running); /* a system call */
    if ((uint32_t)observe(place) != expected)
        return;
    tell("sleeps on %s", place->name);
    running->sleeps = (void *)word;
    step();
    get_on(8);
    tell("goes on");
}

void
model_wake(_Atomic uint32_t *word)
{
    step();
    drain_all(running);
    for (int i = 0; i < thread_count; i++)
        if (threads[i].sleeps == (void *)word &&
            !broken(MODEL_NO_WAKE, NULL, NULL))
            threads[i].sleeps = NULL;
    get_on(9);
    tell("wakes");
}

uint32_t
model_choose(uint32_t n)
{
    step();
    uint32_t choice = search_ask(ASK_MODEL, n);
    get_on(choice);
    tell("chooses %u of %u", choice, n);
    return choice;
}

int
model_self(void)
{
    return running ? (int)(running - threads) : -1;
}

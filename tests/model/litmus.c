/* litmus.c - the memory of the models itself: what the classic tests of memory
 * models must see, and must not. (Names as in Alglave, Maranget and Tautschnig,
 * "Herding cats", 2014.)
 */
#include "shadow.h"

static _Atomic int x, y, r[2];

static void
setup(void)
{
    x = y = r[0] = r[1] = 0;
    model_share(x);
    model_share(y);
}

static void
setup_full_fences(void)
{
    setup();
    rn__full_fences = true;
}

static void
put(_Atomic int *at, int value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

static int
get(_Atomic int *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

/* ---- store buffering: both look before either store is visible ---------- */

static void
sb_light(void)
{
    put(&x, 1);
    rn__fence_light();
    r[0] = get(&y);
}

static void
sb_heavy(void)
{
    put(&y, 1);
    rn__os_fence_all();
    r[1] = get(&x);
}

static void
sb_seq_cst(void)
{
    atomic_store(&y, 1);
    r[1] = atomic_load(&x);
}

static void
sb_seq_cst_too(void)
{
    atomic_store(&x, 1);
    r[0] = atomic_load(&y);
}

static void
sb_check(void)
{
    model_check(r[0] || r[1]);
}

MODEL(litmus_sb_lopsided, .setup = setup, .threads = {sb_light, sb_heavy},
      .check = sb_check, .values = true,
      .breaks = {{"no heavy fence", MODEL_NO_HEAVY, NULL, NULL}});
MODEL(litmus_sb_full, .setup = setup_full_fences,
      .threads = {sb_light, sb_heavy}, .check = sb_check, .values = true,
      .breaks = {{"no full fence", MODEL_NO_FULL, NULL, NULL}});
MODEL(litmus_sb_seq_cst, .setup = setup,
      .threads = {sb_seq_cst_too, sb_seq_cst}, .check = sb_check,
      .values = true,
      .breaks = {{"x is stored relaxed", MODEL_RELAX, "x", NULL}});

/* ---- message passing ---------------------------------------------------- */

static void
mp_write(void)
{
    put(&x, 1);
    atomic_store_explicit(&y, 1, memory_order_release);
}

static void
mp_write_by_swap(void)
{
    put(&x, 1);
    atomic_fetch_add_explicit(&y, 1, memory_order_release);
}

static void
mp_read(void)
{
    if (get(&y))
        model_check(get(&x) == 1);
}

MODEL(litmus_mp, .setup = setup, .threads = {mp_write, mp_read}, .values = true,
      .breaks = {{"y is stored relaxed", MODEL_RELAX, "y", NULL}});
MODEL(litmus_mp_by_swap, .setup = setup, .threads = {mp_write_by_swap, mp_read},
      .values = true,
      .breaks = {{"y is changed relaxed", MODEL_RELAX, "y", NULL}});

/* ---- coherence: one place never goes back ------------------------------- */

static void
co_write(void)
{
    put(&x, 1);
    put(&x, 2);
}

static void
co_read(void)
{
    int first = get(&x);
    model_check(get(&x) >= first);
}

static void
co_add(void)
{
    atomic_fetch_add_explicit(&y, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&y, 1, memory_order_relaxed);
}

static void
co_check(void)
{
    model_check(x == 2 && y == 4);
}

static void
co_write_and_add(void)
{
    co_write();
    co_add();
}

static void
co_read_and_add(void)
{
    co_read();
    co_add();
}

MODEL(litmus_coherence, .setup = setup,
      .threads = {co_write_and_add, co_read_and_add}, .check = co_check,
      .values = true,
      .breaks = {
          {"an addition is a load and a store", MODEL_SPLIT, "y", NULL}});

/* ---- waiting ------------------------------------------------------------ */

static _Atomic uint32_t word;

static void
setup_futex(void)
{
    setup();
    word = 0;
    model_share(word);
}

static void
sleeper(void)
{
    while (!atomic_load(&word))
        model_sleep(&word, 0);
}

static void
waker(void)
{
    atomic_store(&word, 1);
    model_wake(&word);
}

static void
spinner(void)
{
    while (!get(&x))
        model_pause();
}

static void
writer(void)
{
    put(&x, 1);
    if (model_broken("it is taken back"))
        put(&x, 0);
}

MODEL(litmus_futex, .setup = setup_futex, .threads = {sleeper, waker},
      .breaks = {{"the wake is lost", MODEL_NO_WAKE, NULL, NULL}});
MODEL(litmus_pause, .setup = setup, .threads = {spinner, writer},
      .breaks = {{"it is taken back", MODEL_OTHER, NULL, NULL}});

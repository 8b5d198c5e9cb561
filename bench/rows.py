"""What bench/run measures: programs, the rows they give, the bars of rows.

A bar is (must, bold): the figure to stay at or below, and the one to aim for;
at or above for rows in HIGHER units.
The bars were set on one machine (2 CPUs of an AMD EPYC under a hypervisor,
where a page fault costs 15 us and a system call 1 us) and hold there.
"""

import dataclasses

import grid

QUICK_S, SECONDS = 0.03, 0.3


@dataclasses.dataclass
class Bench:
    """An id of the programs, for --bench."""
    id: str
    workers: tuple = (1, 2)  # what one task does alone is not run twice
    runs: int = 99           # at most so many
    limit: int = 60          # seconds a run may take
    figures: tuple = ()      # (row, key of its JSON, unit, factor)
    prepare: object = None   # called with the JSON and the workers first
    beside: tuple = ()       # keys of it to keep beside the row

    def __post_init__(self):
        self.figures = self.figures or ((self.id, "ns", "ns", 1),)

    def rows(self):
        return [figure[0] for figure in self.figures]


def sleepers(id_):
    return Bench(id_, runs=5, figures=((id_, "cpu_ms", "ms", 1),
                                       (id_ + "_p99", "p99_ms", "ms", 1)))


def busy(id_):
    """The same while the other worker computes."""
    return Bench(id_ + "_busy", (2,))


def cell(id_):
    """A loop of the grid. A run takes seconds, and alternates many times."""
    return Bench(id_, runs=1, figures=((id_, "percent", grid.UNIT, 1),),
                 prepare=grid.add_percent, beside=grid.TIMES)


BENCHES = [
    Bench("switch", (1,)),
    Bench("yield2"), Bench("yield1000"),
    Bench("spawn_batch"), Bench("spawn_one"), busy("spawn_one"),
    Bench("pingpong"), busy("pingpong"),
    Bench("buffered_1p1c"), busy("buffered_1p1c"), Bench("buffered_4p4c"),
    Bench("go_recv"), Bench("handoff"), Bench("buffered_same", (1,)),
    Bench("chan_4x4_0"), Bench("chan_4x4_10"), Bench("chan_4x4_100"),
    Bench("select2_send"),
    Bench("select2"), Bench("select8"), busy("select8"),
    Bench("select2_ready", (1,)), Bench("select8_ready", (1,)),
    Bench("select_default", (1,)),
    Bench("mutex"), busy("mutex"), Bench("mutex_yield"),
    Bench("rwmutex_read"), busy("rwmutex_read"), Bench("rwmutex_write", (1,)),
    Bench("sema", (1,)), Bench("waitgroup", (1,)), Bench("once_done", (1,)),
    Bench("future", (1,)), Bench("barrier"), Bench("workgroup_1"),
    Bench("stm_read4"), busy("stm_read4"),
    Bench("stm_update2"), busy("stm_update2"),
    Bench("stm_bank"), Bench("stm_bank_mutex"), Bench("stm_counter"),
    Bench("stm_retry"),
    Bench("group10"), Bench("group100"),
    Bench("skynet", runs=3),
    sleepers("sleepers10k"), sleepers("sleepers100k"),
    Bench("timer"), Bench("timer100k"), Bench("timer_fire"),
    # A million tasks take gigabytes, and up to ten seconds on this machine.
    Bench("wake_all", runs=3, limit=300, figures=(
        ("parked_bytes", "bytes", "bytes", 1),
        ("parked_tables", "table_bytes", "bytes", 1),
        ("parked_left", "left_bytes", "bytes", 1),
        ("spawn_parked", "spawn_ns", "ns", 1),
        ("wake_all", "ns", "ns", 1))),
    Bench("unstarted_bytes", (1,), runs=3,
          figures=(("unstarted_bytes", "bytes", "bytes", 1),)),
    Bench("stacks_setup", (1,), runs=3, limit=300,
          figures=(("stacks_setup", "ns", "s", 1e-3),)),
    Bench("blocking"),
    Bench("idle_wakeups", runs=3,
          figures=(("idle_wakeups", "wakes", "1/s", 1),
                   ("idle_cpu", "cpu_ms", "ms/s", 1))),
    Bench("context_cancel"), Bench("context_timeout"),
    Bench("par_n1"),
    Bench("par_alloc", (1, 2), runs=3,
          figures=(("par_alloc", "allocs", "1/item", 1),)),
    Bench("par_abort", figures=(("par_abort", "ns", "ms", 1e-6),)),
    # What the programs print is for one of 100,000 tasks.
    Bench("par_mass_cancel", runs=5,
          figures=(("par_mass_cancel", "ns", "ms", 1e5 * 1e-6),)),
    *map(cell, grid.IDS),
    # The simulator has one thread.
    Bench("sim_2x2", (1,)), Bench("sim_3x4", (1,)), Bench("sim_400", (1,)),
    Bench("sim_switch", (1,)), Bench("sim_sleep", (1,)),
    Bench("sim_spawn", (1,)), Bench("sim_stm", (1,)),
    Bench("iosim_timeout", (1,), figures=(("iosim_timeout", "ns", "ms", 1e-6),)),
    Bench("iosim_sayers", (1,), figures=(("iosim_sayers", "ns", "ms", 1e-6),)),
]

# Of these units more is better.
HIGHER = (grid.UNIT,)

# Computed here: the worst ratio of two workers to one.
TWO_VS_ONE = "two_vs_one"
# Not among the rows it looks at.
NOT_COMPARED = ("idle_wakeups", "idle_cpu",
                "sleepers10k_p99", "sleepers100k_p99")

NO_TIMES = ("bytes", "1/item", grid.UNIT)

# Row: {workers: (must, bold)}; None: no such bar.
BARS = {
    "switch": {1: (4, 2.5)},
    "yield2": {1: (12, 8)},
    "yield1000": {1: (20, 13), 2: (25, 12)},
    "spawn_batch": {1: (40, 18), 2: (60, 20)},
    "spawn_one": {1: (55, 25), 2: (70, 30)},
    "pingpong": {1: (70, 40), 2: (90, 45)},
    "buffered_1p1c": {1: (20, 10), 2: (30, 12)},
    "buffered_4p4c": {2: (35, 20)},
    "select2": {1: (60, 45)}, "select8": {1: (100, 80)},
    "select2_ready": {1: (25, 15)}, "select8_ready": {1: (45, 25)},
    "select_default": {1: (5, 3)},
    "mutex": {2: (12, 7)},
    "go_recv": {1: (100, 100)}, "handoff": {1: (40, 40)},
    "select2_send": {1: (50, 50)}, "buffered_same": {1: (12, 12)},
    # Go's figure when the bars were set, and half of it for channels.
    "chan_4x4_0": {2: (58, 58)}, "chan_4x4_10": {2: (28, 28)},
    "chan_4x4_100": {2: (19, 19)},
    "rwmutex_read": {1: (12, 7)}, "waitgroup": {1: (14, 10)},
    "once_done": {1: (0.6, 0.6)}, "workgroup_1": {1: (200, 100)},
    "timer_fire": {1: (200, 200)},
    "mutex_yield": {1: (90, 30), 2: (90, 30)},
    "stm_read4": {1: (60, 35), 2: (60, 35)},
    "stm_update2": {1: (120, 60), 2: (120, 60)},
    "group10": {1: (400, 220)}, "group100": {1: (3500, 1900)},
    "skynet": {1: (250, 120), 2: (250, 80)},
    "sleepers10k": {1: (25, 10), 2: (25, 10)},
    "sleepers10k_p99": {1: (2, 1.2), 2: (2, 1.2)},
    "sleepers100k": {1: (250, 100), 2: (250, 100)},
    "sleepers100k_p99": {1: (20, 3), 2: (20, 3)},
    "timer": {1: (80, 30), 2: (80, 30)},
    "timer100k": {1: (120, 40), 2: (120, 40)},
    # 4400 resident, 128 of page tables.
    "parked_bytes": {1: (4528, 4528), 2: (4528, 4528)},
    "unstarted_bytes": {1: (None, 128)},
    "stacks_setup": {1: (1.6, 0.25)},
    "wake_all": {1: (500, 300), 2: (500, 300)},
    "blocking": {1: (15000, 10000), 2: (15000, 10000)},
    TWO_VS_ONE: {2: (1.2, 1.05)},
    "idle_wakeups": {1: (0, 0), 2: (0, 0)},
    # Half of what Go took when these were set.
    "context_cancel": {1: (71, None), 2: (71, None)},
    "context_timeout": {1: (323, None), 2: (323, None)},
    "par_n1": {1: (100, None), 2: (100, None)},
    "par_alloc": {1: (0, None), 2: (0, None)},
    "par_abort": {1: (1, None), 2: (1, None)},
    "par_mass_cancel": {1: (50, None), 2: (50, None)},
    **{id_: grid.bars(id_) for id_ in grid.IDS},
    "sim_2x2": {1: (2000, None)}, "sim_3x4": {1: (5000, None)},
    "sim_400": {1: (50000, None)},
    "sim_switch": {1: (15, None)}, "sim_sleep": {1: (60, 50)},
    "sim_spawn": {1: (100, None)}, "sim_stm": {1: (80, None)},
    "iosim_timeout": {1: (60, None)}, "iosim_sayers": {1: (0.1, None)},
}

ROWS = [row for bench in BENCHES for row in bench.rows()] + [TWO_VS_ONE]


def two_vs_one(rows):
    """The row of that name from the others: {impl: (ratio, worst row)}."""
    one = {r["id"]: r["medians"] for r in rows if r["workers"] == 1}
    worst = {}
    for r in rows:
        if r["workers"] != 2 or r["unit"] in NO_TIMES or \
                r["id"] in NOT_COMPARED:
            continue
        for impl, median in r["medians"].items():
            alone = one.get(r["id"], {}).get(impl)
            if alone:
                worst[impl] = max(worst.get(impl, (0, "")),
                                  (median / alone, r["id"]))
    return worst

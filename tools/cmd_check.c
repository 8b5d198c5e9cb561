/* tools/cmd_check.c - runnel check: search the schedules of a program. */
#include "report.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCHEDULES_DEFAULT = 1000, SEED_DEFAULT = 1, JOBS_MAX = 256 };

static const char help[] =
    "NAME\n"
    "  runnel check - search a program's schedules for bugs\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel check PROG [OPTION...] [-- ARG...]\n"
    "  runnel check --list-strategies\n"
    "\n"
    "DESCRIPTION\n"
    "  Runs PROG again and again in the simulator, a process a schedule, "
    "until\n"
    "  a schedule fails or enough of them have passed. PROG is any program "
    "that\n"
    "  calls rn_run; it need not be compiled anew. Found are deadlocks, "
    "leaked\n"
    "  tasks, misuse of channels and locks, failed assertions, crashes, an "
    "exit\n"
    "  status other than 0, runs without an end, and properties that no\n"
    "  schedule has seen (runnel/property.h). Prints the verdict, what\n"
    "  happened, and the command line that repeats it.\n"
    "\n"
    "  A name without a slash is a file of this folder, else one of PATH.\n"
    "\n"
    "OPTIONS\n"
    "  --schedules N  run N schedules at most (1000; with --seconds: no "
    "limit)\n"
    "  --seconds S    stop after S seconds (no limit)\n"
    "  --strategy S   which schedules: a name, or NAME:NUMBER (portfolio)\n"
    "                 as --list-strategies says\n"
    "  --seed X       seed of the search (1): the same seed, the same search\n"
    "  --jobs J       processes at once (as many as there are cores)\n"
    "  --steps N      steps of one schedule before it counts as endless\n"
    "                 (100000)\n"
    "  --all          go on after a failure and count them; after a failed\n"
    "                 assertion its schedule, too, goes on to its end\n"
    "  --no-shrink    report the failing schedule as it was found; else\n"
    "                 (--shrink) a simpler one with the same failure is "
    "looked\n"
    "                 for, for 2 s at most\n"
    "  --leaks-ok     tasks that are left waiting at the end are no bug\n"
    "  --verify       run each schedule twice and compare: finds what differs\n"
    "                 from run to run though the schedule is the same\n"
    "  --faults LIST  let that go wrong: kinds with the most in a schedule, a\n"
    "                 chance, or both, as alloc:1,kill:2@5%,late:10%\n"
    "                   alloc      a call that allocates has no memory\n"
    "                   spurious   a condition's waiter wakes for nothing\n"
    "                   trylock    a free lock cannot be had by a try\n"
    "                   late       timers expire late, up to late_by:1ms\n"
    "                   kill       a task other than main is cancelled\n"
    "  --shard I/N    run part I of N (1/N to N/N) of the schedules only, of "
    "a\n"
    "                 random strategy; see runnel help merge\n"
    "  --out FILE     write what was run and found, for runnel merge\n"
    "  --checkpoint FILE\n"
    "                 write it now and then and at the end, also after "
    "Ctrl-C\n"
    "  --resume FILE  go on where that search was (and keep its file up to\n"
    "                 date, without --checkpoint)\n"
    "  --save FILE    write the trace of the finding to FILE, for runnel "
    "trace\n"
    "  --json         print one JSON object: program, verdict, schedules,\n"
    "                 distinct, blocked, complete, failing, preemptions "
    "(null:\n"
    "                 not known), within, bound (null: none),\n"
    "                 estimated (0: no idea), strategy, steps, waiting, "
    "faults\n"
    "                 (injected), deviations (null: not shrunk), fewest,\n"
    "                 shrinking (schedules run for it), contrast, seed (of "
    "the\n"
    "                 reported schedule), digest, time_ns, seconds, token,\n"
    "                 repeat, text\n"
    "\n"
    "EXIT STATUS\n"
    "  0 no bug was found, 1 a bug was found, 2 PROG cannot be checked\n"
    "\n"
    "EXAMPLE\n"
    "  runnel check ./server --seconds 60 -- --port 0\n";

static int
cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return (int)sysconf(_SC_NPROCESSORS_ONLN);
    int count = CPU_COUNT(&set);
    return count < JOBS_MAX ? count : JOBS_MAX;
}

/* Seconds until a limit is reached; -1: there is none. */
static double
seconds_left(const rn_sim_progress *p)
{
    bool limited = p->limit && p->limit < UINT64_MAX && p->schedules;
    double left = 0;
    if (p->seconds_limit > 0)
        left = p->seconds_limit - p->seconds;
    if (limited) {
        double all = p->seconds / (double)p->schedules * (double)p->limit;
        double rest = all - p->seconds;
        left = p->seconds_limit > 0 && left < rest ? left : rest;
    }
    if (!limited && p->seconds_limit <= 0)
        return -1;
    return left > 0 ? left : 0;
}

static void
show_progress(const rn_sim_progress *p, void *arg)
{
    double rate = p->seconds > 0 ? (double)p->schedules / p->seconds : 0;
    double left = seconds_left(p);
    (void)arg;
    fprintf(stderr,
            "\r\33[K%" PRIu64 " schedules, %.0f/s, %" PRIu64 " distinct",
            p->schedules, rate, p->distinct);
    if (left >= 0)
        fprintf(stderr, ", %.0f s left", left);
    fflush(stderr);
}

static int
list_strategies(void)
{
    const char *name, *what, *parameter;
    for (int i = 0; (name = rn_sim_strategy_name(i, &what, &parameter)); i++) {
        printf("%-12s %s", name, what);
        if (parameter)
            printf("; NUMBER: %s", parameter);
        putchar('\n');
    }
    return CLI_FINE;
}

/* It runs each trace once, however many there are. */
static bool
ends_by_itself(const char *strategy)
{
    return strategy && strncmp(strategy, "dpor", 4) == 0;
}

/* ---- a part of a search -------------------------------------------------- */

static volatile int stop;

static void
on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* Once: who asks again means at once. */
static void
stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int
read_shard(const struct cli *cli, const char *text, rn_sim_options *o)
{
    int at = 0;
    if (!text)
        return 0;
    if (sscanf(text, "%9u/%9u%n", &o->shard, &o->shards, &at) == 2 &&
        !text[at] && o->shard >= 1 && o->shard <= o->shards && text[0] >= '0' &&
        text[0] <= '9')
        return 0;
    return cli_fail(cli, "--shard takes 1/N to N/N, not \"%s\"", text);
}

static int
search_and_print(struct search *s)
{
    bool progress = !s->cli->json && isatty(2);
    s->options.progress = progress ? show_progress : NULL;
    int status = search_run(s);
    if (progress)
        fputs("\r\33[K", stderr);
    if (status == 0) {
        bool bug = s->report.verdict != RN_SIM_PASS;
        char *repeat = bug ? search_repeat(s) : NULL;
        if (s->cli->json)
            search_json(s, repeat);
        else
            search_print(s, repeat);
        free(repeat);
        status = search_status(s);
    }
    search_fini(s);
    return status;
}

static int
check(struct cli *cli, char **argv)
{
    if (argv[0] && strcmp(argv[0], "--list-strategies") == 0 && !argv[1])
        return list_strategies();
    struct search s = {.cli = cli};
    uint64_t jobs = 0;
    bool schedules_given = false, all = false;
    bool shrink = false, no_shrink = false;
    const char *shard = NULL;
    rn_sim_options *o = &s.options;
    o->schedules = SCHEDULES_DEFAULT;
    o->seed = SEED_DEFAULT;
    o->flags = RN_SIM_QUIET; /* a thousand times over it tells nobody much */
    const struct option options[] = {
        {"schedules", OPTION_NUMBER, &o->schedules, 1, UINT64_MAX,
         &schedules_given},
        {"seconds", OPTION_SECONDS, &o->seconds, 0, 0, NULL},
        {"seed", OPTION_NUMBER, &o->seed, 0, UINT64_MAX, NULL},
        {"strategy", OPTION_TEXT, &o->strategy, 0, 0, NULL},
        {"jobs", OPTION_NUMBER, &jobs, 1, JOBS_MAX, NULL},
        {"steps", OPTION_NUMBER, &s.max_steps, 1, UINT64_MAX, NULL},
        {"leaks-ok", OPTION_FLAG, &s.leaks_ok, 0, 0, NULL},
        {"faults", OPTION_TEXT, &s.faults, 0, 0, NULL},
        {"verify", OPTION_FLAG, &s.verify, 0, 0, NULL},
        {"save", OPTION_TEXT, &s.save, 0, 0, NULL},
        {"shard", OPTION_TEXT, &shard, 0, 0, NULL},
        {"out", OPTION_TEXT, &o->out_path, 0, 0, NULL},
        {"checkpoint", OPTION_TEXT, &o->checkpoint_path, 0, 0, NULL},
        {"resume", OPTION_TEXT, &o->resume_path, 0, 0, NULL},
        {"all", OPTION_FLAG, &all, 0, 0, NULL},
        {"shrink", OPTION_FLAG, &shrink, 0, 0, NULL},
        {"no-shrink", OPTION_FLAG, &no_shrink, 0, 0, NULL},
        {0},
    };
    int status = cli_parse(cli, argv, options, "PROG");
    if (!status)
        status = read_shard(cli, shard, o);
    if (status)
        return status;
    if (!o->checkpoint_path)
        o->checkpoint_path = o->resume_path;
    o->stop = &stop;
    stop_on_signals();
    if ((o->seconds > 0 || ends_by_itself(o->strategy)) && !schedules_given)
        o->schedules = UINT64_MAX;
    if (shrink && no_shrink)
        return cli_fail(cli, "--shrink and --no-shrink contradict each other");
    if (!no_shrink)
        o->flags |= RN_SIM_SHRINK;
    if (all)
        o->flags |= RN_SIM_KEEP_GOING;
    o->jobs = jobs ? (int)jobs : cores();
    return search_and_print(&s);
}

const struct command cmd_check = {
    .name = "check",
    .summary = "search a program's schedules for bugs",
    .help = help,
    .run = check,
};

/* sim/program.c - search a program from outside: start it as servers, hand
 * out schedules, judge how the children end.
 *
 * Which finding is reported does not depend on how many servers there are: of
 * all schedules that fail, the one with the smallest index.
 */
#include <runnel/sim.h>

#include "sim/keep.h"
#include "sim/search.h"
#include "sim/server_link.h"
#include "sim/shrink.h"
#include "sim/sim.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One search. */
struct search {
    const rn_sim_options *options;
    rn_sim_report *report;
    struct rn__link *links;
    int count;
    uint64_t next;  /* index of the next schedule to hand out */
    uint64_t found; /* smallest index that failed; UINT64_MAX: none */
    struct rn__distinct distinct;
    struct rn__choices choices;  /* of the finding */
    struct rn__choices verified; /* of a schedule that is run again */
    bool listed;                 /* choices has them; else the seed must do */
    struct rn__searcher searcher;
    struct rn__shrinker shrinker;
    const struct rn__strategy *found_by;
    uint32_t found_param;
    bool exhausted;  /* there are no more schedules */
    char *told_text; /* of a finding that cannot be told again */
    bool out_of_time;
    rn_time started, told;
    struct rn__keep keep;
    bool pauses; /* hand nothing out: to be saved once all are back */
};

/* ---- judging ------------------------------------------------------------ */

static rn_sim_verdict
judge(const struct rn__response *r)
{
    if (r->timed_out)
        return RN_SIM_HANG;
    if (r->reported && r->verdict != RN_SIM_PASS)
        return r->verdict;
    if (WIFSIGNALED(r->status))
        return RN_SIM_CRASH;
    return WEXITSTATUS(r->status) ? RN_SIM_FAILED : RN_SIM_PASS;
}

static char *
story(const struct rn__response *r, const rn_sim_options *o)
{
    if (r->reported && r->text[0])
        return rn__format("%s", r->text);
    if (r->timed_out)
        return rn__format("hang: the program ran for %.1f s without ending "
                          "the schedule\n",
                          (double)o->max_run_time / 1e9);
    if (WIFSIGNALED(r->status))
        return rn__format("crash: the program was ended by signal %d (%s)\n",
                          WTERMSIG(r->status), strsignal(WTERMSIG(r->status)));
    return rn__format("failed: the program's exit status is %d\n",
                      WEXITSTATUS(r->status));
}

static void
fill(rn_sim_report *report, const struct rn__response *r)
{
    report->verdict = judge(r);
    report->steps = r->steps;
    report->digest = r->digest;
    report->waiting = r->waiting;
    report->diverged = r->diverged;
    report->time = r->time;
    report->faults = r->faults;
}

/* ---- single schedules --------------------------------------------------- */

static int
run_once(struct rn__link *link)
{
    int error = rn__link_go(link);
    return error ? error : rn__link_wait(link);
}

static bool
copy_choices(struct rn__choices *to, struct rn__shared *shared)
{
    to->count = 0;
    if (shared->choice_count == SIZE_MAX)
        return false;
    for (size_t i = 0; i < shared->choice_count; i++)
        if (!rn__choices_add(to, rn__shared_choices(shared)[i]))
            return false;
    return true;
}

/* Make the next run one of these choices; NULL: the random walk of a seed. */
static void
put_repeat(struct rn__link *link, const struct rn__choices *choices,
           uint64_t seed)
{
    struct rn__plan plan = {.seed = seed, .strategy = &rn__strategy_random};
    if (choices) {
        plan.strategy = &rn__strategy_default;
        plan.prefix = *choices;
    }
    rn__link_put(link, &plan);
}

/* Run a finding once more for its text (and trace). */
static int
tell(struct search *s, struct rn__link *link, const char *token, bool listed)
{
    if (!link->shared)
        return -EPIPE;
    struct rn__request *request = &link->shared->request;
    const char *path = s->options->trace_path;
    request->text = true;
    snprintf(request->trace_path, sizeof request->trace_path, "%s",
             path ? path : "");
    snprintf(request->trace_token, sizeof request->trace_token, "%s",
             token ? token : "");
    put_repeat(link, listed ? &s->choices : NULL, s->report->seed);
    int error = run_once(link);
    if (error)
        return error;
    const struct rn__response *r = &link->shared->response;
    s->report->text = story(r, s->options);
    return r->trace_error;
}

/* Run the schedule with its own choices once more and compare. */
static int
verify(struct search *s, struct rn__link *link)
{
    struct rn__request *request = &link->shared->request;
    request->compare = request->text = true;
    request->keep = false;
    put_repeat(link, &s->verified, 0);
    int error = run_once(link);
    request->compare = request->text = false;
    request->keep = true;
    return error;
}

/* ---- the search --------------------------------------------------------- */

static bool
keeps_going(const struct search *s)
{
    return s->options->flags & RN_SIM_KEEP_GOING;
}

static int
hand_out(struct search *s, struct rn__link *link)
{
    const rn_sim_options *o = s->options;
    if (s->next >= o->schedules || (s->next > s->found && !keeps_going(s)) ||
        s->out_of_time || s->exhausted || s->pauses)
        return 0;
    if (s->options->stop && *s->options->stop) {
        s->report->stopped = s->out_of_time = true;
        return 0;
    }
    enum rn__planned planned =
        rn__searcher_plan(&s->searcher, s->next, &link->plan);
    if (planned == RN__PLAN_FAILED)
        return -ENOMEM;
    s->exhausted = planned == RN__PLAN_EXHAUSTED;
    if (planned != RN__PLAN_MADE)
        return 0;
    s->next = rn__keep_next(&s->keep, &s->searcher, s->next + 1);
    rn__link_put(link, &link->plan);
    return rn__link_go(link);
}

/* All that have nothing to do: what one has brought back may be what the plans
 * of others waited for. */
static int
hand_out_all(struct search *s)
{
    for (int i = 0; i < s->count; i++) {
        int error = s->links[i].busy ? 0 : hand_out(s, &s->links[i]);
        if (error)
            return error;
    }
    return 0;
}

/* The schedule of this link is the one to report, for now. */
static void
note_best(struct search *s, struct rn__link *link, bool listed)
{
    const struct rn__response *r = &link->shared->response;
    fill(s->report, r);
    s->report->seed = link->plan.seed;
    s->listed = listed;
    if (judge(r) == RN_SIM_PASS)
        return;
    s->found = link->plan.index;
    s->found_by = link->plan.strategy;
    s->found_param = link->plan.param;
    free(s->told_text);
    s->told_text = NULL;
    if (r->verdict == RN_SIM_NONDETERMINISM && r->reported)
        s->told_text = story(r, s->options);
}

static void
learn(struct search *s, struct rn__link *link)
{
    struct rn__log log;
    rn__link_log(link, &log);
    log.verdict = judge(&link->shared->response);
    rn__searcher_learn(&s->searcher, &link->plan, &log);
}

static void
count(struct search *s, const struct rn__link *link)
{
    const struct rn__response *r = &link->shared->response;
    rn_sim_report *report = s->report;
    report->schedules++;
    report->distinct += rn__distinct_add(&s->distinct, r->digest);
    report->failing += judge(r) != RN_SIM_PASS;
    if (s->keep.on)
        rn__sights_add(&s->keep.part.sights, r->digest, link->plan.index);
}

static int
take_back(struct search *s, struct rn__link *link)
{
    int error = rn__link_wait(link);
    if (error)
        return error;
    const struct rn__response *r = &link->shared->response;
    rn_sim_report *report = s->report;
    if (rn__keep_owns(&s->keep, link->plan.index))
        count(s, link);
    learn(s, link);
    bool better = link->plan.index < s->found;
    if (better && s->options->flags & RN_SIM_VERIFY && r->reported &&
        copy_choices(&s->verified, link->shared) &&
        (error = verify(s, link)) < 0)
        return error;
    if (better && (judge(r) != RN_SIM_PASS || s->found == UINT64_MAX))
        note_best(s, link, copy_choices(&s->choices, link->shared));
    s->out_of_time =
        !rn__search_goes_on(s->options, s->started, &s->told, report);
    s->pauses = rn__keep_is_due(&s->keep, s->options);
    return 0;
}

/* ---- kept in a file ----------------------------------------------------- */

static bool
is_any_out(const struct search *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->links[i].busy)
            return true;
    return false;
}

/* No schedule is out. */
static int
save(struct search *s, const char *path, bool finished)
{
    struct rn__part *part = &s->keep.part;
    struct rn__properties before = part->properties;
    rn_sim_report report = *s->report;
    int error;
    part->next = s->next;
    part->found = s->found;
    part->finished = finished;
    for (int i = 0; i < s->count; i++)
        rn__properties_merge(&part->properties,
                             &s->links[i].shared->properties);
    if (s->found == UINT64_MAX) { /* unseen: for the whole search to say */
        report.verdict = RN_SIM_PASS;
        report.text = NULL;
    }
    if (s->found != UINT64_MAX && !report.token)
        report.token = s->listed ? rn__token_write(&s->choices)
                                 : rn__token_of_seed(report.seed);
    if (s->found != UINT64_MAX && !report.strategy)
        report.strategy = rn__strategy_text(s->found_by, s->found_param);
    error =
        rn__keep_save(&s->keep, path, &s->searcher, &report, &s->report->text);
    if (report.token != s->report->token)
        free(report.token);
    if (report.strategy != s->report->strategy)
        free(report.strategy);
    part->properties = before;
    return error;
}

static int
go_on_saved(struct search *s)
{
    s->pauses = false;
    rn__search_sum_up(&s->searcher, keeps_going(s), s->report);
    int error = save(s, s->options->checkpoint_path, false);
    return error ? error : hand_out_all(s);
}

/* Begin where the file of the options ended. */
static int
take_up(struct search *s, char *const argv[])
{
    const rn_sim_options *o = s->options;
    rn_sim_report *report = s->report;
    const struct rn__part *part = &s->keep.part;
    char *why = NULL;
    bool seeded;
    int error = rn__keep_open(&s->keep, o, &s->searcher, argv, &report->text);
    if (!error && o->resume_path)
        error =
            rn__keep_take(&s->keep, &s->searcher, report, &s->distinct, &why);
    if (why)
        report->text = why;
    if (error || (s->found = part->found) == UINT64_MAX)
        return error;
    error = rn__strategy_find(part->report.strategy, NULL, &s->found_by,
                              &s->found_param, &report->text);
    if (!error)
        error =
            rn__token_read(part->report.token ? part->report.token : "",
                           &s->choices, &seeded, &report->seed, &report->text);
    s->listed = !error && !seeded;
    return error;
}

/* The search is over and told. */
static int
save_end(struct search *s)
{
    const rn_sim_options *o = s->options;
    bool finished = !s->report->stopped;
    int error = 0;
    if (o->checkpoint_path)
        error = save(s, o->checkpoint_path, finished);
    return !error && o->out_path ? save(s, o->out_path, finished) : error;
}

static int
search(struct search *s)
{
    struct pollfd watch[RN__LINKS_MAX];
    int busy = 0, error;
    if ((error = hand_out_all(s)) < 0)
        return error;
    do {
        busy = 0;
        for (int i = 0; i < s->count; i++) {
            watch[i] = (struct pollfd){s->links[i].socket, POLLIN, 0};
            if (!s->links[i].busy)
                watch[i].fd = -1;
            else
                busy++;
        }
        if (busy && poll(watch, (nfds_t)s->count, -1) < 0 && errno != EINTR)
            return -errno;
        for (int i = 0; i < s->count && busy; i++) {
            if (watch[i].fd < 0 || !watch[i].revents)
                continue;
            if ((error = take_back(s, &s->links[i])) < 0 ||
                (error = hand_out_all(s)) < 0)
                return error;
        }
        if (s->pauses && !is_any_out(s) && (error = go_on_saved(s)) < 0)
            return error;
    } while (busy);
    return 0;
}

/* All schedules have passed: what have they seen, all servers taken together?
 */
static void
judge_properties(struct search *s)
{
    struct rn__properties all = s->keep.part.properties;
    for (int i = 0; i < s->count; i++)
        rn__properties_merge(&all, &s->links[i].shared->properties);
    rn__properties_judge(&all, s->report);
}

/* ---- a simpler finding -------------------------------------------------- */

static int
run_plan(void *arg, const struct rn__plan *plan, struct rn__outcome *outcome)
{
    struct search *s = arg;
    struct rn__link *link = &s->links[0];
    struct rn__shared *shared = link->shared;
    const struct rn__response *r = &shared->response;
    shared->request.keep = s->shrinker.records;
    shared->event_count = 0;
    rn__link_put(link, plan);
    int error = run_once(link);
    if (error)
        return error;
    rn__link_log(link, &outcome->log);
    outcome->log.verdict = judge(r);
    outcome->record = (struct rn__record){shared->events, shared->event_count};
    outcome->finding = outcome->log.verdict ? r->finding : 0;
    return 0;
}

/* Put a simpler one in place of the finding; 1: there is one. */
static int
shrink(struct search *s)
{
    struct rn__shrinker *shrinker = &s->shrinker;
    if (!(s->options->flags & RN_SIM_SHRINK) || !s->listed ||
        !rn__can_shrink(s->report->verdict))
        return 0;
    *shrinker = (struct rn__shrinker){
        .run = run_plan, .arg = s, .verdict = s->report->verdict};
    int error = rn__shrink(shrinker, &s->choices);
    if (!error)
        error = rn__shrink_contrast(shrinker);
    s->links[0].shared->request.keep = false;
    if (!error) {
        rn__shrink_sum_up(shrinker, s->report);
        s->links[0].shared->request.contrast = shrinker->contrast;
        free(s->choices.list);
        s->choices = shrinker->choices;
        shrinker->choices = (struct rn__choices){NULL, 0, 0};
    }
    rn__shrink_fini(shrinker);
    if (error == -ENOENT)
        return 0;
    return error ? error : 1;
}

static int
tell_shrunk(struct search *s)
{
    rn_sim_report *report = s->report;
    int error = tell(s, &s->links[0], report->token, true);
    if (error)
        return error;
    const struct rn__response *r = &s->links[0].shared->response;
    fill(report, r);
    if (r->contrast[0])
        report->contrast = rn__format("%s", r->contrast);
    return 0;
}

static int
finish(struct search *s)
{
    rn_sim_report *report = s->report;
    struct rn__link *link = &s->links[0];
    if (s->found == UINT64_MAX) {
        int error = s->options->trace_path ? tell(s, link, NULL, s->listed) : 0;
        free(report->text);
        report->text = NULL;
        rn__search_sum_up(&s->searcher, keeps_going(s), report);
        report->strategy =
            rn__strategy_text(s->searcher.strategy, s->searcher.param);
        if (s->options->schedules != 1 && s->keep.part.shards == 1 &&
            !report->stopped)
            judge_properties(s);
        return error;
    }
    rn__search_sum_up(&s->searcher, keeps_going(s), report);
    report->strategy = rn__strategy_text(s->found_by, s->found_param);
    /* What other servers ran beyond it does not count. */
    if (!keeps_going(s) && s->keep.part.shards == 1)
        report->schedules = s->found + 1;
    if (report->distinct > report->schedules)
        report->distinct = report->schedules;
    int shrunk = shrink(s);
    if (shrunk < 0)
        return shrunk;
    report->token = s->listed ? rn__token_write(&s->choices)
                              : rn__token_of_seed(report->seed);
    if (s->told_text) {
        report->text = s->told_text;
        s->told_text = NULL;
        return 0;
    }
    return shrunk ? tell_shrunk(s) : tell(s, link, report->token, s->listed);
}

/* Repeat the one schedule of a token. */
static int
repeat(struct search *s, bool seeded, uint64_t seed)
{
    struct rn__link *link = &s->links[0];
    bool verifies = s->options->flags & RN_SIM_VERIFY;
    s->report->seed = seed;
    int error = tell(s, link, s->options->token, !seeded);
    if (!error && verifies && copy_choices(&s->verified, link->shared) &&
        (error = verify(s, link)) == 0 &&
        link->shared->response.verdict == RN_SIM_NONDETERMINISM) {
        free(s->report->text);
        s->report->text = story(&link->shared->response, s->options);
    }
    if (error)
        return error;
    const struct rn__response *r = &link->shared->response;
    s->report->schedules = s->report->distinct = 1;
    fill(s->report, r);
    if (s->report->verdict == RN_SIM_PASS) {
        free(s->report->text);
        s->report->text = NULL;
        return 0;
    }
    s->listed = copy_choices(&s->choices, link->shared);
    int shrunk = shrink(s);
    if (shrunk <= 0) {
        s->report->token = rn__format("%s", s->options->token);
        return shrunk;
    }
    free(s->report->text);
    s->report->text = NULL;
    s->report->token = rn__token_write(&s->choices);
    return tell_shrunk(s);
}

static int
run(struct search *s, char *const argv[])
{
    const rn_sim_options *o = s->options;
    bool seeded = false, single = o->token || o->schedules == 1;
    uint64_t seed = o->seed;
    int error = 0;
    if (o->token && (error = rn__token_read(o->token, &s->choices, &seeded,
                                            &seed, &s->report->text)) < 0)
        return error;
    error = rn__search_open(&s->searcher, o, single, &s->report->text);
    if (error)
        return error;
    if ((error = take_up(s, argv)) < 0)
        return error;
    int wanted = single ? 1 : o->jobs;
    for (; s->count < wanted; s->count++) {
        error = rn__link_open(&s->links[s->count], o, argv, &s->report->text);
        if (error)
            return error;
        s->links[s->count].shared->request.keep = o->flags & RN_SIM_VERIFY;
    }
    if (o->token)
        return repeat(s, seeded, seed);
    s->next = rn__keep_next(&s->keep, &s->searcher, 0);
    error = search(s);
    if (!error)
        error = finish(s);
    return error ? error : save_end(s);
}

int
rn_sim_program(const rn_sim_options *options, char *const argv[],
               rn_sim_report *report)
{
    rn_sim_options resolved;
    memset(report, 0, sizeof *report);
    report->bound = report->preemptions = report->deviations = -1;
    int error = rn__sim_options_resolve(&resolved, options, &report->text);
    if (error)
        return error;
    struct search s = {
        .options = &resolved, .report = report, .found = UINT64_MAX};
    s.started = s.told = rn__os_now();
    s.links = calloc((size_t)resolved.jobs, sizeof *s.links);
    error = s.links ? run(&s, argv) : -ENOMEM;
    if (error && !report->text)
        report->text = rn__format("%s: %s", argv[0], strerror(-error));
    for (int i = 0; i < s.count; i++)
        rn__link_close(&s.links[i]);
    report->seconds = (double)(rn__os_now() - s.started) / 1e9;
    rn__searcher_close(&s.searcher);
    rn__keep_close(&s.keep);
    free(s.told_text);
    free(s.links);
    free(s.distinct.slots);
    free(s.choices.list);
    free(s.verified.list);
    return error;
}

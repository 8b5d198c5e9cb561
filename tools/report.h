/* tools/report.h - how check and replay say what they found. */
#ifndef REPORT_H
#define REPORT_H

#include "cli.h"

/* What check and replay have in common. */
struct search {
    const struct cli *cli;
    char *program; /* its path, owned */
    rn_sim_options options;
    uint64_t max_steps;
    bool leaks_ok;
    const char *faults; /* as given; NULL: none */
    bool verify;
    const char *save; /* trace file; NULL: none */
    rn_sim_report report;
    const char *trace_json; /* member "trace" of the JSON; NULL: none */
};

/* Check the program and call rn_sim_program. 0, or CLI_USAGE after having said
 * why not. search_fini is to be called in any case. */
int search_run(struct search *search);
void search_fini(struct search *search);

/* The command line that repeats the report, from malloc; NULL: there is
 * nothing to repeat. A token too long for a line goes to a file. */
char *search_repeat(const struct search *search);

/* Print what shrinking has come to, and the report as text. */
void search_print_shrunk(const rn_sim_report *r);
void search_print(const struct search *search, const char *repeat);

/* What a part keeps of the line that repeats a finding, from malloc: the
 * program, the search's seed, and what follows the token. */
char *search_command(const struct search *search);

/* Print the report as one JSON object. */
void search_json(const struct search *search, const char *repeat);

/* The exit status. */
int search_status(const struct search *search);

#endif

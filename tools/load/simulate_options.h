/* The options of `starling-load simulate`. */
#pragma once

#include "cli/cli.h"

enum { SIMULATE_URLS_MAX = 64, SIMULATE_ENDS_MAX = 64 };

struct simulate_urls {
    char *text;
    const char *items[SIMULATE_URLS_MAX];
    size_t count;
};

struct simulate_options {
    const char *map;           /* file; not NULL: it is written, and nothing else is wanted or checked */
    const char *trace, *graph; /* files; NULL: none */
    bool no_setup, no_phones;
    int64_t from_s;
    /* Rising: the trace stops at each for a look at the screens, and ends at the last. */
    int64_t ends_s[SIMULATE_ENDS_MAX];
    int end_count;
    double factor;  /* how much faster than it happened; 0: as fast as possible */
    int64_t people; /* of the city; 0: no city */
    int64_t seed, every_ms, duration_s;
    double churn;                                /* share of the city's phones that hang up in a minute */
    int64_t rounds;                              /* in which every phone repeats its place at the end */
    const char *settle_while, *wait_for, *lists; /* files; NULL: not given */
    struct simulate_urls ws, http;
    /* People in the feed. */
    bool social; /* they use the feed */
    int64_t authors;
    double posts, follows, reads, comments; /* a second */
    bool check;
    int64_t margin_us, patience_us, fire_us;
    const char *feed; /* file; NULL: not given */
};

/* Opens `cli` for the command with its options and checks them. As cli_open; after 0 the caller frees the
 * options. */
int simulate_options_open(struct simulate_options *options, struct cli *cli, const struct cli_command *command,
                          int argc, char **argv);
void simulate_options_free(struct simulate_options *options);

/* The options of `starling simulate`. */
#ifndef CLI_SIMULATE_OPTIONS_H
#define CLI_SIMULATE_OPTIONS_H

#include "cli/cli.h"

enum { SIMULATE_URLS_MAX = 64, SIMULATE_ENDS_MAX = 64 };

struct simulate_urls {
    char *text;
    const char *items[SIMULATE_URLS_MAX];
    size_t count;
};

struct simulate_options {
    const char *trace, *graph; /* files; NULL: none */
    bool no_setup, no_phones;
    int64_t from_s,
        ends_s
            [SIMULATE_ENDS_MAX]; /* ends: where the trace stops for a look at the screens, rising; the last one ends it */
    int end_count;
    double factor;  /* how much faster than it happened; 0: as fast as possible */
    int64_t people; /* of the city; 0: there is none */
    int64_t seed, every_ms, duration_s;
    int64_t rounds;                              /* in which every phone repeats its place at the end */
    const char *settle_while, *wait_for, *lists; /* files; NULL: not given */
    struct simulate_urls ws, http;
    /* What people do in the feed. */
    bool social; /* anything at all */
    int64_t authors;
    double posts, follows, reads; /* a second */
    bool check;
    int64_t margin_us, patience_us;
    const char *feed; /* file; NULL: not given */
};

/* Opens `cli` with the command's options and checks them. As cli_open: 0, or the exit code after the reason was said; *done: there was
 * only --help to print. With 0 and !*done both are to be freed. */
int simulate_options_open(struct simulate_options *options, struct cli *cli, int argc, char **argv, bool *done);
void simulate_options_free(struct simulate_options *options);

#endif

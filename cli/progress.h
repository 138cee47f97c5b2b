/* Shows the progress of a long job on standard error: a line rewritten in place on a terminal, else a line every few seconds. One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress_meter {
    const char *command; /* "graph" */
    int64_t started_us, shown_us;
    bool terminal;
    bool open;    /* a line stands on the terminal that is not ended */
    double begun; /* the share that was done already when it started */
};

void progress_start(struct progress_meter *progress, const char *command);

/* Is it time to show something again? */
bool progress_due(const struct progress_meter *progress);
/* "starling graph: 12345 friendships sent, 6172/s". */
void progress_show(struct progress_meter *progress, int64_t done, const char *what);
/* The same where the share of the whole is known (0 to 1), with a bar on a terminal: "starling graph: [####------] 41% 12345
 * friendships sent, 6172/s, 2 s left". Work from before the rate is counted: progress->begun. */
void progress_bar(struct progress_meter *progress, double share, int64_t done, const char *what);
/* Shows it a last time, and ends the line. */
void progress_end(struct progress_meter *progress, int64_t done, const char *what);

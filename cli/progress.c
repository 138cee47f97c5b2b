#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { TERMINAL_US = 200000, FILE_US = 5000000 };

void progress_start(struct progress *progress, const char *command) {
    int64_t now = clock_monotonic_us();
    *progress = (struct progress){
        .command = command,
        .started_us = now,
        .shown_us = now,
        .terminal = isatty(STDERR_FILENO),
        .open = false,
    };
}

bool progress_due(const struct progress *progress) {
    return clock_monotonic_us() - progress->shown_us >= (progress->terminal ? TERMINAL_US : FILE_US);
}

void progress_show(struct progress *progress, int64_t done, const char *what) {
    int64_t now = clock_monotonic_us(), took = now - progress->started_us;
    fprintf(stderr, "%sstarling %s: %" PRId64 " %s, %.0f/s%s", progress->terminal ? "\r" : "", progress->command, done,
            what, took > 0 ? (double)done * 1e6 / (double)took : 0.0, progress->terminal ? "\x1b[K" : "\n");
    progress->shown_us = now;
    progress->open = progress->terminal;
}

void progress_end(struct progress *progress, int64_t done, const char *what) {
    progress_show(progress, done, what);
    if (progress->open) fputc('\n', stderr);
    progress->open = false;
}

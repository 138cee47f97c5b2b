#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { TERMINAL_US = 200000, FILE_US = 5000000, BAR = 24 };

void progress_start(struct progress_meter *progress, const char *command) {
    int64_t now = clock_monotonic_us();
    *progress = (struct progress_meter){
        .command = command,
        .started_us = now,
        .shown_us = now,
        .terminal = isatty(STDERR_FILENO),
    };
}

bool progress_due(const struct progress_meter *progress) {
    return clock_monotonic_us() - progress->shown_us >= (progress->terminal ? TERMINAL_US : FILE_US);
}

static void line_start(struct progress_meter *progress) {
    fprintf(stderr, "%sstarling %s: ", progress->terminal ? "\r" : "", progress->command);
}

static void line_end(struct progress_meter *progress, int64_t now) {
    fputs(progress->terminal ? "\x1b[K" : "\n", stderr);
    progress->shown_us = now;
    progress->open = progress->terminal;
}

static double per_second(int64_t done, int64_t took_us) {
    return took_us > 0 ? (double)done * 1e6 / (double)took_us : 0.0;
}

void progress_show(struct progress_meter *progress, int64_t done, const char *what) {
    int64_t now = clock_monotonic_us(), took = now - progress->started_us;
    line_start(progress);
    fprintf(stderr, "%" PRId64 " %s, %.0f/s", done, what, per_second(done, took));
    line_end(progress, now);
}

/* "45 s", "12 min", "3 h 20 min" */
static void print_left(double seconds) {
    int64_t s = (int64_t)(seconds + 0.5);
    if (s < 100)
        fprintf(stderr, ", %" PRId64 " s left", s);
    else if (s < 6000)
        fprintf(stderr, ", %" PRId64 " min left", (s + 30) / 60);
    else
        fprintf(stderr, ", %" PRId64 " h %" PRId64 " min left", s / 3600, s % 3600 / 60);
}

void progress_bar(struct progress_meter *progress, double share, int64_t done, const char *what) {
    int64_t now = clock_monotonic_us(), took = now - progress->started_us;
    line_start(progress);
    if (progress->terminal) {
        char bar[BAR + 1] = {0};
        for (int i = 0; i < BAR; i++) bar[i] = i < (int)(share * BAR) ? '#' : '-';
        fprintf(stderr, "[%s] ", bar);
    }
    fprintf(stderr, "%d%%, %" PRId64 " %s, %.0f/s", (int)(share * 100), done, what, per_second(done, took));
    double grown = share - progress->begun;
    if (grown > 0 && share < 1) print_left((double)took / 1e6 * (1 - share) / grown);
    line_end(progress, now);
}

void progress_end(struct progress_meter *progress, int64_t done, const char *what) {
    progress_show(progress, done, what);
    if (progress->open) fputc('\n', stderr);
    progress->open = false;
}

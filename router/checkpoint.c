#include "router/checkpoint.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

static const char PREFIX[] = "checkpoint-";

struct checkpoints {
    struct checkpoints_options options;
    struct graph *graph;
    char *folder;
    int64_t due_ms; /* 0: not known yet */

    bool busy; /* the rest is the worker's while it is */
    int64_t begun_ms, took_us;
    int code, swept;
    struct error error, sweep_error;
};

/* ---- the folder ---- */

static char *path_of(const char *folder, int64_t time) { return mem_format("%s/%s%013" PRId64, folder, PREFIX, time); }

static int later_first(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* The times of those that are whole, the newest first; caller frees. Calls rest for what is not whole. */
static int64_t *list(const char *folder, size_t *count, void (*rest)(void *context, const char *path), void *context) {
    DIR *dir = opendir(folder);
    int64_t *times = NULL;
    size_t found = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1)) continue;
        const char *digits = entry->d_name + sizeof PREFIX - 1;
        char *end;
        int64_t time = strtoll(digits, &end, 10);
        if (end == digits) continue;
        if (*end == '.' && rest) {
            char *path = mem_format("%s/%s", folder, entry->d_name);
            rest(context, path);
            free(path);
        }
        if (*end) continue;
        times = mem_resize(times, found + 1, sizeof *times);
        times[found++] = time;
    }
    if (dir) closedir(dir);
    if (found) qsort(times, found, sizeof *times, later_first);
    *count = found;
    return times;
}

/* ---- starting from one ---- */

int checkpoints_open_graph(const struct checkpoints_options *options, const struct graph_options *graph_options,
                           struct graph **graph, struct error *error) {
    if (!*options->folder || store_exists(graph_options->path)) return graph_open(graph_options, graph, error);
    size_t count;
    int64_t now = clock_wall_ms(), *times = list(options->folder, &count, NULL, NULL);
    int code = -1;
    for (size_t i = 0; code && i < count && now - times[i] <= graph_options->max_age_ms; i++) {
        char *path = path_of(options->folder, times[i]);
        struct error reason;
        code = store_clone(path, graph_options->path, &reason);
        if (!code) code = graph_open(graph_options, graph, &reason);
        if (!code)
            log_info(options->log, "friend lists begin with a checkpoint", LOG_TEXT("checkpoint", path),
                     LOG_INT("age_s", (now - times[i]) / 1000));
        else
            log_warn(options->log, "a checkpoint cannot be used", LOG_TEXT("checkpoint", path),
                     LOG_TEXT("reason", reason.text));
        free(path);
        if (code && store_remove(graph_options->path, error)) break;
    }
    free(times);
    return code ? graph_open(graph_options, graph, error) : 0;
}

/* ---- making them ---- */

struct checkpoints *checkpoints_new(const struct checkpoints_options *options, struct graph *graph) {
    struct checkpoints *checkpoints = mem_alloc(sizeof *checkpoints);
    *checkpoints = (struct checkpoints){
        .options = *options,
        .graph = graph,
        .folder = mem_string(options->folder),
        .due_ms = 0,
    };
    checkpoints->options.folder = checkpoints->folder;
    return checkpoints;
}

void checkpoints_free(struct checkpoints *checkpoints) {
    if (!checkpoints) return;
    free(checkpoints->folder);
    free(checkpoints);
}

bool checkpoints_busy(const struct checkpoints *checkpoints) { return checkpoints && checkpoints->busy; }

static void sweep_one(void *context, const char *path) {
    struct checkpoints *checkpoints = context;
    if (store_remove(path, &checkpoints->sweep_error)) checkpoints->swept = -1;
}

static void make_work(void *context) {
    struct checkpoints *checkpoints = context;
    int64_t before = clock_monotonic_us();
    char *path = path_of(checkpoints->folder, checkpoints->begun_ms);
    size_t count;
    checkpoints->swept = 0;
    checkpoints->code = graph_checkpoint(checkpoints->graph, path, &checkpoints->error);
    checkpoints->took_us = clock_monotonic_us() - before;
    int64_t *times = list(checkpoints->folder, &count, sweep_one, checkpoints);
    for (size_t i = checkpoints->options.keep; !checkpoints->code && i < count; i++) {
        char *old = path_of(checkpoints->folder, times[i]);
        sweep_one(checkpoints, old);
        free(old);
    }
    free(times);
    free(path);
}

static void make_done(void *context) {
    struct checkpoints *checkpoints = context;
    struct router_metrics *metrics = checkpoints->options.metrics;
    struct log *log = checkpoints->options.log;
    checkpoints->busy = false;
    if (checkpoints->swept)
        log_warn(log, "an old checkpoint cannot be deleted", LOG_TEXT("reason", checkpoints->sweep_error.text));
    if (checkpoints->code) {
        metrics->checkpoints_failed->value++;
        log_warn(log, "no checkpoint could be made", LOG_TEXT("reason", checkpoints->error.text));
        return;
    }
    metrics->checkpoints->value++;
    metrics->checkpoint_time->value = (double)checkpoints->begun_ms / 1000;
    metrics->checkpoint_duration->value = (double)checkpoints->took_us / 1e6;
    log_info(log, "checkpoint made", LOG_INT("ms", checkpoints->took_us / 1000));
}

/* The next one is due a period after the last one, whoever made it: restarts make neither more nor fewer. */
static int64_t first_due(const struct checkpoints *checkpoints, int64_t now_ms) {
    size_t count;
    int64_t *times = list(checkpoints->folder, &count, NULL, NULL);
    int64_t due = count && times[0] <= now_ms ? times[0] + checkpoints->options.every_ms : now_ms;
    free(times);
    return due;
}

void checkpoints_second(struct checkpoints *checkpoints, bool whole, int64_t now_ms) {
    if (!*checkpoints->folder || checkpoints->busy || !whole) return;
    if (!checkpoints->due_ms) checkpoints->due_ms = first_due(checkpoints, now_ms);
    if (now_ms < checkpoints->due_ms) return;
    checkpoints->due_ms = now_ms + checkpoints->options.every_ms;
    checkpoints->begun_ms = now_ms;
    checkpoints->busy = true;
    loop_work(checkpoints->options.loop, make_work, make_done, checkpoints);
}

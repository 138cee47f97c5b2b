#include "owner/checkpoints.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum { TELL_MS = 2000 };

static const char PREFIX[] = "checkpoint-";

struct checkpoints {
    struct checkpoints_options options;
    struct metric *made, *failed, *newest_time, *duration;
    char *folder, *path;
    int64_t due_ms; /* 0: not known yet */

    /* While the store is being opened: */
    int64_t *times; /* of checkpoints, the newest first */
    size_t count, at;
    int64_t begun_us;
    struct store_progress progress;
    struct loop_timer *telling;

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

/* The times of the complete checkpoints, the newest first; the caller frees them. Calls rest for incomplete ones. */
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

static char *copied_path(const struct checkpoints *checkpoints) {
    return path_of(checkpoints->folder, checkpoints->times[checkpoints->at]);
}

static void copy_work(void *context) {
    struct checkpoints *checkpoints = context;
    char *from = copied_path(checkpoints);
    checkpoints->code = store_clone(from, checkpoints->path, &checkpoints->progress, &checkpoints->error);
    checkpoints->took_us = clock_monotonic_us() - checkpoints->begun_us;
    free(from);
}

static void copy_tell(void *context) {
    struct checkpoints *checkpoints = context;
    char *from = copied_path(checkpoints);
    log_info(checkpoints->options.log, "a checkpoint is being copied", LOG_TEXT("checkpoint", from),
             LOG_INT("mib", (int64_t)(checkpoints->progress.bytes >> 20)),
             LOG_INT("of_mib", (int64_t)(checkpoints->progress.total >> 20)));
    free(from);
}

static void copy_done(void *context);

/* The next one that may be used. False: there is none. */
static bool copy_next(struct checkpoints *checkpoints) {
    int64_t now = clock_wall_ms();
    if (checkpoints->at == checkpoints->count || store_exists(checkpoints->path)) return false;
    if (now - checkpoints->times[checkpoints->at] > checkpoints->options.max_age_ms) return false;
    checkpoints->progress.bytes = checkpoints->progress.total = 0;
    checkpoints->begun_us = clock_monotonic_us();
    checkpoints->busy = true;
    checkpoints->telling = loop_timer_new(checkpoints->options.loop, TELL_MS, TELL_MS, copy_tell, checkpoints);
    loop_work(checkpoints->options.loop, copy_work, copy_done, checkpoints);
    return true;
}

static int open_store(struct checkpoints *checkpoints, struct error *error) {
    return checkpoints->options.open(checkpoints->options.context, error);
}

static int use_copy(struct checkpoints *checkpoints) {
    char *from = copied_path(checkpoints);
    int code = checkpoints->code;
    if (!code) code = open_store(checkpoints, &checkpoints->error);
    if (!code)
        log_info(checkpoints->options.log, "the store begins with a checkpoint", LOG_TEXT("checkpoint", from),
                 LOG_INT("age_s", (clock_wall_ms() - checkpoints->times[checkpoints->at]) / 1000),
                 LOG_INT("ms", checkpoints->took_us / 1000));
    else if (code != -ECANCELED)
        log_warn(checkpoints->options.log, "a checkpoint cannot be used", LOG_TEXT("checkpoint", from),
                 LOG_TEXT("reason", checkpoints->error.text));
    free(from);
    return code;
}

static void copy_done(void *context) {
    struct checkpoints *checkpoints = context;
    checkpoints->busy = false;
    loop_timer_free(checkpoints->telling);
    checkpoints->telling = NULL;
    int code = use_copy(checkpoints);
    if (code && code != -ECANCELED) {
        // An incomplete copy leaves nothing behind; a store that another process has put there meanwhile, and opened, is not ours.
        bool ours = !checkpoints->code && code != -EBUSY;
        checkpoints->at++;
        code = ours ? store_remove(checkpoints->path, &checkpoints->error) : 0;
        if (!code && copy_next(checkpoints)) return;
        if (!code) code = open_store(checkpoints, &checkpoints->error);
    }
    checkpoints->options.on_opened(checkpoints->options.context, code, &checkpoints->error);
}

int checkpoints_open(struct checkpoints *checkpoints, struct error *error) {
    if (*checkpoints->folder && !store_exists(checkpoints->path)) {
        checkpoints->times = list(checkpoints->folder, &checkpoints->count, NULL, NULL);
        if (copy_next(checkpoints)) return 1;
    }
    return open_store(checkpoints, error);
}

void checkpoints_stop(struct checkpoints *checkpoints) { checkpoints->progress.cancelled = true; }

/* ---- making them ---- */

static void make_metrics(struct checkpoints *checkpoints) {
    const struct checkpoints_options *options = &checkpoints->options;
    struct metrics *metrics = options->metrics;
    const char *total = "checkpoints_total", *help = "Checkpoints of the store, by result";
    checkpoints->made = metrics_prefixed(metrics, metrics_counter, options->prefix, total, help, "result=\"made\"");
    checkpoints->failed = metrics_prefixed(metrics, metrics_counter, options->prefix, total, help, "result=\"failed\"");
    checkpoints->newest_time =
        metrics_prefixed(metrics, metrics_gauge_unknown, options->prefix, "checkpoint_timestamp_seconds",
                         "When the newest checkpoint of this process was made", NULL);
    checkpoints->duration =
        metrics_prefixed(metrics, metrics_gauge_unknown, options->prefix, "checkpoint_duration_seconds",
                         "How long the newest checkpoint took", NULL);
}

struct checkpoints *checkpoints_new(const struct checkpoints_options *options) {
    struct checkpoints *checkpoints = MEM_NEW(&(struct checkpoints){
        .options = *options,
        .folder = mem_string(options->folder),
        .path = mem_string(options->path),
    });
    checkpoints->options.folder = checkpoints->folder;
    checkpoints->options.path = checkpoints->path;
    make_metrics(checkpoints);
    return checkpoints;
}

void checkpoints_free(struct checkpoints *checkpoints) {
    if (!checkpoints) return;
    free(checkpoints->folder);
    free(checkpoints->path);
    free(checkpoints->times);
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
    checkpoints->code = checkpoints->options.make(checkpoints->options.context, path, &checkpoints->error);
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
    struct log *log = checkpoints->options.log;
    checkpoints->busy = false;
    if (checkpoints->swept)
        log_warn(log, "an old checkpoint cannot be deleted", LOG_TEXT("reason", checkpoints->sweep_error.text));
    if (checkpoints->code) {
        checkpoints->failed->value++;
        log_warn(log, "no checkpoint could be made", LOG_TEXT("reason", checkpoints->error.text));
        return;
    }
    checkpoints->made->value++;
    checkpoints->newest_time->value = (double)checkpoints->begun_ms / 1000;
    checkpoints->duration->value = (double)checkpoints->took_us / 1e6;
    log_info(log, "checkpoint made", LOG_INT("ms", checkpoints->took_us / 1000));
}

/* The next checkpoint is due one period after the last one, whichever process made it: restarts make neither more nor fewer. */
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

/* The passes over the files of owned partitions. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "history-sink/wiping_private.h"

enum {
    JOB_S = 10, /* then merging may have the thread */
    REST = 3,   /* a pass is followed by a pause so many times as long as it took */
    REST_MOST_S = 600,
    AGAIN_S = 30,       /* after a failure */
    TAKEN_OVER_S = 600, /* no call of the owner before to the storage, repeated as it may be, takes that long */
    LOG_EVERY_S = 10,
    SECOND_US = 1000000
};

bool wiping_busy(const struct wiping *wiping) { return wiping->job.busy; }

void wiping_revoked(struct wiping *wiping) { atomic_store(&wiping->job.stop, true); }

void wiping_files_learnt(struct wiping *wiping, struct sink_partition *partition, const struct wipe_user *who) {
    struct wiping_partition *of = &wiping->partitions[partition->id];
    if (partition->open) segment_wipe(partition->open, who->user, who->before);
    of->cover = partition->on_their_way ? partition->chain.end : 0;
    of->cover_number = partition->number;
    of->again_us = 0;
}

/* ---- a job ---- */

static void work(void *context) {
    struct wiping_job *job = context;
    job->code = wipe_files(&job->options, job->partition, &job->position, &job->done, &job->error);
}

static void tell(struct wiping *wiping, const struct wiping_job *job) {
    struct sink_metrics *metrics = &wiping->sink->metrics;
    struct log *log = service_log(wiping->sink->service);
    metrics->wiped_files->value += (double)job->done.files;
    metrics->wiped_file_rows->value += (double)job->done.rows;
    if (job->done.files)
        log_info(log, "rows of forgotten users were taken out of files", LOG_INT("partition", job->partition),
                 LOG_INT("files", job->done.files), LOG_INT("rows", job->done.rows));
    bool failed = job->done.failures || (job->code < 0 && job->code != -ECANCELED);
    metrics->wipe_failures->value += failed;
    if (failed && log_due(&wiping->warn_due_us, LOG_EVERY_S))
        log_warn(log, "rows of forgotten users could not be taken out of files", LOG_INT("partition", job->partition),
                 LOG_TEXT("reason", job->error.text), LOG_INT("again_in_s", AGAIN_S));
}

/* A pass has seen all files. */
static void pass_over(struct wiping *wiping, struct wiping_partition *of, int32_t id) {
    struct error error;
    int64_t settled_us = wiping->assigned_us + (int64_t)TAKEN_OVER_S * SECOND_US;
    if (of->position.unclean) {
        of->again_us = clock_monotonic_us() + (int64_t)AGAIN_S * SECOND_US;
    } else if (of->pass_began_us < settled_us) {
        if (wiped_learnt(wiping->wiped, id) == of->pass_to) of->again_us = settled_us;
    } else {
        of->mark.files = of->pass_to;
        wiped_drop(wiping->wiped, id, of->mark.files < of->mark.store ? of->mark.files : of->mark.store);
        sink_write(wiping->sink);
        if (rows_put_wiped_mark(wiping->sink->rows, id, of->mark, &error))
            service_fail(wiping->sink->service, error.text);
    }
}

static void worked(void *context) {
    struct wiping_job *job = context;
    struct wiping *wiping = (struct wiping *)((char *)context - offsetof(struct wiping, job));
    struct wiping_partition *of = &wiping->partitions[job->partition];
    int64_t now = clock_monotonic_us();
    job->busy = false;
    tell(wiping, job);
    of->position = job->position;
    bool owned = of->assignment == wiping->sink->assignment && sink_find(wiping->sink, job->partition);
    if (job->code > 0 && owned) return; // it goes on
    if (job->code == 0 && owned) pass_over(wiping, of, job->partition);
    if (job->code < 0) of->again_us = now + (job->code == -ECANCELED ? 0 : (int64_t)AGAIN_S * SECOND_US);
    int64_t rest_us = REST * (now - of->pass_began_us), most_us = (int64_t)REST_MOST_S * SECOND_US;
    wiping->rest_until_us = now + (rest_us < most_us ? rest_us : most_us);
    of->pass_to = 0;
}

/* ---- what is due ---- */

static bool is_due(struct wiping *wiping, const struct sink_partition *partition, int64_t now) {
    const struct wiping_partition *of = &wiping->partitions[partition->id];
    if (partition->state != PARTITION_READING) return false;
    if (of->pass_to) return true;
    if (!wiped_next(wiping->wiped, (int32_t)partition->id, of->mark.files)) return false;
    if (of->again_us > now || wiping->rest_until_us > now) return false;
    return of->cover_number != partition->number || partition->published.end >= of->cover;
}

static struct sink_partition *next_due(struct wiping *wiping, int64_t now) {
    struct sink *sink = wiping->sink;
    struct sink_partition *first = NULL;
    for (size_t i = 0; i < sink->count; i++) {
        struct sink_partition *partition = &sink->partitions[i];
        if (!is_due(wiping, partition, now)) continue;
        if (partition->id > wiping->last) return partition;
        if (!first) first = partition;
    }
    return first;
}

/* A pass that the last job was to go on with, or a new one. */
static void begin(struct wiping *wiping, const struct sink_partition *partition, int64_t now) {
    struct wiping_partition *of = &wiping->partitions[partition->id];
    if (of->pass_to && of->assignment == wiping->sink->assignment) return;
    of->position = (struct wipe_position){.merged = false, .from = 0, .unclean = false};
    of->pass_to = wiped_learnt(wiping->wiped, (int32_t)partition->id);
    of->assignment = wiping->sink->assignment;
    of->pass_began_us = now;
}

static void run(struct wiping *wiping, const struct sink_partition *partition, int64_t now) {
    struct wiping_job *job = &wiping->job;
    struct wiping_partition *of = &wiping->partitions[partition->id];
    begin(wiping, partition, now);
    free(job->users);
    job->partition = wiping->last = (int32_t)partition->id;
    job->users = wiped_users(wiping->wiped, job->partition, of->mark.files, &job->count);
    job->position = of->position;
    job->done = (struct wipe_done){.files = 0};
    job->options = (struct wipe_options){
        .storage = wiping->storage,
        .stop = &job->stop,
        .users = job->users,
        .count = job->count,
        .until_us = now + (int64_t)JOB_S * SECOND_US,
    };
    atomic_store(&job->stop, false);
    job->busy = true;
    worker_run(wiping->worker, work, worked, job);
}

void wiping_files_tick(struct wiping *wiping) {
    struct sink *sink = wiping->sink;
    int64_t now = clock_monotonic_us();
    if (wiping->assignment != sink->assignment) {
        wiping->assignment = sink->assignment;
        wiping->assigned_us = now;
    }
    if (wiping->job.busy || !sink->assigned || sink->draining) return;
    const struct sink_partition *due = next_due(wiping, now);
    if (due) run(wiping, due, now);
}

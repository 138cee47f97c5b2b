#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comments/comments_private.h"
#include "decider/identity.h"
#include "event/programs.h"
#include "event/topics.h"
#include "ids/ids.h"

enum { SECOND_MS = 1000, TENTH_MS = 100, HOUR_MS = 3600000, STATE_BATCH = 4000 };
enum { QUEUED = 250000, QUEUED_BYTES = 32 << 20 /* commands that are read ahead */ };

static const char *const CONDITIONS[] = {"bans", "assigned", "restored", NULL};

void comments_failed(void *context, const char *doing, const struct error *error) {
    struct comments *comments = context;
    log_error(service_log(comments->service), doing, LOG_TEXT("reason", error->text));
    service_fail(comments->service, doing);
}

/* ---- calls between the parts ---- */

static void commands_decided(void *context) {
    struct comments *comments = context;
    if (comments->owner) owner_progress(comments->owner);
}

static void commands_lost(void *context) {
    struct comments *comments = context;
    if (comments->owner) owner_commands_lost(comments->owner);
}

static void damaged(void *context, int32_t partition, const struct error *error) {
    comment_states_damaged(((struct comments *)context)->states, partition, error);
}

static void state_changed(void *context) {
    struct comments *comments = context;
    if (comments->replies) comment_replies_look_again(comments->replies);
}

/* ---- timers, metrics ---- */

static void each_second(void *context) {
    struct comments *comments = context;
    owner_second(comments->owner);
    comment_states_second(comments->states);
    checkpoints_second(comments->checkpoints, owner_restored(comments->owner), clock_wall_ms());
    thread_watches_second(comments->watches);
}

static void each_tenth(void *context) {
    struct comments *comments = context;
    owner_tenth(comments->owner);
    comment_replies_look_again(comments->replies);
    service_ready(comments->service, "assigned", owner_was_assigned(comments->owner));
    service_ready(comments->service, "restored", owner_ready(comments->owner));
}

static void collect(void *context) {
    struct comments *comments = context;
    struct store_usage usage = store_usage(comments->store);
    comments->metrics.cache->value = (double)usage.block_cache;
    comments->metrics.files->value = (double)usage.sst_files;
}

static void start_metrics(struct comments *comments) {
    struct metrics *m = service_metrics(comments->service);
    comments->metrics.cache =
        metrics_gauge(m, "starling_comments_store_cache_bytes", "Block cache of the store.", NULL);
    comments->metrics.files = metrics_gauge(m, "starling_comments_store_disk_bytes", "The store on the disk.", NULL);
    metrics_on_collect(m, collect, comments);
}

/* ---- the parts ---- */

static int open_kafka(struct comments *comments, struct error *error) {
    struct copy_definition bans = bans_copy(comments->bans);
    int code = kafka_producer_new(&(struct kafka_producer_options){.loop = service_loop(comments->service),
                                                                   .settings = service_kafka(comments->service),
                                                                   .metrics = service_metrics(comments->service)},
                                  &comments->dead_letters, error);
    if (code) return code;
    return copies_new(&(struct copies_options){.loop = service_loop(comments->service),
                                               .settings = service_kafka(comments->service),
                                               .partitions = comments->user_partitions,
                                               .definitions = &bans,
                                               .count = 1,
                                               .log = service_log(comments->service),
                                               .metrics = service_metrics(comments->service),
                                               .dead_letters = comments->dead_letters,
                                               .context = comments,
                                               .on_ready = comments_bans_are_read},
                      &comments->copies, error);
}

static int make_commands(struct comments *comments, struct error *error) {
    const struct service_settings *common = service_settings(comments->service);
    int64_t rate = comments->settings->user_rate;
    char *id;
    int code = identity_transactional(service_kafka(comments->service)->prefix, comments->settings->group_id,
                                      common->group_instance_id, common->data_dir, &id, error);
    if (code) return code;
    comments->commands = comment_commands_new(&(struct comment_commands_options){
        .loop = service_loop(comments->service),
        .kafka = service_kafka(comments->service),
        .log = service_log(comments->service),
        .metrics = service_metrics(comments->service),
        .threads = comments->threads,
        .bans = comments->bans,
        .transactional_id = id,
        .partitions = comments->partitions,
        .user_partitions = comments->user_partitions,
        .rate = {.interval_ms = rate ? SECOND_MS / rate : 0, .burst = comments->settings->user_burst},
        .batch = (size_t)comments->settings->commands_batch,
        .context = comments,
        .on_handled = commands_decided,
        .on_reset = commands_lost,
        .damaged = damaged,
    });
    free(id);
    return 0;
}

static int make_owner(struct comments *comments, struct error *error) {
    const struct comments_settings *settings = comments->settings;
    comments->states = comment_states_new(&(struct comment_states_options){
        .loop = service_loop(comments->service),
        .log = service_log(comments->service),
        .partitions = comments->partitions,
        .threads = comments->threads,
        .watches = comments->watches,
        .decider = comment_commands_decider(comments->commands),
        .dead_letters = comments->dead_letters,
        .max_age_ms = comments_max_age_ms(comments),
        .context = comments,
        .failed = comments_failed,
        .changed = state_changed,
    });
    struct owner_options owner = {
        .loop = service_loop(comments->service),
        .log = service_log(comments->service),
        .kafka = service_kafka(comments->service),
        .metrics = service_metrics(comments->service),
        .prefix = "starling_comments",
        .group = settings->group_id,
        .instance_id = service_settings(comments->service)->group_instance_id,
        .partitions = comments->partitions,
        .topics = COMMENTS_TOPICS,
        .topic_count = COMMENTS_TOPIC_COUNT,
        .offsets = &TOPIC_COMMENT_OFFSETS,
        .leaving = &TOPIC_COMMENT_TEXTS,
        .batch = (size_t)comments->owning->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)comments->owning->standby_replicas,
        .hands_over = comments->owning->stop_hands_over,
        .queue_max = QUEUED,
        .queue_bytes = QUEUED_BYTES,
        .epochs = comments->epochs,
        .decider = comment_commands_decider(comments->commands),
        .product = &COMMENTS_OWNED,
        .context = comments,
    };
    int code = owner_new(&owner, &comments->owner, error);
    if (!code) comment_states_set_owner(comments->states, comments->owner);
    return code;
}

static int make_watches(struct comments *comments, struct error *error) {
    int code = edges_new(&(struct edges_options){.loop = service_loop(comments->service),
                                                 .kafka = service_kafka(comments->service),
                                                 .metrics = service_metrics(comments->service),
                                                 .owning = comments->owning,
                                                 .routes = comments->routes,
                                                 .epochs = comments->epochs,
                                                 .context = comments,
                                                 .failed = comments_failed},
                         &comments->edges, error);
    if (code) return code;
    comments->watches = thread_watches_new(&(struct thread_watches_options){
        .loop = service_loop(comments->service),
        .metrics = service_metrics(comments->service),
        .tracer = service_kafka(comments->service)->tracer,
        .partitions = comments->partitions,
        .events_per_s = comments->settings->live_max,
        .threads = comments->threads,
        .edges = comments->edges,
        .context = comments,
        .damaged = damaged,
        .failed = comments_failed,
    });
    return 0;
}

static int make_parts(struct comments *comments, struct error *error) {
    int code = open_kafka(comments, error);
    if (!code) code = make_watches(comments, error);
    if (!code) code = make_commands(comments, error);
    if (!code) code = make_owner(comments, error);
    if (code) return code;
    comments->replies = comment_replies_new(&(struct comment_replies_options){
        .partitions = comments->partitions,
        .owner = comments->owner,
        .threads = comments->threads,
        .commands = comments->commands,
        .context = comments,
        .damaged = damaged,
    });
    return owner_start(comments->owner, error);
}

/* ---- beginning and end ---- */

static void comments_free(void *state) {
    struct comments *comments = state;
    if (!comments) return;
    loop_timer_free(comments->second);
    loop_timer_free(comments->tenth);
    owner_free(comments->owner);
    copies_free(comments->copies);
    comment_commands_free(comments->commands);
    comment_replies_free(comments->replies);
    comment_states_free(comments->states);
    thread_watches_free(comments->watches);
    edges_free(comments->edges);
    kafka_producer_free(comments->dead_letters, SECOND_MS);
    bans_free(comments->bans);
    threads_free(comments->threads);
    checkpoints_free(comments->checkpoints);
    store_close(comments->store);
    epochs_free(comments->epochs);
    free(comments);
}

int64_t comments_max_age_ms(const struct comments *comments) { return comments->settings->rebuild_after_h * HOUR_MS; }

static int start_parts(struct comments *comments, struct error *error) {
    uv_loop_t *loop = service_loop(comments->service);
    int code = make_parts(comments, error);
    if (code) return code;
    start_metrics(comments);
    comments->second = loop_timer_new(loop, SECOND_MS, SECOND_MS, each_second, comments);
    comments->tenth = loop_timer_new(loop, TENTH_MS, TENTH_MS, each_tenth, comments);
    comments->started = true;
    return 0;
}

void comments_store_opened(void *context, int code, const struct error *error) {
    struct comments *comments = context;
    struct error reason = *error;
    if (comments->draining) {
        service_finished(comments->service);
        return;
    }
    if (!code) code = start_parts(comments, &reason);
    if (code) comments_failed(comments, "could not start", &reason);
}

static int comments_start(struct service *service, const struct topics_shape *shape, void **state,
                          struct error *error) {
    struct comments *comments = mem_alloc(sizeof *comments);
    *comments = (struct comments){
        .service = service,
        .settings = COMMENTS_SECTION.values,
        .owning = OWNER_SECTION.values,
        .partitions = shape->partitions[TOPIC_SPACE_SUBJECTS],
        .user_partitions = shape->partitions[TOPIC_SPACE_USERS],
        .routes = shape->partitions[TOPIC_SPACE_ROUTES],
        .epochs = epochs_new(),
        .bans = bans_new(),
    };
    int code = 0;
    if (comments->partitions > IDS_PARTITIONS_MAX)
        code = error_set(error, -EINVAL, "ids of comments have room for %d partitions, and the topics have %d",
                         IDS_PARTITIONS_MAX, (int)comments->partitions);
    if (!code) code = comments_open_store(comments, error);
    if (!code) code = start_parts(comments, error);
    if (code < 0) {
        comments_free(comments);
        return code;
    }
    *state = comments;
    return 0;
}

static void comments_drain(void *state) {
    struct comments *comments = state;
    comments->draining = true;
    if (comments->started) {
        owner_drain(comments->owner);
        return;
    }
    checkpoints_stop(comments->checkpoints);
    if (!checkpoints_busy(comments->checkpoints)) service_finished(comments->service);
}

static bool comments_busy(void *state) {
    struct comments *comments = state;
    comments->draining = true;
    bool busy = checkpoints_busy(comments->checkpoints);
    if (!comments->started) return busy;
    owner_stop(comments->owner);
    return owner_busy(comments->owner) || decider_busy(comment_commands_decider(comments->commands)) || busy;
}

static void comments_peer(void *state, struct http_request *request) {
    struct comments *comments = state;
    if (comments->started)
        comment_replies_handle(comments->replies, request);
    else
        http_problem(request, 503, "starting", "this process is opening its store", 1);
}

const struct service_definition COMMENTS_SERVICE = {
    .name = "starling-comments",
    .ops_listen = "127.0.0.1:9160",
    .peer_listen = "127.0.0.1:9260",
    .section = &COMMENTS_SECTION,
    .more_sections = OWNER_SECTIONS,
    .uses = &PROGRAM_COMMENTS.uses,
    .conditions = CONDITIONS,
    .start = comments_start,
    .drain = comments_drain,
    .busy = comments_busy,
    .free = comments_free,
    .peer = comments_peer,
};

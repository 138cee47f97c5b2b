#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comments/comments_private.h"
#include "event/programs.h"
#include "event/topics.h"
#include "ids/ids.h"

enum { SECOND_MS = 1000, TENTH_MS = 100, HOUR_MS = 3600000, STATE_BATCH = 4000 };
enum { QUEUED = 250000, QUEUED_BYTES = 32 << 20 /* commands that are read ahead */ };

static const char *const CONDITIONS[] = {"copies", "assigned", "restored", NULL};

/* The group is joined when bans and profiles are known: without them a banned user could write, and authors in comments-wide lacked names. */
static void copies_are_read(void *context) {
    struct comments *comments = context;
    service_ready(comments->service, "copies", true);
    tasks_may_join(comments->tasks);
}

/* ---- timers, metrics ---- */

static void each_second(void *context) {
    struct comments *comments = context;
    tasks_second(comments->tasks);
    checkpoints_second(comments->checkpoints, owner_restored(tasks_owner(comments->tasks)), clock_wall_ms());
    thread_watches_second(comments->watches);
}

static void each_tenth(void *context) {
    struct comments *comments = context;
    struct owner *owner = tasks_owner(comments->tasks);
    owner_tenth(owner);
    comment_replies_look_again(comments->replies);
    service_ready(comments->service, "assigned", owner_was_assigned(owner));
    service_ready(comments->service, "restored", owner_ready(owner));
}

static void collect(void *context) {
    const struct comments *comments = context;
    struct store_usage usage = store_usage(comments->store);
    const struct metric_now now[] = {
        {"starling_comments_store_cache_bytes", "Block cache of the store.", (double)usage.block_cache},
        {"starling_comments_store_disk_bytes", "The store on the disk.", (double)usage.sst_files},
    };
    metrics_set(service_metrics(comments->service), now, ARRAY_SIZE(now));
}

/* ---- the parts ---- */

static int open_copies(struct comments *comments, struct error *error) {
    int code = profiles_open(&(struct profiles_options){.data_dir = service_settings(comments->service)->data_dir,
                                                        .partitions = comments->user_partitions,
                                                        .log = service_log(comments->service)},
                             &comments->profiles, error);
    if (code) return code;
    const struct copy_definition definitions[] = {bans_copy(comments->bans), profiles_copy(comments->profiles)};
    return copies_new(&(struct copies_options){.loop = service_loop(comments->service),
                                               .settings = service_kafka(comments->service),
                                               .partitions = comments->user_partitions,
                                               .definitions = definitions,
                                               .count = ARRAY_SIZE(definitions),
                                               .log = service_log(comments->service),
                                               .metrics = service_metrics(comments->service),
                                               .dead_letters = comments->dead_letters,
                                               .context = comments,
                                               .on_ready = copies_are_read},
                      &comments->copies, error);
}

static int open_kafka(struct comments *comments, struct error *error) {
    int code = kafka_producer_new(&(struct kafka_producer_options){.loop = service_loop(comments->service),
                                                                   .settings = service_kafka(comments->service),
                                                                   .metrics = service_metrics(comments->service)},
                                  &comments->dead_letters, error);
    return code ? code : open_copies(comments, error);
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
    if (!code) comments->watches = thread_watches_new(comments);
    return code;
}

static int start_tasks(struct comments *comments, struct error *error) {
    void *const stores[COMMENTS_STORES] = {comments->threads, comments->watches};
    const struct owner_options owner = {
        .loop = service_loop(comments->service),
        .log = service_log(comments->service),
        .kafka = service_kafka(comments->service),
        .metrics = service_metrics(comments->service),
        .prefix = "starling_comments",
        .group = comments->settings->group_id,
        .instance_id = service_settings(comments->service)->group_instance_id,
        .partitions = comments->partitions,
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
    };
    const struct tasks_options tasks = {.owner = &owner,
                                        .stores = stores,
                                        .dead_letters = comments->dead_letters,
                                        .max_age_ms = comments_max_age_ms(comments)};
    return tasks_start(comments->tasks, &tasks, error);
}

static int make_parts(struct comments *comments, struct error *error) {
    comments->tasks = tasks_new(service_loop(comments->service), service_log(comments->service), comments->partitions,
                                &COMMENTS_TOPOLOGY, comments);
    int code = open_kafka(comments, error);
    if (!code) code = make_watches(comments, error);
    if (!code) code = comment_commands_new(comments, &comments->commands, error);
    if (code) return code;
    comments->replies = comment_replies_new(&(struct comment_replies_options){
        .partitions = comments->partitions,
        .tasks = comments->tasks,
        .threads = comments->threads,
        .commands = comments->commands,
    });
    return start_tasks(comments, error);
}

/* ---- beginning and end ---- */

static void comments_free(void *state) {
    struct comments *comments = state;
    if (!comments) return;
    loop_timer_free(comments->second);
    loop_timer_free(comments->tenth);
    tasks_free(comments->tasks);
    copies_free(comments->copies);
    comment_commands_free(comments->commands);
    comment_replies_free(comments->replies);
    thread_watches_free(comments->watches);
    edges_free(comments->edges);
    kafka_producer_free(comments->dead_letters, SECOND_MS);
    bans_free(comments->bans);
    profiles_close(comments->profiles);
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
    metrics_on_collect(service_metrics(comments->service), collect, comments);
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
    struct comments *comments = MEM_NEW(&(struct comments){
        .service = service,
        .settings = COMMENTS_SECTION.values,
        .owning = OWNER_SECTION.values,
        .partitions = shape->partitions[TOPIC_SPACE_SUBJECTS],
        .user_partitions = shape->partitions[TOPIC_SPACE_USERS],
        .routes = shape->partitions[TOPIC_SPACE_ROUTES],
        .epochs = epochs_new(),
        .bans = bans_new(),
    });
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
        tasks_drain(comments->tasks);
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
    return tasks_busy(comments->tasks) || decider_busy(comment_commands_decider(comments->commands)) || busy;
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

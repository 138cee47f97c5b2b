#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "decider/identity.h"
#include "event/programs.h"
#include "event/topics.h"
#include "places/parts.h"

enum { SECOND_MS = 1000, TENTH_MS = 100, HOUR_MS = 3600000, STATE_BATCH = 4000 };
enum { QUEUED = 250000, QUEUED_BYTES = 32 << 20 /* reports and changes that are read ahead */ };

static const char *const CONDITIONS[] = {"assigned", "restored", NULL};

/* ---- timers, metrics ---- */

static void each_second(void *context) {
    struct places *places = context;
    tasks_second(places->tasks);
    checkpoints_second(places->checkpoints, owner_restored(tasks_owner(places->tasks)), clock_wall_ms());
    deciding_places_second(places->deciding);
}

/* Reports never end, so there is no moment at which all of them are decided: it is enough that all partitions are restored. */
static void each_tenth(void *context) {
    struct places *places = context;
    struct owner *owner = tasks_owner(places->tasks);
    owner_tenth(owner);
    service_ready(places->service, "assigned", owner_was_assigned(owner));
    service_ready(places->service, "restored", owner_restored(owner) || owner_ready(owner));
}

static void collect(void *context) {
    const struct places *places = context;
    struct store_usage usage = store_usage(place_stores_database(places->stores));
    const struct metric_now now[] = {
        {"starling_places_store_cache_bytes", "Block cache of the store.", (double)usage.block_cache},
        {"starling_places_store_disk_bytes", "The store on the disk.", (double)usage.sst_files},
    };
    metrics_set(service_metrics(places->service), now, ARRAY_SIZE(now));
}

/* ---- the stores ---- */

static char *stores_path(const struct places *places) {
    return mem_format("%s/places", service_settings(places->service)->data_dir);
}

static int open_stores(void *context, struct error *error) {
    struct places *places = context;
    char *path = stores_path(places);
    int code = place_stores_open(path, (size_t)places->settings->store_memory_mb << 20, places->partitions,
                                 &places->stores, error);
    free(path);
    return code;
}

static int make_checkpoint(void *context, const char *path, struct error *error) {
    return store_checkpoint(place_stores_database(((struct places *)context)->stores), path, error);
}

/* ---- the parts ---- */

static int make_deciding(struct places *places, struct error *error) {
    const struct service_settings *common = service_settings(places->service);
    const struct places_settings *settings = places->settings;
    char *id;
    int code = identity_transactional(service_kafka(places->service)->prefix, settings->group_id,
                                      common->group_instance_id, common->data_dir, &id, error);
    if (code) return code;
    places->deciding = deciding_places_new(&(struct deciding_places_options){
        .loop = service_loop(places->service),
        .kafka = service_kafka(places->service),
        .log = service_log(places->service),
        .metrics = service_metrics(places->service),
        .transactional_id = id,
        .partitions = places->partitions,
        .batch = (size_t)settings->commands_batch,
        .cover_ms = settings->cover_s * SECOND_MS,
        .ahead_ms = common->clock == SERVICE_CLOCK_WALL ? settings->ahead_s * SECOND_MS : VERDICT_ANY_TIME,
        .stores = places->stores,
        .tasks = places->tasks,
    });
    free(id);
    return 0;
}

static int start_tasks(struct places *places, struct error *error) {
    void *const stores[PLACES_STORES] = {place_stores_places(places->stores), place_stores_states(places->stores),
                                         place_stores_events(places->stores)};
    const struct owner_options owner = {
        .loop = service_loop(places->service),
        .log = service_log(places->service),
        .kafka = service_kafka(places->service),
        .metrics = service_metrics(places->service),
        .prefix = "starling_places",
        .group = places->settings->group_id,
        .instance_id = service_settings(places->service)->group_instance_id,
        .partitions = places->partitions,
        .offsets = &TOPIC_PLACE_OFFSETS,
        .leaving = &TOPIC_PLACES,
        .batch = (size_t)places->owning->batch_records,
        .state_batch = STATE_BATCH,
        .standbys = (size_t)places->owning->standby_replicas,
        .hands_over = places->owning->stop_hands_over,
        .queue_max = QUEUED,
        .queue_bytes = QUEUED_BYTES,
        .epochs = places->epochs,
        .decider = deciding_places_decider(places->deciding),
    };
    const struct tasks_options tasks = {.owner = &owner,
                                        .stores = stores,
                                        .ages = place_stores_ages(places->stores),
                                        .dead_letters = places->dead_letters,
                                        .max_age_ms = places->settings->rebuild_after_h * HOUR_MS};
    tasks_may_join(places->tasks);
    return tasks_start(places->tasks, &tasks, error);
}

static int make_parts(struct places *places, struct error *error) {
    places->tasks = tasks_new(service_loop(places->service), service_log(places->service), places->partitions,
                              &PLACES_TOPOLOGY, places);
    int code = kafka_producer_new(&(struct kafka_producer_options){.loop = service_loop(places->service),
                                                                   .settings = service_kafka(places->service),
                                                                   .metrics = service_metrics(places->service)},
                                  &places->dead_letters, error);
    if (!code) code = make_deciding(places, error);
    if (code) return code;
    places->answers = place_answers_new(places->stores, places->deciding, places->tasks, places->partitions);
    return start_tasks(places, error);
}

static int start_parts(struct places *places, struct error *error) {
    uv_loop_t *loop = service_loop(places->service);
    int code = make_parts(places, error);
    if (code) return code;
    metrics_on_collect(service_metrics(places->service), collect, places);
    places->second = loop_timer_new(loop, SECOND_MS, SECOND_MS, each_second, places);
    places->tenth = loop_timer_new(loop, TENTH_MS, TENTH_MS, each_tenth, places);
    places->started = true;
    return 0;
}

static void stores_opened(void *context, int code, const struct error *error) {
    struct places *places = context;
    struct error reason = *error;
    if (places->draining) {
        service_finished(places->service);
        return;
    }
    if (!code) code = start_parts(places, &reason);
    if (code) places_failed(places, "could not start", &reason);
}

/* ---- beginning and end ---- */

static void places_free(void *state) {
    struct places *places = state;
    if (!places) return;
    loop_timer_free(places->second);
    loop_timer_free(places->tenth);
    tasks_free(places->tasks);
    deciding_places_free(places->deciding);
    place_answers_free(places->answers);
    kafka_producer_free(places->dead_letters, SECOND_MS);
    place_stores_close(places->stores);
    checkpoints_free(places->checkpoints);
    epochs_free(places->epochs);
    free(places);
}

static int places_start(struct service *service, const struct topics_shape *shape, void **state, struct error *error) {
    struct places *places = MEM_NEW(&(struct places){
        .service = service,
        .settings = PLACES_SECTION.values,
        .owning = OWNER_SECTION.values,
        .partitions = shape->partitions[TOPIC_SPACE_USERS],
        .epochs = epochs_new(),
    });
    char *path = stores_path(places);
    places->checkpoints = checkpoints_new(&(struct checkpoints_options){
        .loop = service_loop(service),
        .log = service_log(service),
        .metrics = service_metrics(service),
        .prefix = "starling_places",
        .folder = places->owning->checkpoint_dir,
        .every_ms = places->owning->checkpoint_every_s * SECOND_MS,
        .keep = (size_t)places->owning->checkpoint_keep,
        .path = path,
        .max_age_ms = places->settings->rebuild_after_h * HOUR_MS,
        .context = places,
        .open = open_stores,
        .make = make_checkpoint,
        .on_opened = stores_opened,
    });
    free(path);
    int code = checkpoints_open(places->checkpoints, error);
    if (!code) code = start_parts(places, error);
    if (code < 0) {
        places_free(places);
        return code;
    }
    *state = places;
    return 0;
}

static void places_drain(void *state) {
    struct places *places = state;
    places->draining = true;
    if (places->started) {
        tasks_drain(places->tasks);
        return;
    }
    checkpoints_stop(places->checkpoints);
    if (!checkpoints_busy(places->checkpoints)) service_finished(places->service);
}

static bool places_busy(void *state) {
    struct places *places = state;
    places->draining = true;
    bool busy = checkpoints_busy(places->checkpoints);
    if (!places->started) return busy;
    return tasks_busy(places->tasks) || decider_busy(deciding_places_decider(places->deciding)) || busy;
}

static void places_peer(void *state, struct http_request *request) {
    struct places *places = state;
    if (places->started)
        place_answers_handle(places->answers, request);
    else
        http_problem(request, 503, "starting", "this process is opening its store", 1);
}

const struct service_definition PLACES_SERVICE = {
    .name = "starling-places",
    .ops_listen = "127.0.0.1:9180",
    .peer_listen = "127.0.0.1:9280",
    .section = &PLACES_SECTION,
    .more_sections = OWNER_SECTIONS,
    .uses = &PROGRAM_PLACES.uses,
    .conditions = CONDITIONS,
    .start = places_start,
    .drain = places_drain,
    .busy = places_busy,
    .free = places_free,
    .peer = places_peer,
};

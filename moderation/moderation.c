#include "moderation/moderation.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/folders.h"
#include "base/mem.h"
#include "event/programs.h"
#include "moderation/answers.h"
#include "moderation/intake.h"

enum { PRODUCER_FLUSH_MS = 5000 };

struct moderation_settings {
    const char *group;
    int64_t cache_mb, readers, search_ms;
};

#define AT(member) offsetof(struct moderation_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group), "starling-moderation",
     .doc =
         "Consumer group of the moderation processes. Each of them reads all comments and posts; gateways find one by the group."},
    {"moderation.cache.mb", CONFIG_INT, AT(cache_mb), "32", .min = 1, .max = 65536,
     .doc = "Page cache (MiB) of the search index, for its writer and for each reader."},
    {"moderation.readers", CONFIG_INT, AT(readers), "2", .min = 1, .max = 64,
     .doc = "Threads that search, each with a connection to the index."},
    {"moderation.search.ms", CONFIG_INT, AT(search_ms), "2000", .min = 10, .max = 60000,
     .doc = "A search that takes longer than this (ms), waiting included, ends with 503 search_too_slow."},
};

static struct moderation_settings values;

static const struct config_section SECTION = {"Moderation (starling-moderation)", PROPERTIES, ARRAY_SIZE(PROPERTIES),
                                              &values};

struct moderation {
    struct service *service;
    struct kafka_producer *producer; /* of dead letters */
    struct index *index;
    struct intake *intake;
    struct searches *searches;
};

static void damaged(void *context) { intake_damaged(((struct moderation *)context)->intake); }

static int open_index(struct moderation *moderation, int partitions, int64_t cache, struct error *error) {
    const char *folder = service_settings(moderation->service)->data_dir;
    if (!*folder) return error_set(error, -EINVAL, "data.dir is empty");
    char *path = mem_format("%s/comments.db", folder);
    int code = folders_make(folder, error);
    if (!code) code = index_open(path, partitions, cache, &moderation->index, error);
    free(path);
    return code;
}

static int start_intake(struct moderation *moderation, const char *group, int partitions, int user_partitions,
                        struct error *error) {
    struct service *service = moderation->service;
    int code = kafka_producer_new(&(struct kafka_producer_options){.loop = service_loop(service),
                                                                   .settings = service_kafka(service),
                                                                   .metrics = service_metrics(service)},
                                  &moderation->producer, error);
    if (code) return code;
    return intake_new(
        &(struct intake_options){
            .service = service,
            .group = group,
            .partitions = partitions,
            .user_partitions = user_partitions,
            .index = moderation->index,
            .dead_letters = moderation->producer,
        },
        &moderation->intake, error);
}

static bool moderation_busy(void *state) {
    const struct moderation *moderation = state;
    return intake_busy(moderation->intake) || searches_busy(moderation->searches);
}

static void moderation_free(void *state) {
    struct moderation *moderation = state;
    if (!moderation) return;
    intake_free(moderation->intake);
    kafka_producer_free(moderation->producer, PRODUCER_FLUSH_MS);
    searches_free(moderation->searches);
    index_close(moderation->index);
    free(moderation);
}

static int moderation_start(struct service *service, const struct topics_shape *shape, void **state,
                            struct error *error) {
    int partitions = shape->partitions[TOPIC_SPACE_SUBJECTS], users = shape->partitions[TOPIC_SPACE_USERS];
    int64_t cache = values.cache_mb << 20;
    struct moderation *moderation = MEM_NEW(&(struct moderation){.service = service});
    int code = open_index(moderation, intake_places(partitions, users), cache, error);
    if (!code) code = start_intake(moderation, values.group, partitions, users, error);
    if (code) {
        moderation_free(moderation);
        return code;
    }
    moderation->searches = searches_new(&(struct searches_options){
        .loop = service_loop(service),
        .index = moderation->index,
        .readers = (int)values.readers,
        .cache = cache,
        .limit_ms = values.search_ms,
        .metrics = service_metrics(service),
        .log = service_log(service),
        .context = moderation,
        .on_damaged = damaged,
    });
    *state = moderation;
    return 0;
}

static void moderation_drain(void *state) {
    struct moderation *moderation = state;
    intake_stop(moderation->intake);
    service_finished(moderation->service);
}

static void answer(void *state, struct http_request *request) {
    struct moderation *moderation = state;
    bool ready = intake_ready(moderation->intake) && !service_draining(moderation->service);
    answers_answer(moderation->searches, ready, request);
}

static const char *const CONDITIONS[] = {"comments", NULL};

const struct service_definition MODERATION_SERVICE = {
    .name = "starling-moderation",
    .ops_listen = "127.0.0.1:9170",
    .peer_listen = "127.0.0.1:9270",
    .section = &SECTION,
    .uses = &PROGRAM_MODERATION.uses,
    .conditions = CONDITIONS,
    .start = moderation_start,
    .drain = moderation_drain,
    .busy = moderation_busy,
    .free = moderation_free,
    .peer = answer,
};

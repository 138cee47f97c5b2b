/* Places as a product of lib/tasks: which topics feed which store. Reports and changes are decided in places/deciding.h; what arrivals lead to
 * is the routers' part, who know a user's friends. */
#include "base/config.h"
#include "event/topics.h"
#include "places/parts.h"

static const struct state_kind *const KINDS[PLACES_STORES] = {&TABLE_STORE_KIND, &TABLE_STORE_KIND, &TABLE_STORE_KIND};

static const struct tasks_topic TOPICS[] = {
    {.topic = &TOPIC_LOCATIONS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_PLACE_COMMANDS, .role = OWNER_COMMAND},
    {.topic = &TOPIC_PLACES, .role = OWNER_STATE, .store = PLACES_ROWS},
    {.topic = &TOPIC_PLACE_STATES, .role = OWNER_STATE, .store = PLACES_STATES},
    {.topic = &TOPIC_PLACE_EVENTS, .role = OWNER_STATE, .store = PLACES_EVENTS},
};

static void flush_old(void *context, int64_t now_us) {}
static void flush(void *context) {}
static void drained(void *context) { service_finished(((struct places *)context)->service); }

void places_failed(void *context, const char *doing, const struct error *error) {
    struct places *places = context;
    log_error(service_log(places->service), doing, LOG_TEXT("reason", error->text));
    service_fail(places->service, doing);
}

const struct tasks_product PLACES_TOPOLOGY = {
    .topics = TOPICS,
    .topic_count = ARRAY_SIZE(TOPICS),
    .kinds = KINDS,
    .store_count = PLACES_STORES,
    .flush_old = flush_old,
    .flush = flush,
    .drained = drained,
    .failed = places_failed,
};

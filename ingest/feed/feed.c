#include "ingest/products.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "ingest/feed/home.h"
#include "ingest/feed/parts.h"
#include "ingest/feed/users.h"
#include "ingest/owners.h"

static bool ready(const void *of) {
    const struct feed_gateway *gateway = of;
    return user_copies_ready(gateway->copies);
}

static int start_owners(struct feed_gateway *gateway, const struct product_options *options, struct error *error) {
    const struct product_groups *groups = &options->groups;
    int code = owners_new(options, groups->feeds, &TOPIC_POST_COMMANDS, &gateway->owners, error);
    if (!code) code = owners_new(options, groups->comments, &TOPIC_COMMENT_COMMANDS, &gateway->comments, error);
    if (!code)
        gateway->counts = comment_counts_new(service_loop(options->service), gateway->comments,
                                             options->shape->partitions[TOPIC_SPACE_SUBJECTS]);
    return code;
}

/* Questions under way end, and their requests are answered. */
static void feed_stop(void *state) {
    struct feed_gateway *gateway = state;
    if (!gateway) return;
    comment_counts_stop(gateway->counts);
    peers_free(gateway->comments);
    peers_free(gateway->owners);
    gateway->comments = gateway->owners = NULL;
    if (gateway->sights) sights_stop(gateway->sights);
    if (gateway->texts) texts_stop(gateway->texts);
    texts_free(gateway->texts);
    gateway->texts = NULL;
    sights_free(gateway->sights);
    gateway->sights = NULL;
    shared_answers_free(gateway->shared);
    gateway->shared = NULL;
    comment_counts_free(gateway->counts);
    gateway->counts = NULL;
}

static void profile_changed(void *state, int64_t user) {
    struct feed_gateway *gateway = state;
    texts_profile_changed(gateway->texts, user);
}

static int feed_start(const struct product_options *options, void **state, struct error *error) {
    struct feed_gateway *gateway = MEM_NEW(&(struct feed_gateway){
        .copies = options->copies,
        .partitions = options->shape->partitions[TOPIC_SPACE_USERS],
        .filter = options->filter,
        .chance = chance_new(),
    });
    int code = start_owners(gateway, options, error);
    if (code) {
        peers_free(gateway->owners);
        free(gateway);
        return code;
    }
    gateway->sender = (struct command_sender){
        .writer = options->writer,
        .owners = gateway->owners,
        .wait_ms = options->outcome_wait_ms,
        .written = metrics_counter(service_metrics(options->service), "starling_ingest_feed_commands_total",
                                   "Commands of the feed that Kafka acknowledged.", NULL),
    };
    gateway->sights = owners_sights_new(options, gateway->owners);
    gateway->texts = home_texts_new(gateway, service_loop(options->service));
    const struct feed_gateway_settings *settings = FEED_GATEWAY_SECTION.values;
    gateway->shared =
        shared_answers_new(&(struct shared_answers_options){.loop = service_loop(options->service),
                                                            .metrics = service_metrics(options->service),
                                                            .owners = gateway->owners,
                                                            .hot_reads = settings->copies_reads,
                                                            .max_bytes = (size_t)settings->copies_mb << 20});
    const struct endpoint_list *const lists[] = {&POSTS_ENDPOINTS,   &POST_EDITS_ENDPOINTS, &POST_STATES_ENDPOINTS,
                                                 &FOLLOWS_ENDPOINTS, &FOLLOWERS_ENDPOINTS,  &USERS_ENDPOINTS,
                                                 &HOME_ENDPOINTS,    &HANDLES_ENDPOINTS,    &FEED_NOTICES_ENDPOINTS};
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) endpoints_add(options->endpoints, lists[i], gateway, ready, gateway);
    *state = gateway;
    return 0;
}

static void cannot_serve(void *state, service_namer *name, void *context) {
    const struct feed_gateway *gateway = state;
    if (!peers_complete(gateway->owners)) name(context, "feed");
}

const struct product FEED_PRODUCT = {
    .start = feed_start, .stop = feed_stop, .free = free, .profile = profile_changed, .cannot_serve = cannot_serve};

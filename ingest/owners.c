#include "ingest/owners.h"

#include "base/clock.h"
#include "ingest/product.h"

enum { RETRY_AFTER_S = 2, SIGHT_TIMEOUT_MS = 1000 };

int owners_new(const struct product_options *options, const char *group, const struct topic *topic,
               struct peers **owners, struct error *error) {
    return peers_new(
        &(struct peers_options){
            .loop = service_loop(options->service),
            .settings = service_kafka(options->service),
            .group = group,
            .topic = topic,
            .partitions = options->shape->partitions[topic->space],
            .token = service_settings(options->service)->peer_token,
        },
        owners, error);
}

static void fetch_sight(void *feeds, int32_t partition, const char *path, int timeout_ms,
                        void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                        void *done_context) {
    peers_fetch(feeds, partition, path, timeout_ms, done, done_context);
}

struct sights *owners_sights_new(const struct product_options *options, struct peers *feeds) {
    return sights_new(&(struct sights_options){
        .loop = service_loop(options->service),
        .partitions = options->shape->partitions[TOPIC_SPACE_USERS],
        .timeout_ms = SIGHT_TIMEOUT_MS,
        .again_ms = SIGHT_AGAIN_MS,
        .asks = SIGHT_ASKS,
        .context = feeds,
        .fetch = fetch_sight,
        .now_ms = clock_coarse_ms,
    });
}

void owners_away(struct http_request *request, int retry_after_s) {
    http_problem(request, 503, "owner_unavailable", "the process that has the answer is just being moved or restarted",
                 retry_after_s);
}

bool owners_answered(struct http_request *request, int code, unsigned status) {
    if (code == 0 && status == 200) return true;
    if (code == 0 && status == 400)
        http_problem(request, 400, "bad_query",
                     "the owner does not accept the parameters: is `after` of a page before?", 0);
    else
        owners_away(request, RETRY_AFTER_S);
    return false;
}

static void passed_on(void *context, int code, unsigned status, const char *reply, size_t size) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    struct http_request *request = context;
    if (owners_answered(request, code, status)) http_reply(request, status, "application/json", reply, size, FIELDS, 1);
}

void owners_pass_on(struct peers *peers, const struct rpc_question *question, const struct rpc_value *values,
                    int timeout_ms, struct http_request *request) {
    rpc_ask(peers, question, values, timeout_ms, passed_on, request);
}

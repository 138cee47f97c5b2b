#include "fanout/authors.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"

/* A phone does not wait for the news, and a page that it read in place of them would ask the same owners: so they have some seconds. */
enum { SIGHT_TIMEOUT_MS = 1000, ASKS = 8 };

struct authors {
    struct peers *peers;
    struct sights *sights;
};

static void fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context) {
    const struct authors *authors = context;
    peers_fetch(authors->peers, partition, path, timeout_ms, done, done_context);
}

int authors_new(const struct screen_options *options, const char *group, struct authors **out, struct error *error) {
    int32_t partitions = options->shape->partitions[TOPIC_SPACE_USERS];
    struct authors *authors = MEM_NEW(&(struct authors){.peers = NULL});
    int code = peers_new(
        &(struct peers_options){
            .loop = service_loop(options->service),
            .settings = service_kafka(options->service),
            .group = group,
            .topic = &TOPIC_POST_COMMANDS,
            .partitions = partitions,
            .token = service_settings(options->service)->peer_token,
        },
        &authors->peers, error);
    if (code) {
        free(authors);
        return code;
    }
    authors->sights = sights_new(&(struct sights_options){.loop = service_loop(options->service),
                                                          .partitions = partitions,
                                                          .timeout_ms = SIGHT_TIMEOUT_MS,
                                                          .again_ms = SIGHT_AGAIN_MS,
                                                          .asks = ASKS,
                                                          .context = authors,
                                                          .fetch = fetch,
                                                          .now_ms = clock_coarse_ms});
    *out = authors;
    return 0;
}

void authors_stop(struct authors *authors) {
    if (!authors) return;
    peers_free(authors->peers);
    authors->peers = NULL;
    sights_stop(authors->sights);
}

void authors_free(struct authors *authors) {
    if (!authors) return;
    sights_free(authors->sights);
    free(authors);
}

struct peers *authors_peers(const struct authors *authors) {
    return authors->peers;
}

struct sights *authors_sights(const struct authors *authors) {
    return authors->sights;
}

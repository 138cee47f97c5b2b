/* The common part of all that people do in the feed: who does it, with which words, by a request, in turns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ids/ids.h"
#include "tools/load/social_private.h"

enum {
    TRIES = 10, /* to find somebody who is not busy */
    SHOWN_REFUSALS_MAX = 5,
    AGAIN_US = 500000
};

void social_enter(struct social *social, enum social_phase phase) {
    social->phase = phase;
    social->phase_us = social->turn_us = clock_monotonic_us();
    social->next = 0;
    social->last_turn = false;
}

void social_refused(struct social *social, const char *what, int64_t user, unsigned status, const char *reply) {
    if (++social->counts.refused > SHOWN_REFUSALS_MAX) return;
    fprintf(stderr, "simulate: %s of user %" PRId64 " is refused: %u %.200s\n", what, user, status, reply);
}

uint64_t social_draw(struct social *social) { return hash_u64(social->chance++); }

struct citizen *social_somebody(struct social *social, size_t among) {
    for (int i = 0; among && i < TRIES; i++) {
        struct citizen *citizen = &social->citizens[social_draw(social) % among];
        if (!citizen->busy) return citizen;
    }
    return NULL;
}

void social_act(struct social *social, struct citizen *citizen, const char *method, const char *path,
                const struct buffer *body, void (*done)(void *context, unsigned status, const char *reply, size_t size),
                void *context) {
    citizen->busy = true;
    home_api_ask(social->api, &(struct home_api_request){
                                  .user = citizen->user,
                                  .method = method,
                                  .path = path,
                                  .body = body,
                                  .persist = true,
                                  .done = done,
                                  .context = context,
                              });
}

bool social_read_id(const json_t *object, const char *key, int64_t *id) {
    const char *text;
    return json_want_text(object, key, &text, NULL) == 0 && ids_parse(text, strlen(text), id);
}

/* ---- words ---- */

static const char *const NEWS[] = {
    "Coffee at the corner is finally open again.",
    "The tram is late, as every Monday.",
    "First tomatoes from the balcony!",
    "Found a bakery that still does poppy seed rolls.",
    "Somebody plays the cello in the courtyard.",
    "Long run along the canal this morning.",
    "The library stays open until ten now.",
    "New bike, same hills.",
    "Moving boxes everywhere.",
    "The market was full of plums today.",
    "Three hours in a meeting about meetings.",
    "My neighbour's cat has moved in with us, it seems.",
    "The old cinema shows silent films on Thursdays.",
    "Rain all day, so I repaired the radio.",
    "Lost a glove near the bridge, blue wool.",
    "Learned to make dumplings from my aunt.",
    "The lake is warm enough to swim.",
    "Heard a nightingale in the middle of the city.",
    "Finished the book that everybody talks about.",
    "Our team won, if only by one point.",
    "Planted a cherry tree in the yard.",
    "There is a flea market behind the station.",
    "Grüße from the allotment garden.",
    "The bread turned out well this time.",
};

static const char *const AFTERTHOUGHTS[] = {
    "Anybody coming along?",     "Worth the detour.",     "I may stay all afternoon.",
    "Who has time on Saturday?", "Better than expected.", "Tell me if you are around.",
    "Next time with you all.",   "It made my day.",       "Not sure what to think of it.",
    "Back home by eight.",       "Pictures follow.",
};

uint64_t social_write(struct social *social, int64_t answers) {
    uint64_t mixed = hash_u64(social_draw(social));
    const char *news = NEWS[mixed % ARRAY_SIZE(NEWS)];
    size_t second = (mixed >> 32) % (2 * ARRAY_SIZE(AFTERTHOUGHTS));
    bool more = second < ARRAY_SIZE(AFTERTHOUGHTS);
    char *text = mem_format("%s%s%s", news, more ? " " : "", more ? AFTERTHOUGHTS[second] : "");
    uint64_t hash = talk_hash(text);
    struct buffer *body = &social->scratch;
    buffer_clear(body);
    buffer_string(body, "{\"text\":");
    json_put_text(body, text, strlen(text));
    if (answers) buffer_format(body, ",\"reply_to\":\"%" PRId64 "\"", answers);
    buffer_format(body, ",\"key\":\"simulate-%" PRIx64 "-%" PRIu64 "\"}", social->run, social->number++);
    free(text);
    return hash;
}

/* ---- turns ---- */

bool social_turn(struct social *social, void (*ask)(struct social *social, struct citizen *citizen)) {
    if (clock_monotonic_us() < social->turn_us) return true;
    while (social->next < social->count && home_api_under_way(social->api) < SOCIAL_AT_ONCE) {
        struct citizen *citizen = &social->citizens[social->next++];
        if (citizen->open) ask(social, citizen);
    }
    return social->next < social->count || home_api_under_way(social->api) > 0;
}

size_t social_open(const struct social *social) {
    size_t open = 0;
    for (size_t i = 0; i < social->count; i++) open += social->citizens[i].open;
    return open;
}

void social_next_turn(struct social *social) {
    social->next = 0;
    social->turn_us = clock_monotonic_us() + AGAIN_US;
}

bool social_late(const struct social *social, int64_t patience_us) {
    return clock_monotonic_us() - social->phase_us > patience_us;
}

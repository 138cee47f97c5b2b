#include "router/approaches.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

/* Pairs are kept for one to two pauses, in two generations, so that forgetting them costs nothing for each. */
struct approaches {
    int64_t pause_ms;
    int64_t begun;               /* when the younger generation began */
    struct map *younger, *older; /* hash of the pair -> when it was told */
};

struct approaches *approaches_new(int64_t pause_ms) {
    return MEM_NEW(&(struct approaches){.pause_ms = pause_ms, .younger = map_new(), .older = map_new()});
}

void approaches_free(struct approaches *approaches) {
    if (!approaches) return;
    map_free(approaches->younger);
    map_free(approaches->older);
    free(approaches);
}

static void age(struct approaches *approaches, int64_t now) {
    if (now - approaches->begun < approaches->pause_ms) return;
    map_free(approaches->older);
    approaches->older = approaches->younger;
    approaches->younger = map_new();
    approaches->begun = now;
}

/* Two pairs in 2^64 share a key: at worst, one of them is told a pause later. */
static uint64_t key_of(int64_t user, int64_t friend) {
    return hash_fold(hash_fold((uint64_t)user) ^ (uint64_t) friend);
}

static bool told(const struct map *generation, uint64_t key, int64_t after) {
    const uint64_t *at = map_find(generation, key);
    return at && (int64_t)*at > after;
}

static bool due(struct approaches *approaches, int64_t user, int64_t friend, int64_t now) {
    uint64_t key = key_of(user, friend);
    int64_t after = now - approaches->pause_ms;
    if (told(approaches->younger, key, after) || told(approaches->older, key, after)) return false;
    *map_put(approaches->younger, key, NULL) = (uint64_t)now;
    return true;
}

void approaches_take(struct approaches *approaches, const struct join_result *result, int64_t now, void *context,
                     bool (*wanted)(void *context, int64_t user, int64_t friend),
                     void (*tell)(void *context, const struct approach *approach)) {
    age(approaches, now);
    for (size_t i = 0; i < result->newcomer_count; i++) {
        const struct join_newcomer *newcomer = &result->newcomers[i];
        const struct presence_slot *other = newcomer->slot;
        const struct {
            bool tells;
            int64_t user, friend;
            double distance_m; /* as the user may know it: the friend's place may be rounded */
        } ways[] = {
            {newcomer->seen && other->route == PRESENCE_ROUTE_NONE, other->user, result->user,
             geo_distance(other->at, newcomer->here)},
            {newcomer->sees && !result->answer_count, result->user, other->user,
             geo_distance(result->at, newcomer->there)},
        };
        for (size_t j = 0; j < 2; j++) {
            int64_t user = ways[j].user, friend = ways[j].friend;
            if (!ways[j].tells || !wanted(context, user, friend) || !due(approaches, user, friend, now)) continue;
            tell(context, &(struct approach){
                              .user = user, .friend = friend, .distance_m = ways[j].distance_m, .time = result->time});
        }
    }
}

size_t approaches_count(const struct approaches *approaches) {
    return map_count(approaches->younger) + map_count(approaches->older);
}

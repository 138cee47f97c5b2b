#include "budget/held.h"

#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "budget/tally.h"

struct held {
    int64_t each, in_all; /* limits; 0: none */
    bool leaves_room;
    int64_t now; /* of all keys */
    struct map *by_key;
    struct metric *used, *refused_each, *refused_all;
};

struct held *held_new(const struct held_options *options) {
    return MEM_NEW(&(struct held){
        .each = options->each,
        .in_all = options->in_all,
        .leaves_room = options->leaves_room,
        .by_key = map_new(),
        .used = tally_used(options->metrics, options->what),
        .refused_each = options->each ? tally_held(options->metrics, options->what, options->by, options->each) : NULL,
        .refused_all = options->in_all ? tally_held(options->metrics, options->what, "process", options->in_all) : NULL,
    });
}

void held_free(struct held *held) {
    if (!held) return;
    map_free(held->by_key);
    free(held);
}

bool held_take(struct held *held, uint64_t key, int64_t amount) {
    int64_t own = held->each || held->leaves_room ? held_by(held, key) : 0,
            wants = held->leaves_room ? own + amount : amount;
    if (held->in_all && held->now + wants > held->in_all) {
        held->refused_all->value++;
        return false;
    }
    if (held->each && own + amount > held->each) {
        held->refused_each->value++;
        return false;
    }
    if (amount) *map_put(held->by_key, key, NULL) += (uint64_t)amount;
    held->now += amount;
    held->used->value = (double)held->now;
    return true;
}

void held_give(struct held *held, uint64_t key, int64_t amount) {
    if (!amount) return;
    uint64_t *entry = map_find(held->by_key, key);
    assert(entry && *entry >= (uint64_t)amount);
    *entry -= (uint64_t)amount;
    if (!*entry) map_remove(held->by_key, key, NULL);
    held->now -= amount;
    held->used->value = (double)held->now;
}

int64_t held_by(const struct held *held, uint64_t key) {
    const uint64_t *entry = map_find(held->by_key, key);
    return entry ? (int64_t)*entry : 0;
}

int64_t held_in_all(const struct held *held) { return held->now; }

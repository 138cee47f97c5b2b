#include "base/rates.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum { SWEEP_MIN = 1024, SWEEP_PAUSE_US = 1000000 /* of a full table */ };

/* An entry is the time, in microseconds, at which the whole burst is there again; each time that it is used moves it on. */
struct rates {
    int64_t interval_us, burst_us;
    struct map *full_at;
    uint64_t others_full_at; /* of those for whom there is no room */
    size_t sweep_at;         /* entries */
    int64_t swept_us;
};

struct rates *rates_new(int64_t per_second, int64_t burst) {
    struct rates *rates = mem_alloc(sizeof *rates);
    int64_t interval_us = per_second ? 1000000 / per_second : 0;
    *rates = (struct rates){
        .interval_us = interval_us, .burst_us = interval_us * burst, .full_at = map_new(), .sweep_at = SWEEP_MIN};
    return rates;
}

void rates_free(struct rates *rates) {
    if (!rates) return;
    map_free(rates->full_at);
    free(rates);
}

size_t rates_known(const struct rates *rates) { return map_count(rates->full_at); }

/* Builds the map anew, of those who have not rested. */
static void sweep(struct rates *rates, int64_t now_us) {
    struct map *kept = map_new();
    size_t cursor = 0;
    uint64_t key, full_at;
    while (map_next(rates->full_at, &cursor, &key, &full_at)) {
        if ((int64_t)full_at > now_us) *map_put(kept, key, NULL) = full_at;
    }
    map_free(rates->full_at);
    rates->full_at = kept;
    rates->swept_us = now_us;
    rates->sweep_at = 2 * map_count(kept) + SWEEP_MIN;
    if (rates->sweep_at > RATES_MAX) rates->sweep_at = RATES_MAX;
}

static uint64_t *entry_of(struct rates *rates, uint64_t key, int64_t now_us) {
    size_t count = map_count(rates->full_at);
    /* A full table of those who have not rested would be swept by each newcomer. */
    if (count >= rates->sweep_at && (count < RATES_MAX || now_us - rates->swept_us >= SWEEP_PAUSE_US))
        sweep(rates, now_us);
    uint64_t *entry = map_find(rates->full_at, key);
    if (entry) return entry;
    return map_count(rates->full_at) < RATES_MAX ? map_put(rates->full_at, key, NULL) : &rates->others_full_at;
}

int rates_take(struct rates *rates, uint64_t key, int64_t now_ms) {
    int64_t now_us = now_ms * 1000;
    if (!rates->interval_us) return 0;
    uint64_t *entry = entry_of(rates, key, now_us);
    int64_t full_at = (int64_t)*entry > now_us ? (int64_t)*entry : now_us;
    int64_t wait_us = full_at + rates->interval_us - now_us - rates->burst_us;
    if (wait_us > 0) return (int)((wait_us + 999999) / 1000000);
    *entry = (uint64_t)(full_at + rates->interval_us);
    return 0;
}

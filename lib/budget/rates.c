#include "budget/rates.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "budget/tally.h"

enum { SWEEP_MIN = 1024, SECOND_NS = 1000000000 };

static const int64_t SWEEP_PAUSE_NS = SECOND_NS;              /* of a full table */
static const int64_t COST_MOST_NS = SECOND_NS * 1000000000LL; /* thirty years; the wait in seconds is an int */

/* An entry is the time, in nanoseconds, at which the whole burst is there again; each use moves it on. */
struct rates {
    int64_t interval_ns, burst_ns; /* of a unit, of the burst; interval_ns 0: there is no limit */
    struct map *full_at;
    uint64_t others_full_at; /* of those for whom there is no room */
    size_t sweep_at;         /* entries */
    int64_t swept_ns;
    struct metric *refused;
};

struct rates *rates_new(const struct rates_options *options) {
    struct rates *rates = mem_alloc(sizeof *rates);
    int64_t interval_ns = options->per_second ? SECOND_NS / options->per_second : 0;
    *rates = (struct rates){
        .interval_ns = interval_ns,
        .burst_ns = interval_ns * options->burst,
        .full_at = map_new(),
        .sweep_at = SWEEP_MIN,
        .refused = tally_rate(options->metrics, options->what, options->by, options->per_second, options->burst),
    };
    return rates;
}

void rates_free(struct rates *rates) {
    if (!rates) return;
    map_free(rates->full_at);
    free(rates);
}

size_t rates_known(const struct rates *rates) { return map_count(rates->full_at); }

/* Builds the map anew, of those who have not rested. */
static void sweep(struct rates *rates, int64_t now_ns) {
    struct map *kept = map_new();
    size_t cursor = 0;
    uint64_t key, full_at;
    while (map_next(rates->full_at, &cursor, &key, &full_at))
        if ((int64_t)full_at > now_ns) *map_put(kept, key, NULL) = full_at;
    map_free(rates->full_at);
    rates->full_at = kept;
    rates->swept_ns = now_ns;
    rates->sweep_at = 2 * map_count(kept) + SWEEP_MIN;
    if (rates->sweep_at > RATES_MAX) rates->sweep_at = RATES_MAX;
}

static uint64_t *entry_of(struct rates *rates, uint64_t key, int64_t now_ns) {
    size_t count = map_count(rates->full_at);
    /* A full table of those who have not rested would be swept by each newcomer. */
    if (count >= rates->sweep_at && (count < RATES_MAX || now_ns - rates->swept_ns >= SWEEP_PAUSE_NS))
        sweep(rates, now_ns);
    uint64_t *entry = map_find(rates->full_at, key);
    if (entry) return entry;
    return map_count(rates->full_at) < RATES_MAX ? map_put(rates->full_at, key, NULL) : &rates->others_full_at;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

int rates_take(struct rates *rates, uint64_t key, int64_t amount, int64_t now_ms) {
    int64_t now_ns = now_ms * 1000000;
    if (!rates->interval_ns) return 0;
    uint64_t *entry = entry_of(rates, key, now_ns);
    int64_t full_at = later((int64_t)*entry, now_ns), cost_ns;
    if (__builtin_mul_overflow(amount, rates->interval_ns, &cost_ns) || cost_ns > COST_MOST_NS) cost_ns = COST_MOST_NS;
    int64_t needed_ns = cost_ns < rates->burst_ns ? cost_ns : rates->burst_ns;
    int64_t wait_ns = full_at + needed_ns - now_ns - rates->burst_ns;
    if (wait_ns > 0) {
        rates->refused->value++;
        return (int)((wait_ns + SECOND_NS - 1) / SECOND_NS);
    }
    *entry = (uint64_t)(full_at + cost_ns);
    return 0;
}

int rates_owing(const struct rates *rates, uint64_t key, int64_t now_ms) {
    const uint64_t *entry = map_find(rates->full_at, key);
    if (!entry && map_count(rates->full_at) == RATES_MAX) entry = &rates->others_full_at;
    int64_t wait_ns = entry ? (int64_t)*entry + rates->interval_ns - now_ms * 1000000 - rates->burst_ns : 0;
    return wait_ns > 0 ? (int)((wait_ns + SECOND_NS - 1) / SECOND_NS) : 0;
}

void rates_charge(struct rates *rates, uint64_t key, int64_t amount, int64_t now_ms) {
    int64_t now_ns = now_ms * 1000000, cost_ns;
    if (!rates->interval_ns) return;
    uint64_t *entry = entry_of(rates, key, now_ns);
    if (__builtin_mul_overflow(amount, rates->interval_ns, &cost_ns) || cost_ns > 2 * rates->burst_ns)
        cost_ns = 2 * rates->burst_ns;
    int64_t full_at = later((int64_t)*entry, now_ns) + cost_ns, latest = now_ns + 2 * rates->burst_ns;
    *entry = (uint64_t)later((int64_t)*entry, full_at < latest ? full_at : latest);
}

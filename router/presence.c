#include "router/presence.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/hash.h"
#include "base/mem.h"

enum {
    SEGMENT_BITS = 6,
    SEGMENTS = 1 << SEGMENT_BITS,
    GROUP = 16, /* control bytes that are compared at once */
    EMPTY = 0x80,
    DELETED = 0xfe,
    BATCH = 64,           /* look-ups under way at once in presence_find_many */
    FILTER_BITS_MIN = 17, /* of the filter's size: at least a cache line a segment, and then some */
    PAGE = 4096,
    WORD_BITS = 6, /* of the filter's words: log2 of 64 */
    USER_BITS = 8  /* filter bits a user at least; twice as many just after it has grown */
};

static_assert(sizeof(struct presence_slot) == 40, "a slot is what the memory budget says");

struct segment {
    struct presence_slot *slots; /* groups * GROUP of them, and behind them the control bytes, in one allocation */
    uint8_t *control;
    uint32_t groups;
    uint32_t live;     /* slots in use */
    uint32_t occupied; /* in use or deleted: what ends a probe is what is left */
};

struct presence {
    struct segment segments[SEGMENTS];
    uint64_t
        *filter; /* two bits of one word for each user, whom the hash's upper bits lead there: others mostly miss one */
    int filter_bits;
    size_t count;
    struct devices *devices; /* of slots that have more */
    int64_t inactive_ms;
    uint32_t sweep_segment; /* where the next sweep goes on */
};

/* ---- the filter ---- */

static size_t filter_bytes(int bits) { return ((size_t)1 << bits) / 8; }

static size_t pages_of(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

/* Memory of tables, zeroed. Large ones lie in large pages: every friend of every report is looked up at a random place. */
static void *table_new(size_t size) {
    if (size < MEM_LARGE_PAGE) return mem_zero(1, size);
    return mem_pages(pages_of(size), true);
}

static void table_free(void *memory, size_t size) {
    if (size < MEM_LARGE_PAGE)
        free(memory);
    else
        mem_pages_free(memory, pages_of(size));
}

static inline unsigned filter_shift(const struct presence *presence) {
    return (unsigned)(64 + WORD_BITS - presence->filter_bits);
}

/* From the hash's lower end, because its upper one says which word. */
static inline uint64_t filter_marks(uint64_t hash) {
    return (uint64_t)1 << (hash & 63) | (uint64_t)1 << (hash >> 6 & 63);
}

static inline void filter_add(struct presence *presence, uint64_t hash) {
    presence->filter[hash >> filter_shift(presence)] |= filter_marks(hash);
}

/* The users of one segment own one run of the filter, because both go by the hash's upper bits. */
static void filter_segment(struct presence *presence, uint32_t number) {
    const struct segment *segment = &presence->segments[number];
    size_t share = filter_bytes(presence->filter_bits) / SEGMENTS;
    memset((uint8_t *)presence->filter + number * share, 0, share);
    for (size_t i = 0; i < (size_t)segment->groups * GROUP; i++)
        if (!(segment->control[i] & 0x80)) filter_add(presence, hash_fold((uint64_t)segment->slots[i].user));
}

static void filter_grow(struct presence *presence) {
    table_free(presence->filter, filter_bytes(presence->filter_bits));
    presence->filter = table_new(filter_bytes(++presence->filter_bits));
    for (uint32_t i = 0; i < SEGMENTS; i++) filter_segment(presence, i);
}

static size_t segment_bytes(uint32_t groups) { return (size_t)groups * GROUP * (sizeof(struct presence_slot) + 1); }

static void segment_free(struct segment *segment) { table_free(segment->slots, segment_bytes(segment->groups)); }

struct presence *presence_new(int64_t inactive_ms) {
    struct presence *presence = mem_zero(1, sizeof *presence);
    presence->devices = devices_new(inactive_ms);
    presence->inactive_ms = inactive_ms;
    presence->filter_bits = FILTER_BITS_MIN;
    presence->filter = table_new(filter_bytes(FILTER_BITS_MIN));
    return presence;
}

void presence_free(struct presence *presence) {
    if (!presence) return;
    for (int i = 0; i < SEGMENTS; i++) segment_free(&presence->segments[i]);
    table_free(presence->filter, filter_bytes(presence->filter_bits));
    devices_free(presence->devices);
    free(presence);
}

/* ---- groups of control bytes ---- */

static inline uint32_t group_match(const uint8_t *group, uint8_t byte) {
#ifdef __SSE2__
    __m128i bytes = _mm_load_si128((const __m128i *)(const void *)group);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte)));
#else
    uint32_t mask = 0;
    for (int i = 0; i < GROUP; i++) mask |= (uint32_t)(group[i] == byte) << i;
    return mask;
#endif
}

static inline uint32_t group_free(const uint8_t *group) {
#ifdef __SSE2__
    return (uint32_t)_mm_movemask_epi8(_mm_load_si128((const __m128i *)(const void *)group));
#else
    uint32_t mask = 0;
    for (int i = 0; i < GROUP; i++) mask |= (uint32_t)(group[i] >> 7) << i;
    return mask;
#endif
}

static inline uint8_t fingerprint(uint64_t hash) { return (uint8_t)(hash & 0x7f); }
static inline uint32_t segment_of(uint64_t hash) { return (uint32_t)(hash >> (64 - SEGMENT_BITS)); }
static inline uint32_t group_of(uint64_t hash, uint32_t groups) {
    return (uint32_t)(((hash >> 7 & 0xffffffffu) * groups) >>
                      32); /* scaled, not masked: any number of groups will do */
}

/* ---- one segment ---- */

static struct presence_slot *segment_find(const struct segment *segment, uint64_t hash, int64_t user) {
    if (!segment->groups) return NULL;
    uint32_t group = group_of(hash, segment->groups);
    for (;;) {
        const uint8_t *control = segment->control + (size_t)group * GROUP;
        for (uint32_t mask = group_match(control, fingerprint(hash)); mask; mask &= mask - 1) {
            struct presence_slot *slot = &segment->slots[(size_t)group * GROUP + (size_t)__builtin_ctz(mask)];
            if (slot->user == user) return slot;
        }
        if (group_match(control, EMPTY)) return NULL;
        if (++group == segment->groups) group = 0;
    }
}

/* The first slot that a new user may take; there is one. */
static struct presence_slot *segment_take(struct segment *segment, uint64_t hash) {
    uint32_t group = group_of(hash, segment->groups);
    uint32_t mask;
    while (!(mask = group_free(segment->control + (size_t)group * GROUP)))
        if (++group == segment->groups) group = 0;
    size_t at = (size_t)group * GROUP + (size_t)__builtin_ctz(mask);
    segment->occupied += segment->control[at] == EMPTY;
    segment->control[at] = fingerprint(hash);
    segment->live++;
    return &segment->slots[at];
}

/* Full at fifteen sixteenths: a probe needs an empty slot to end at. */
static bool segment_full(const struct segment *segment) {
    return (uint64_t)(segment->occupied + 1) * 16 > (uint64_t)segment->groups * GROUP * 15;
}

/* A new table a sixteenth larger than the live users need; drops the deleted marks. Also how a segment shrinks. */
static void segment_rebuild(struct segment *segment) {
    uint32_t wanted = segment->live + segment->live / 16 + 1;
    uint32_t groups = (uint32_t)(((uint64_t)wanted * 16 / 15 + GROUP) / GROUP);
    struct segment next = {
        .slots = table_new(segment_bytes(groups)),
        .groups = groups,
    };
    /* The slots' 40 bytes times 16 keep the control bytes aligned as far as the allocation is. */
    next.control = (uint8_t *)(next.slots + (size_t)groups * GROUP);
    memset(next.control, EMPTY, (size_t)groups * GROUP);
    for (size_t i = 0; i < (size_t)segment->groups * GROUP; i++) {
        if (segment->control[i] & 0x80) continue;
        *segment_take(&next, hash_fold((uint64_t)segment->slots[i].user)) = segment->slots[i];
    }
    segment_free(segment);
    *segment = next;
}

static void segment_delete(struct segment *segment, size_t at) {
    /* A group that has an empty slot was never passed by a probe: the slot can be empty again at once. */
    const uint8_t *group = segment->control + at / GROUP * GROUP;
    bool passed = !group_match(group, EMPTY);
    segment->control[at] = passed ? DELETED : EMPTY;
    segment->occupied -= !passed;
    segment->live--;
}

/* ---- everybody ---- */

const struct presence_slot *presence_find(const struct presence *presence, int64_t user) {
    uint64_t hash = hash_fold((uint64_t)user);
    return segment_find(&presence->segments[segment_of(hash)], hash, user);
}

/* Leaves those users whom the filter lets pass, in order, with their hashes; returns how many. The writes are unconditional:
 * whether a friend is online cannot be predicted. hashes has room for count. */
static size_t filter_pass(const struct presence *presence, const int64_t *users, size_t count, int64_t *candidates,
                          uint64_t *hashes) {
    const uint64_t *filter = presence->filter;
    unsigned shift = filter_shift(presence);
    size_t passed = 0;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_fold((uint64_t)users[i]);
        __builtin_prefetch(&filter[hashes[i] >> shift]);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = hashes[i], marks = filter_marks(hash);
        candidates[passed] = users[i];
        hashes[passed] = hash;
        passed += (filter[hash >> shift] & marks) == marks;
    }
    return passed;
}

/* Look-ups of users that are probably there, in three steps so that the memory latencies overlap. */
static size_t find_batch(const struct presence *presence, const int64_t *users, const uint64_t *hashes, size_t count,
                         const struct presence_slot **found) {
    const uint8_t *groups[BATCH];
    const struct presence_slot *likely[BATCH]; /* the first of the fingerprint: nearly always the one */
    size_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        const struct segment *segment = &presence->segments[segment_of(hashes[i])];
        groups[i] = segment->groups ? segment->control + (size_t)group_of(hashes[i], segment->groups) * GROUP : NULL;
        __builtin_prefetch(groups[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const struct segment *segment = &presence->segments[segment_of(hashes[i])];
        uint32_t mask = groups[i] ? group_match(groups[i], fingerprint(hashes[i])) : 0;
        likely[i] = NULL;
        if (!mask) continue;
        likely[i] = &segment->slots[(size_t)(groups[i] - segment->control) + (size_t)__builtin_ctz(mask)];
        __builtin_prefetch(likely[i]); /* most slots lie in two cache lines */
        __builtin_prefetch((const uint8_t *)(likely[i] + 1) - 1);
    }
    for (size_t i = 0; i < count; i++) {
        const struct presence_slot *slot = likely[i];
        if (!slot || slot->user != users[i])
            slot = segment_find(&presence->segments[segment_of(hashes[i])], hashes[i], users[i]);
        found[hits] = slot;
        hits += slot != NULL;
    }
    return hits;
}

size_t presence_find_many(const struct presence *presence, const int64_t *users, size_t count,
                          const struct presence_slot **found) {
    enum { CHUNK = 256 };
    int64_t candidates[CHUNK];
    uint64_t hashes[CHUNK];
    size_t hits = 0;
    for (size_t from = 0; from < count; from += CHUNK) {
        size_t passed =
            filter_pass(presence, users + from, count - from < CHUNK ? count - from : CHUNK, candidates, hashes);
        for (size_t at = 0; at < passed; at += BATCH)
            hits += find_batch(presence, candidates + at, hashes + at, passed - at < BATCH ? passed - at : BATCH,
                               found + hits);
    }
    return hits;
}

static struct presence_slot *insert(struct presence *presence, int64_t user) {
    uint64_t hash = hash_fold((uint64_t)user);
    struct segment *segment = &presence->segments[segment_of(hash)];
    if (segment_full(segment)) segment_rebuild(segment);
    struct presence_slot *slot = segment_take(segment, hash);
    *slot = (struct presence_slot){.user = user, .time = -1, .route = PRESENCE_ROUTE_NONE, .opted = -1};
    filter_add(presence, hash);
    if (++presence->count * USER_BITS > (size_t)1 << presence->filter_bits) filter_grow(presence);
    return slot;
}

bool presence_valid(const struct location *event) {
    return event->user >= 0 && event->session >= 0 && event->time >= 0 && event->time <= PRESENCE_TIME_MAX &&
           event->route >= PRESENCE_ROUTE_NONE && event->route <= PRESENCE_ROUTE_MAX && event->opted >= -1 &&
           event->opted <= PRESENCE_TIME_MAX && geo_valid((struct geo_point){event->lat, event->lng});
}

/* ---- a user's sessions ---- */

static struct device_entry device_of(const struct presence_slot *slot) {
    return (struct device_entry){
        .session = slot->session, .route = (int32_t)slot->route, .heard = (uint16_t)slot->heard};
}

static void set_device(struct presence_slot *slot, const struct device_entry *device) {
    slot->session = device->session;
    slot->route = device->route;
    slot->heard = device->heard & DEVICES_STEP_MASK;
}

/* The slot's own entry goes, and a further one takes its place. */
static void drop_own(struct presence *presence, struct presence_slot *slot) {
    struct device_entry next = {.route = PRESENCE_ROUTE_NONE};
    if (slot->more) slot->more = devices_pop(presence->devices, slot->user, &next);
    set_device(slot, &next);
}

static void quit(struct presence *presence, struct presence_slot *slot, int64_t session) {
    if (!session) return;
    if (slot->session == session)
        drop_own(presence, slot);
    else if (slot->more)
        slot->more = devices_remove(presence->devices, slot->user, session);
}

/* A session that is not the slot's. If there are too many, the one that was silent for longest goes. */
static void enter_further(struct presence *presence, struct presence_slot *slot, const struct device_entry *device) {
    struct device_entry own = device_of(slot);
    if (slot->more && devices_renew(presence->devices, slot->user, device)) return;
    slot->more = devices_add(presence->devices, slot->user, device, &own);
    set_device(slot, &own);
}

static void enter(struct presence *presence, struct presence_slot *slot, const struct location *event,
                  int64_t arrived) {
    struct device_entry device = {
        .session = event->session, .route = event->route, .heard = devices_step(presence->devices, arrived)};
    if (event->route == PRESENCE_ROUTE_NONE) {
        quit(presence, slot, event->session);
    } else if (slot->session == event->session) {
        device.heard = devices_later((uint16_t)slot->heard, device.heard);
        set_device(slot, &device);
    } else if (!slot->session) {
        set_device(slot, &device);
    } else {
        enter_further(presence, slot, &device);
    }
}

size_t presence_entries(const struct presence *presence, const struct presence_slot *slot,
                        struct device_entry entries[DEVICES_MAX]) {
    if (!slot->session) return 0;
    entries[0] = device_of(slot);
    return slot->more ? 1 + devices_list(presence->devices, slot->user, entries + 1) : 1;
}

size_t presence_routes(const struct presence *presence, const struct presence_slot *slot, int32_t routes[DEVICES_MAX]) {
    struct device_entry entries[DEVICES_MAX];
    size_t count = presence_entries(presence, slot, entries), distinct = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (j < distinct && routes[j] != entries[i].route) j++;
        if (j == distinct) routes[distinct++] = entries[i].route;
    }
    return distinct;
}

/* ---- events ---- */

static enum presence_change apply_leave(struct presence *presence, struct presence_slot *slot,
                                        const struct location *event) {
    if (slot && event->opted < slot->opted) return PRESENCE_UNCHANGED; /* an opt-in came after it */
    if (!slot) slot = insert(presence, event->user);
    if (slot->more) devices_forget(presence->devices, slot->user);
    set_device(slot, &(struct device_entry){.route = PRESENCE_ROUTE_NONE});
    slot->more = 0;
    slot->at = (struct geo_point){0, 0};
    slot->time = event->time;
    slot->opted = event->opted;
    slot->left = 1;
    return PRESENCE_LEFT;
}

enum presence_change presence_apply(struct presence *presence, const struct location *event, int64_t arrived,
                                    struct presence_slot *old, bool *had) {
    uint64_t hash = hash_fold((uint64_t)event->user);
    struct presence_slot *slot = segment_find(&presence->segments[segment_of(hash)], hash, event->user);
    if (had) *had = slot != NULL;
    if (old && slot) *old = *slot;

    if (event->kind == LOCATION_LEAVE) return apply_leave(presence, slot, event);
    if (event->kind == LOCATION_QUIT) {
        if (slot) quit(presence, slot, event->session);
        return PRESENCE_UNCHANGED;
    }
    if (slot && slot->left && event->opted <= slot->opted) return PRESENCE_UNCHANGED; /* checked before the opt-out */

    bool positioned = slot && !slot->left;
    if (!slot) slot = insert(presence, event->user);
    if (event->opted > slot->opted) slot->opted = event->opted;
    if (event->session) enter(presence, slot, event, arrived);
    slot->left = 0;
    bool older = positioned && slot->time > event->time;
    if (!older) {
        slot->at = (struct geo_point){event->lat, event->lng};
        slot->time = event->time;
        return PRESENCE_MOVED;
    }
    return event->kind == LOCATION_REPORT ? PRESENCE_OLDER : PRESENCE_JOINED;
}

/* Forgets the user's sessions that were silent for the inactive window. */
static void fade(struct presence *presence, struct presence_slot *slot, uint16_t now) {
    if (slot->more) slot->more = devices_fade(presence->devices, slot->user, now);
    while (slot->session && devices_faded(presence->devices, (uint16_t)slot->heard, now)) drop_own(presence, slot);
}

size_t presence_sweep(struct presence *presence, int64_t now, size_t budget) {
    size_t forgotten = 0, looked = 0;
    int64_t before = now - 2 * presence->inactive_ms;
    uint16_t step = devices_step(presence->devices, now);
    for (int visited = 0; visited < SEGMENTS && looked < budget; visited++) {
        uint32_t number = presence->sweep_segment;
        struct segment *segment = &presence->segments[number];
        presence->sweep_segment = (number + 1) % SEGMENTS;
        size_t slots = (size_t)segment->groups * GROUP, before_this = forgotten;
        for (size_t i = 0; i < slots; i++) {
            if (segment->control[i] & 0x80) continue;
            fade(presence, &segment->slots[i], step);
            if (segment->slots[i].time >= before || segment->slots[i].session) continue;
            segment_delete(segment, i);
            forgotten++;
        }
        looked += slots;
        /* Give memory back when half of it is no longer needed. */
        if (segment->groups > 1 && segment->live * 2 < slots) segment_rebuild(segment);
        if (forgotten > before_this) filter_segment(presence, number);
    }
    presence->count -= forgotten;
    return forgotten;
}

size_t presence_count(const struct presence *presence) { return presence->count; }

size_t presence_bytes(const struct presence *presence) {
    size_t bytes = sizeof *presence + filter_bytes(presence->filter_bits) + devices_bytes(presence->devices);
    for (int i = 0; i < SEGMENTS; i++) bytes += segment_bytes(presence->segments[i].groups);
    return bytes;
}

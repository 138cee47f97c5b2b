#include "unit/lib/watch/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "watch/edge.h"
#include "watch/owner.h"
#include "watch/records.h"

enum { PARTS = 2, ROUTES = 3, THINGS = 4, EDGES = 2, PHONES = 64, INBOX = 64, DEPTH = 64, REPLAYED = 3 };

struct record {
    struct buffer key, value;
    bool tombstone, compacted;
};

struct topic {
    struct record *records;
    size_t count, capacity;
    size_t at;      /* the owner has read up to here */
    size_t restore; /* and is live from here on */
    bool live;
};

struct message {
    bool stale;
    struct watch_version since, version;
};

struct phone {
    bool alive, reports; /* reports: says the version of each page that it reads */
    int edge, thing;
    struct watch_version known, want;
    bool wants;
    struct message inbox[INBOX];
    size_t waiting;
};

/* The versions of a thing: the last one counts. A deletion of the newest item goes back to the one before. */
struct truth {
    struct watch_version versions[DEPTH];
    size_t depth;
    struct watch_version copy; /* of a gateway */
    struct watch_version replay[REPLAYED][2];
    size_t replays;
    bool owed; /* the owner asked and got no answer yet */
};

struct world;

struct edge_at {
    struct world *world;
    int number;
    struct watch_edge *edge;
    bool routes[ROUTES];
};

struct world {
    uint64_t random;
    int64_t now;
    bool calm, fingerprints, muted;
    enum watch_rule without;
    struct topic topics[PARTS];
    struct buffer routes[ROUTES]; /* size (4 bytes) and payload, again and again */
    struct edge_at edges[EDGES];
    struct watch_owner *owner;
    uint64_t named_again;
    struct phone phones[PHONES];
    struct truth things[THINGS];
    struct watch_history result;
};

static uint64_t below(struct world *w, uint64_t limit) { return hash_u64(w->random++) % limit; }
static bool percent(struct world *w, unsigned chance) { return below(w, 100) < chance; }
static bool off(const struct world *w, enum watch_rule rule) { return (w->without & rule) != 0; }

static size_t name_of(char *to, int thing) { return (size_t)sprintf(to, "thing:%d", thing); }
static int thing_of(const void *what) { return ((const char *)what)[6] - '0'; }
static struct watch_version newest(const struct truth *truth) { return truth->versions[truth->depth - 1]; }

/* ---- the topic ---- */

static void append(struct world *w, int32_t partition, const void *key, size_t key_size, const void *value,
                   size_t value_size) {
    struct topic *topic = &w->topics[partition];
    if (topic->count == topic->capacity) {
        topic->capacity = topic->capacity ? 2 * topic->capacity : 64;
        topic->records = mem_resize(topic->records, topic->capacity, sizeof *topic->records);
    }
    struct record *record = &topic->records[topic->count++];
    *record = (struct record){.tombstone = !value};
    buffer_append(&record->key, key, key_size);
    if (value) buffer_append(&record->value, value, value_size);
}

static bool same_key(const struct record *a, const struct record *b) {
    return a->key.size == b->key.size && memcmp(a->key.data, b->key.data, a->key.size) == 0;
}

static void compact(struct topic *topic) {
    for (size_t i = 0; i + 4 < topic->count; i++)
        for (size_t j = i + 1; j < topic->count && !topic->records[i].compacted; j++)
            topic->records[i].compacted = same_key(&topic->records[i], &topic->records[j]);
}

/* ---- the owner ---- */

static bool say_version(void *context, int32_t partition, const void *what, size_t size,
                        struct watch_version *version) {
    struct world *w = context;
    struct truth *truth = &w->things[thing_of(what)];
    truth->owed = !w->calm && percent(w, 10);
    *version = newest(truth);
    return !truth->owed;
}

static void deliver(void *context, int32_t route, const void *payload, size_t size) {
    struct world *w = context;
    struct watch_owner_stats stats;
    watch_owner_stats(w->owner, &stats);
    bool again = stats.named_again > w->named_again;
    w->named_again = stats.named_again;
    if (off(w, WATCH_RULE_ACK) && again) return;
    if (!w->calm && percent(w, 10)) return; // lost
    uint32_t length = (uint32_t)size;
    for (int copies = !w->calm && percent(w, 5) ? 2 : 1; copies > 0; copies--) {
        buffer_append(&w->routes[route], &length, sizeof length);
        buffer_append(&w->routes[route], payload, size);
    }
}

static void forget(void *context, int32_t partition, const void *key, size_t size) {
    struct world *w = context;
    if (w->calm || !percent(w, 3)) append(w, partition, key, size, NULL, 0);
}

static void owner_starts(struct world *w, int32_t partition) {
    struct topic *topic = &w->topics[partition];
    watch_owner_detach(w->owner, partition);
    watch_owner_attach(w->owner, partition, w->now);
    topic->at = 0;
    topic->restore = topic->count;
    topic->live = false;
}

static void owner_reads(struct world *w, int32_t partition, size_t most) {
    struct topic *topic = &w->topics[partition];
    for (; topic->at < topic->count && most > 0; topic->at++, most--) {
        const struct record *r = &topic->records[topic->at];
        if (!topic->live && topic->at >= topic->restore) break;
        if (r->compacted) continue;
        if (watch_owner_read(w->owner, partition, r->key.data, r->key.size, r->tombstone ? NULL : r->value.data,
                             r->value.size))
            abort();
    }
    if (topic->live || topic->at < topic->restore) return;
    topic->live = true;
    watch_owner_live(w->owner, partition);
}

static void owner_pays(struct world *w, int thing) {
    char what[16];
    size_t size = name_of(what, thing);
    if (!w->things[thing].owed) return;
    w->things[thing].owed = false;
    watch_owner_name(w->owner, thing % PARTS, what, size, newest(&w->things[thing]));
}

static void tell(struct world *w, int thing, struct watch_version since, struct watch_version version) {
    char what[16], content[96];
    size_t size = name_of(what, thing);
    int length = sprintf(content, "%lld.%llu", (long long)version.number, (unsigned long long)version.hash);
    watch_owner_change(w->owner, thing % PARTS, what, size, since, version, content, (size_t)length);
}

/* Effects are repeated after a take-over, in their order. */
static void repeat_effects(struct world *w, int thing) {
    struct truth *truth = &w->things[thing];
    for (size_t i = 0; i < truth->replays; i++) tell(w, thing, truth->replay[i][0], truth->replay[i][1]);
}

static struct watch_version next_version(struct world *w, struct truth *truth) {
    struct watch_version now = newest(truth);
    if (!w->fingerprints)
        now.number += percent(w, 20) ? 3 : 1;
    else
        now = (struct watch_version){.number = now.number + (int64_t)below(w, 2), .hash = hash_u64(w->random++) | 1};
    return now;
}

static void change(struct world *w, int thing) {
    struct truth *truth = &w->things[thing];
    struct watch_version since = newest(truth);
    if (w->fingerprints && truth->depth > 1 && percent(w, 30)) {
        truth->depth--;
    } else {
        struct watch_version next = next_version(w, truth);
        if (!w->fingerprints || truth->depth == DEPTH) truth->depth--;
        truth->versions[truth->depth++] = next;
    }
    if (truth->replays == REPLAYED) {
        memmove(truth->replay[0], truth->replay[1], sizeof truth->replay - sizeof truth->replay[0]);
        truth->replays--;
    }
    truth->replay[truth->replays][0] = since;
    truth->replay[truth->replays++][1] = newest(truth);
    tell(w, thing, since, newest(truth));
}

/* ---- the edges ---- */

static int32_t partition_of(void *context, const void *what, size_t size) { return thing_of(what) % PARTS; }

static int write_record(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                        size_t value_size) {
    struct edge_at *at = context;
    struct world *w = at->world;
    if (!w->calm && percent(w, 5)) return -EAGAIN;
    if (off(w, WATCH_RULE_ROLLCALL) && key_size == 8) return 0;
    if (w->calm || !percent(w, 3)) append(w, partition, key, key_size, value, value_size);
    return 0;
}

static void post(struct world *w, uint64_t session, struct message message) {
    struct phone *phone = &w->phones[session];
    if (phone->waiting == INBOX) {
        memmove(phone->inbox, phone->inbox + 1, sizeof phone->inbox - sizeof phone->inbox[0]);
        phone->waiting--;
    }
    phone->inbox[phone->waiting++] = message;
}

static void tell_change(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size) {
    struct edge_at *at = context;
    char expected[96];
    int length = sprintf(expected, "%lld.%llu", (long long)version.number, (unsigned long long)version.hash);
    at->world->result.wrong_contents += content_size != (size_t)length || memcmp(content, expected, content_size) != 0;
    at->world->result.changes++;
    post(at->world, session, (struct message){.since = since, .version = version});
}

static void tell_stale(void *context, uint64_t session, const void *what, size_t size, struct watch_version version,
                       int64_t after_ms) {
    struct edge_at *at = context;
    at->world->result.stales++;
    if (!at->world->muted) post(at->world, session, (struct message){.stale = true, .version = version});
}

static void edge_starts(struct world *w, struct edge_at *at) {
    watch_edge_free(at->edge);
    struct watch_edge_options options = {.watcher = hash_u64(w->random++),
                                         .partitions = PARTS,
                                         .slice = 1 + (size_t)below(w, 8),
                                         .queue_bytes = 2000,
                                         .context = at,
                                         .partition = partition_of,
                                         .write = write_record,
                                         .tell_change = tell_change,
                                         .tell_stale = tell_stale};
    at->edge = watch_edge_new(&options, w->now);
    for (size_t i = 0; i < PHONES; i++)
        if (w->phones[i].edge == at->number) w->phones[i].alive = false;
}

static int32_t least_route(const struct edge_at *at) {
    for (int32_t route = 0; route < ROUTES; route++)
        if (at->routes[route]) return route;
    return -1;
}

static void edge_settles(struct world *w, struct edge_at *at) {
    watch_edge_route(at->edge, least_route(at));
    for (uint64_t slices = w->calm ? UINT64_MAX : below(w, 20); slices > 0; slices--)
        if (watch_edge_continue(at->edge, w->now) > 0 && w->calm) break;
}

static void edge_consumes(struct world *w, int32_t route) {
    struct buffer *queue = &w->routes[route];
    struct edge_at *at = NULL;
    for (int i = 0; i < EDGES; i++)
        if (w->edges[i].routes[route]) at = &w->edges[i];
    for (size_t i = 0; at && i < queue->size;) {
        uint32_t size;
        memcpy(&size, queue->data + i, sizeof size);
        const uint8_t *payload = queue->data + i + sizeof size;
        i += sizeof size + size;
        while (watch_edge_take(at->edge, payload, size) == -EAGAIN && w->calm) watch_edge_continue(at->edge, w->now);
    }
    if (at) buffer_clear(queue);
}

static void move_route(struct world *w, int from, int to) {
    for (uint64_t first = below(w, ROUTES), i = 0; i < ROUTES; i++) {
        uint64_t route = (first + i) % ROUTES;
        if (!w->edges[from].routes[route]) continue;
        w->edges[from].routes[route] = false;
        w->edges[to].routes[route] = true;
        return;
    }
}

/* ---- the phones ---- */

static void phone_says(struct world *w, struct phone *phone) {
    char what[16];
    size_t size = name_of(what, phone->thing);
    w->muted = off(w, WATCH_RULE_SECOND);
    if (watch_edge_show(w->edges[phone->edge].edge, (uint64_t)(phone - w->phones), what, size, &phone->known)) abort();
    w->muted = false;
}

static void phone_comes(struct world *w, int edge) {
    for (size_t i = 0; i < PHONES; i++) {
        struct phone *phone = &w->phones[i];
        if (phone->alive) continue;
        int thing = (int)below(w, THINGS);
        *phone = (struct phone){.alive = true,
                                .reports = w->fingerprints || percent(w, 50),
                                .edge = edge,
                                .thing = thing,
                                .known = w->things[thing].copy};
        phone_says(w, phone);
        return;
    }
}

static void phone_goes(struct world *w, int edge) {
    for (size_t i = 0, first = below(w, PHONES); i < PHONES; i++) {
        size_t session = (first + i) % PHONES;
        struct phone *phone = &w->phones[session];
        if (!phone->alive || phone->edge != edge) continue;
        char what[16];
        size_t size = name_of(what, phone->thing);
        if (percent(w, 50))
            watch_edge_leave(w->edges[edge].edge, session);
        else
            watch_edge_hide(w->edges[edge].edge, session, what, size);
        phone->alive = false;
        return;
    }
}

static void wants(struct phone *phone, struct watch_version version) {
    bool counters = watch_version_counters(phone->known, version);
    if (watch_version_same(phone->known, version)) return;
    if (counters && version.number < phone->known.number) return;
    if (counters && phone->wants && version.number < phone->want.number) return;
    phone->wants = true;
    phone->want = version;
}

static void phone_hears(struct phone *phone) {
    for (size_t i = 0; i < phone->waiting; i++) {
        const struct message *message = &phone->inbox[i];
        if (message->stale || !watch_version_same(message->since, phone->known))
            wants(phone, message->version);
        else
            phone->known = message->version;
    }
    phone->waiting = 0;
}

/* Reads the page, perhaps from an old copy, if the phone was told to. */
static void phone_reads(struct world *w, struct phone *phone) {
    const struct truth *truth = &w->things[phone->thing];
    if (!phone->wants) return;
    struct watch_version page = w->calm || percent(w, 50) ? newest(truth) : truth->copy;
    bool older = page.number < phone->want.number;
    if (w->fingerprints ? !older : page.number > phone->known.number) phone->known = page;
    if (off(w, WATCH_RULE_REREAD)) {
        phone->wants = false;
        return;
    }
    phone->wants = older && phone->known.number < phone->want.number;
    if (phone->reports) phone_says(w, phone);
}

static void phones_read(struct world *w) {
    for (size_t i = 0; i < PHONES; i++) {
        struct phone *phone = &w->phones[i];
        if (!phone->alive || (!w->calm && percent(w, 40))) continue;
        // A page that is read while messages wait is how the two cross.
        if (percent(w, 70)) phone_hears(phone);
        phone_reads(w, phone);
        if (w->calm) phone_hears(phone);
    }
}

/* ---- time ---- */

static void owner_continues(struct world *w) {
    for (uint64_t slices = w->calm ? UINT64_MAX : below(w, 20); slices > 0; slices--)
        if (watch_owner_continue(w->owner, w->now) > 0 && w->calm) break;
}

/* Everybody does what there is to do; when all is calm, until nothing is left. */
static void everybody(struct world *w) {
    for (int round = w->calm ? 4 : 1; round > 0; round--) {
        for (int i = 0; i < EDGES; i++) edge_settles(w, &w->edges[i]);
        for (int i = 0; i < PARTS; i++) owner_reads(w, i, SIZE_MAX);
        for (int i = 0; i < THINGS; i++) owner_pays(w, i);
        owner_continues(w);
        for (int32_t i = 0; i < ROUTES; i++) edge_consumes(w, i);
        phones_read(w);
    }
}

static void pass(struct world *w, int64_t ms) {
    w->now += ms;
    everybody(w);
}

static void step(struct world *w) {
    uint64_t r = below(w, 100);
    int e = (int)below(w, EDGES), thing = (int)below(w, THINGS);
    if (r < 15) {
        phone_comes(w, e);
    } else if (r < 22) {
        phone_goes(w, e);
    } else if (r < 45) {
        if (percent(w, 80)) owner_reads(w, thing % PARTS, SIZE_MAX);
        change(w, thing);
    } else if (r < 50) {
        for (int i = 0; i < THINGS; i++) w->things[i].copy = newest(&w->things[i]);
    } else if (r < 55) {
        owner_starts(w, (int32_t)below(w, PARTS));
    } else if (r < 60) {
        move_route(w, e, 1 - e);
    } else if (r < 63) {
        edge_starts(w, &w->edges[e]);
    } else if (r < 70) {
        compact(&w->topics[below(w, PARTS)]);
    } else if (r < 75) {
        for (int i = 0; i < 6; i++) pass(w, 10000);
    } else if (r < 80) {
        repeat_effects(w, thing);
    } else if (r < 83) {
        owner_pays(w, thing);
    }
    w->now += (int64_t)below(w, 3000);
    if (percent(w, 60)) edge_settles(w, &w->edges[below(w, EDGES)]);
    if (percent(w, 60)) owner_reads(w, (int32_t)below(w, PARTS), (size_t)below(w, 30));
    if (percent(w, 60)) owner_continues(w);
    if (percent(w, 60)) edge_consumes(w, (int32_t)below(w, ROUTES));
    if (percent(w, 30)) phones_read(w);
}

static void compare(struct world *w) {
    for (size_t i = 0; i < PHONES; i++) {
        const struct phone *phone = &w->phones[i];
        w->result.old_screens += phone->alive && !watch_version_same(phone->known, newest(&w->things[phone->thing]));
    }
}

/* Whether owner and edges hold the same. */
static void compare_watches(struct world *w) {
    size_t shown = 0;
    struct watch_owner_stats owner;
    struct watch_edge_stats edge;
    for (int i = 0; i < EDGES; i++) {
        watch_edge_stats(w->edges[i].edge, &edge);
        shown += edge.things;
    }
    watch_owner_stats(w->owner, &owner);
    w->result.strangers = (unsigned)(owner.watches > shown ? owner.watches - shown : shown - owner.watches);
    w->result.named_again = owner.named_again;
    w->result.asked_again = owner.asked_again;
    w->result.silent = owner.silent;
}

static void begin(struct world *w) {
    struct watch_owner_options options = {.partitions = PARTS,
                                          .slice = 1 + (size_t)below(w, 8),
                                          .context = w,
                                          .output = w,
                                          .version = say_version,
                                          .deliver = deliver,
                                          .forget = forget};
    w->owner = watch_owner_new(&options);
    for (int i = 0; i < PARTS; i++) owner_starts(w, i);
    for (int i = 0; i < THINGS; i++) {
        w->things[i].versions[0] = (struct watch_version){.hash = w->fingerprints ? hash_u64((uint64_t)i) | 1 : 0};
        w->things[i].depth = 1;
        w->things[i].copy = w->things[i].versions[0];
    }
    for (int i = 0; i < EDGES; i++) {
        w->edges[i] = (struct edge_at){.world = w, .number = i, .routes = {i == 0, i == 0, i == 1}};
        edge_starts(w, &w->edges[i]);
    }
}

static void end(struct world *w) {
    for (int i = 0; i < EDGES; i++) watch_edge_free(w->edges[i].edge);
    watch_owner_free(w->owner);
    for (int i = 0; i < ROUTES; i++) buffer_free(&w->routes[i]);
    for (int i = 0; i < PARTS; i++) {
        for (size_t j = 0; j < w->topics[i].count; j++) {
            buffer_free(&w->topics[i].records[j].key);
            buffer_free(&w->topics[i].records[j].value);
        }
        free(w->topics[i].records);
    }
}

struct watch_history watch_history_run(uint64_t seed, bool fingerprints, enum watch_rule without) {
    struct world *w = mem_zero(1, sizeof *w);
    *w = (struct world){.random = seed << 20, .fingerprints = fingerprints, .without = without};
    begin(w);
    for (uint64_t steps = 20 + below(w, 130); steps > 0; steps--) step(w);
    w->calm = true;
    for (int i = 0; i < EDGES; i++)
        if (least_route(&w->edges[i]) < 0) move_route(w, 1 - i, i);
    for (int i = 0; i < 18; i++) pass(w, 10000); // three minutes
    compare(w);
    for (int i = 0; i < 6; i++) pass(w, 30000);
    compare_watches(w);
    struct watch_history result = w->result;
    end(w);
    free(w);
    return result;
}

/* Delivers changes and versions. */
#include "watch/owner_private.h"

/* The watcher is to acknowledge what it is told now. */
void watch_owner_pend(struct watching *watching) {
    if (watching->pending) return;
    watching->pending = true;
    watching->due_known = false;
    watch_link_move(&watching->watcher->pending, &watching->by_watcher);
}

static void encode(struct watch_owner *owner, const struct watch_delivery *delivery) {
    buffer_clear(&owner->payload);
    watch_delivery_encode(&owner->payload, delivery);
}

static void send(struct watch_owner *owner, int32_t route) {
    owner->options.deliver(owner->options.output, route, owner->payload.data, owner->payload.size);
}

/* Delivers what is encoded once to each route that watches the thing; returns to how many. version: it names one, which the watchers are
 * to acknowledge. */
static size_t send_all(struct watch_owner *owner, struct thing *thing, bool version) {
    size_t routes = 0;
    owner->round++;
    for (struct watch_link *link = thing->watchings.next; link != &thing->watchings; link = link->next) {
        struct watching *watching = watch_item(link, struct watching, by_thing);
        if (watching->watcher->dropped) continue;
        if (version) watch_owner_pend(watching);
        uint64_t *last = map_put(owner->routes, (uint64_t)watching->route, NULL);
        if (*last == owner->round) continue;
        *last = owner->round;
        send(owner, watching->route);
        routes++;
    }
    return routes;
}

/* Whether the thing's version is known; asks for it if not. */
static bool learn(struct watch_owner *owner, const struct watch_owner_part *part, struct thing *thing) {
    if (!thing->known)
        thing->known = owner->options.version(owner->options.context, part->number, thing->name.what, thing->name.size,
                                              &thing->version);
    return thing->known;
}

static void encode_name(struct watch_owner *owner, const struct thing *thing) {
    encode(owner, &(struct watch_delivery){.is = WATCH_NOTE_IS_NAMED,
                                           .what = thing->name.what,
                                           .what_size = thing->name.size,
                                           .version = thing->version});
}

size_t watch_owner_name_thing(struct watch_owner *owner, struct watch_owner_part *part, struct thing *thing) {
    if (!learn(owner, part, thing)) {
        for (struct watch_link *link = thing->watchings.next; link != &thing->watchings; link = link->next)
            watch_owner_pend(watch_item(link, struct watching, by_thing)); // Roll calls ask again.
        return 0;
    }
    encode_name(owner, thing);
    size_t routes = send_all(owner, thing, true);
    owner->stats.named += routes;
    return routes;
}

void watch_owner_name_one(struct watch_owner *owner, struct watch_owner_part *part, struct watching *watching) {
    if (!watching->thing->known) { // The others do not know the version either.
        watch_owner_name_thing(owner, part, watching->thing);
        return;
    }
    watch_owner_pend(watching);
    encode_name(owner, watching->thing);
    send(owner, watching->route);
    owner->stats.named++;
}

void watch_owner_ask_again(struct watch_owner *owner, const struct watch_owner_part *part, uint64_t watcher,
                           int32_t route) {
    encode(owner, &(struct watch_delivery){.is = WATCH_NOTE_IS_AGAIN, .watcher = watcher, .partition = part->number});
    send(owner, route);
    owner->stats.asked_again++;
}

static struct thing *live_thing(const struct watch_owner *owner, int32_t partition, const void *what, size_t size) {
    const struct watch_owner_part *part = owner->parts[partition];
    return part && part->live ? watch_owner_thing_find(part, what, size) : NULL;
}

size_t watch_owner_change(struct watch_owner *owner, int32_t partition, const void *what, size_t size,
                          struct watch_version since, struct watch_version version, const void *content,
                          size_t content_size) {
    struct thing *thing = live_thing(owner, partition, what, size);
    if (!thing) return 0;
    bool counters = thing->known && watch_version_counters(thing->version, version);
    if (counters && version.number <= thing->version.number) return 0;
    thing->known = true;
    thing->version = version;
    encode(owner, &(struct watch_delivery){.is = WATCH_NOTE_IS_TOLD,
                                           .what = what,
                                           .what_size = size,
                                           .since = since,
                                           .version = version,
                                           .content = content,
                                           .content_size = content_size});
    size_t routes = send_all(owner, thing, true);
    owner->stats.told += routes;
    return routes;
}

size_t watch_owner_show(struct watch_owner *owner, int32_t partition, const void *what, size_t size,
                        const void *content, size_t content_size) {
    struct thing *thing = live_thing(owner, partition, what, size);
    if (!thing) return 0;
    encode(owner, &(struct watch_delivery){.is = WATCH_NOTE_IS_TOLD,
                                           .what = what,
                                           .what_size = size,
                                           .since = WATCH_VERSION_ANY,
                                           .version = WATCH_VERSION_ANY,
                                           .content = content,
                                           .content_size = content_size});
    size_t routes = send_all(owner, thing, false);
    owner->stats.told += routes;
    return routes;
}

size_t watch_owner_name(struct watch_owner *owner, int32_t partition, const void *what, size_t size,
                        struct watch_version version) {
    struct thing *thing = live_thing(owner, partition, what, size);
    if (!thing) return 0;
    bool counters = thing->known && watch_version_counters(thing->version, version);
    if (counters && version.number < thing->version.number) return 0;
    thing->known = true;
    thing->version = version;
    return watch_owner_name_thing(owner, owner->parts[partition], thing);
}

bool watch_owner_watched(const struct watch_owner *owner, int32_t partition, const void *what, size_t size) {
    const struct watch_owner_part *part = owner->parts[partition];
    return part && watch_owner_thing_find(part, what, size);
}

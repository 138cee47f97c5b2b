#include "watch/owner_private.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct watch_owner *watch_owner_new(const struct watch_owner_options *options) {
    struct watch_owner *owner =
        MEM_NEW(&(struct watch_owner){.options = *options,
                                      .parts = mem_zero((size_t)options->partitions, sizeof *owner->parts),
                                      .routes = map_new()});
    if (!owner->options.slice) owner->options.slice = 1000;
    watch_link_init(&owner->gone);
    return owner;
}

/* ---- partitions ---- */

void watch_owner_attach(struct watch_owner *owner, int32_t partition, int64_t now_ms) {
    struct watch_owner_part *part = MEM_NEW(&(struct watch_owner_part){.number = partition,
                                                                       .tick_ms = now_ms + OWNER_TICK_MS,
                                                                       .names = map_new(),
                                                                       .watching = map_new(),
                                                                       .acked = map_new(),
                                                                       .watchers = map_new()});
    struct watch_link *links[] = {&part->things, &part->unnamed, &part->heard,
                                  &part->work,   &part->dropped, &part->in_gone};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) watch_link_init(links[i]);
    owner->parts[partition] = part;
}

void watch_owner_live(struct watch_owner *owner, int32_t partition) {
    struct watch_owner_part *part = owner->parts[partition];
    part->live = true;
    watch_list_splice(&part->unnamed, &part->things);
}

bool watch_owner_is_live(const struct watch_owner *owner, int32_t partition) {
    return owner->parts[partition] && owner->parts[partition]->live;
}

void watch_owner_detach(struct watch_owner *owner, int32_t partition) {
    struct watch_owner_part *part = owner->parts[partition];
    if (!part) return;
    owner->parts[partition] = NULL;
    part->live = false;
    watch_list_splice(&part->things, &part->unnamed);
    watch_link_move(&owner->gone, &part->in_gone);
}

static void free_watchers(struct watch_owner *owner, struct watch_link *list) {
    while (!watch_list_empty(list)) {
        watch_owner_watcher_free(watch_item(list->next, struct watcher, in_part));
        owner->stats.watchers--;
    }
}

/* Frees what the budget allows of a detached partition, and then the partition. */
static void free_part(struct watch_owner *owner, struct watch_owner_part *part, size_t *budget) {
    while (*budget > 0 && !watch_list_empty(&part->things)) {
        struct thing *thing = watch_item(part->things.next, struct thing, in_part);
        watch_owner_watching_free(owner, part, watch_item(thing->watchings.next, struct watching, by_thing));
        --*budget;
    }
    if (!watch_list_empty(&part->things)) return;
    free_watchers(owner, &part->heard);
    free_watchers(owner, &part->dropped);
    watch_link_out(&part->in_gone);
    map_free(part->names);
    map_free(part->watching);
    map_free(part->acked);
    map_free(part->watchers);
    free(part);
}

void watch_owner_free(struct watch_owner *owner) {
    if (!owner) return;
    for (int32_t i = 0; i < owner->options.partitions; i++) watch_owner_detach(owner, i);
    while (!watch_list_empty(&owner->gone)) {
        size_t budget = SIZE_MAX;
        free_part(owner, watch_item(owner->gone.next, struct watch_owner_part, in_gone), &budget);
    }
    free(owner->parts);
    map_free(owner->routes);
    buffer_free(&owner->payload);
    free(owner);
}

/* ---- records ---- */

static void read_watch(struct watch_owner *owner, struct watch_owner_part *part, const struct watch_key *key,
                       int32_t route) {
    struct watching *watching = watch_owner_watching_put(owner, part, key, route);
    watching->watcher->silent = 0;
    if (part->live) watch_owner_name_one(owner, part, watching);
}

static void read_tombstone(struct watch_owner *owner, struct watch_owner_part *part, const struct watch_key *key) {
    struct thing *thing = key->what_size ? watch_owner_thing_find(part, key->what, key->what_size) : NULL;
    if (!thing) return;
    struct watching *watching = watch_owner_watching_find(part, thing, key->watcher);
    if (watching) watch_owner_watching_free(owner, part, watching);
}

int watch_owner_read(struct watch_owner *owner, int32_t partition, const void *key, size_t key_size, const void *value,
                     size_t value_size) {
    struct watch_owner_part *part = owner->parts[partition];
    struct watch_key parsed;
    struct watch_roll roll;
    int32_t route;
    if (watch_key_decode(key, key_size, &parsed)) return -EBADMSG;
    if (!value) {
        read_tombstone(owner, part, &parsed);
    } else if (parsed.what_size > 0) {
        if (watch_value_decode(value, value_size, &route)) return -EBADMSG;
        read_watch(owner, part, &parsed, route);
    } else {
        if (watch_roll_decode(value, value_size, &roll)) return -EBADMSG;
        watch_owner_roll_call(owner, part, parsed.watcher, &roll);
    }
    return 0;
}

/* ---- the loop ---- */

static void name_unnamed(struct watch_owner *owner, struct watch_owner_part *part, size_t *budget) {
    while (*budget > 0 && !watch_list_empty(&part->unnamed)) {
        struct thing *thing = watch_item(part->unnamed.next, struct thing, in_part);
        watch_link_move(&part->things, &thing->in_part);
        size_t routes = watch_owner_name_thing(owner, part, thing);
        *budget -= routes + 1 < *budget ? routes + 1 : *budget;
    }
}

static void free_dropped(struct watch_owner *owner, struct watch_owner_part *part, size_t *budget) {
    while (*budget > 0 && !watch_list_empty(&part->dropped)) {
        struct watcher *watcher = watch_item(part->dropped.next, struct watcher, in_part);
        struct watch_link *lists[] = {&watcher->settled, &watcher->pending, &watcher->checked}, *link = NULL;
        for (size_t i = 0; i < 3 && !link; i++)
            if (!watch_list_empty(lists[i])) link = lists[i]->next;
        --*budget;
        if (link) {
            watch_owner_watching_free(owner, part, watch_item(link, struct watching, by_watcher));
        } else {
            watch_owner_watcher_free(watcher);
            owner->stats.watchers--;
        }
    }
}

static bool work_left(const struct watch_owner_part *part) {
    return !watch_list_empty(&part->unnamed) || !watch_list_empty(&part->work) || !watch_list_empty(&part->dropped);
}

int64_t watch_owner_continue(struct watch_owner *owner, int64_t now_ms) {
    size_t budget = owner->options.slice;
    int64_t next_ms = now_ms + OWNER_TICK_MS;
    bool left = false;
    for (int32_t i = 0; i < owner->options.partitions; i++) {
        struct watch_owner_part *part = owner->parts[i];
        if (!part) continue;
        if (part->live && now_ms >= part->tick_ms) watch_owner_tick(owner, part, now_ms);
        name_unnamed(owner, part, &budget);
        watch_owner_check(owner, part, &budget);
        free_dropped(owner, part, &budget);
        left = left || work_left(part);
        if (part->live && part->tick_ms < next_ms) next_ms = part->tick_ms;
    }
    while (budget > 0 && !watch_list_empty(&owner->gone))
        free_part(owner, watch_item(owner->gone.next, struct watch_owner_part, in_gone), &budget);
    return left || !watch_list_empty(&owner->gone) ? 0 : next_ms - now_ms;
}

void watch_owner_stats(const struct watch_owner *owner, struct watch_owner_stats *stats) { *stats = owner->stats; }

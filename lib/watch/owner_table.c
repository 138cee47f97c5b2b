/* The owner's tables: things, watchers, and the watchings that connect them. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "watch/owner_private.h"

/* ---- things ---- */

struct thing *watch_owner_thing_find(const struct watch_owner_part *part, const void *what, size_t size) {
    return (struct thing *)watch_names_find(part->names, watch_hash(what, size), what, size);
}

static void say_watched(struct watch_owner *owner, const struct watch_owner_part *part, const struct thing *thing,
                        bool now) {
    if (owner->options.watched)
        owner->options.watched(owner->options.context, part->number, thing->name.what, thing->name.size, now);
}

static struct thing *add_thing(struct watch_owner *owner, struct watch_owner_part *part, const void *what,
                               size_t size) {
    struct thing *thing = mem_alloc(sizeof *thing + size);
    uint8_t *copy = (uint8_t *)(thing + 1);
    memcpy(copy, what, size);
    *thing = (struct thing){.name = {.hash = watch_hash(what, size), .what = copy, .size = size}, .known = false};
    watch_link_init(&thing->in_part);
    watch_link_init(&thing->watchings);
    watch_link_move(&part->things, &thing->in_part);
    watch_names_add(part->names, &thing->name);
    owner->stats.things++;
    say_watched(owner, part, thing, true);
    return thing;
}

static void free_thing(struct watch_owner *owner, struct watch_owner_part *part, struct thing *thing) {
    if (owner->parts[part->number] == part) say_watched(owner, part, thing, false);
    watch_names_remove(part->names, &thing->name);
    watch_link_out(&thing->in_part);
    free(thing);
    owner->stats.things--;
}

/* ---- watchers ---- */

struct watcher *watch_owner_watcher(struct watch_owner *owner, struct watch_owner_part *part, uint64_t number) {
    uint64_t *place = map_put(part->watchers, number, NULL);
    if (*place) return (struct watcher *)(uintptr_t)*place;
    struct watcher *watcher = mem_alloc(sizeof *watcher);
    *watcher = (struct watcher){.number = number};
    struct watch_link *links[] = {&watcher->in_part, &watcher->in_work, &watcher->settled, &watcher->pending,
                                  &watcher->checked};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) watch_link_init(links[i]);
    watch_link_move(&part->heard, &watcher->in_part);
    *place = (uintptr_t)watcher;
    owner->stats.watchers++;
    return watcher;
}

void watch_owner_watcher_drop(struct watch_owner *owner, struct watch_owner_part *part, struct watcher *watcher,
                              bool forgotten) {
    map_remove(part->watchers, watcher->number, NULL);
    watcher->dropped = true;
    watcher->forgotten = forgotten;
    watch_link_out(&watcher->in_work);
    watch_link_move(&part->dropped, &watcher->in_part);
    if (!forgotten || !owner->options.forget) return;
    uint8_t key[WATCH_KEY_MAX];
    size_t size = watch_key_encode(key, NULL, 0, watcher->number);
    owner->options.forget(owner->options.context, part->number, key, size); // of its roll call
}

void watch_owner_watcher_free(struct watcher *watcher) {
    watch_link_out(&watcher->in_part);
    watch_link_out(&watcher->in_work);
    free(watcher);
}

/* ---- watchings ---- */

static uint64_t table_key(uint64_t what_hash, uint64_t watcher) { return hash_u64(what_hash ^ hash_u64(watcher)); }

struct watching *watch_owner_watching_find(const struct watch_owner_part *part, uint64_t what_hash, uint64_t watcher,
                                           const struct thing *thing) {
    struct watching *watching = map_pointer(part->watching, table_key(what_hash, watcher));
    for (; watching; watching = watching->same) {
        bool this = thing ? watching->thing == thing : watching->thing->name.hash == what_hash;
        if (this && watching->watcher->number == watcher) return watching;
    }
    return NULL;
}

static void count(struct watching *watching, int sign) {
    watching->watcher->count += sign;
    watching->watcher->hash += (uint64_t)sign * watch_hash_share(watching->thing->name.hash, watching->route);
}

static struct watching *add_watching(struct watch_owner *owner, struct watch_owner_part *part, struct thing *thing,
                                     struct watcher *watcher) {
    uint64_t *first = map_put(part->watching, table_key(thing->name.hash, watcher->number), NULL);
    struct watching *watching = mem_alloc(sizeof *watching);
    *watching = (struct watching){
        .same = (struct watching *)(uintptr_t)*first, .thing = thing, .watcher = watcher, .pending = false};
    *first = (uintptr_t)watching;
    watch_link_init(&watching->by_thing);
    watch_link_init(&watching->by_watcher);
    watch_link_move(&thing->watchings, &watching->by_thing);
    owner->stats.watches++;
    return watching;
}

struct watching *watch_owner_watching_put(struct watch_owner *owner, struct watch_owner_part *part,
                                          const struct watch_key *key, int32_t route) {
    struct watcher *watcher = watch_owner_watcher(owner, part, key->watcher);
    struct thing *thing = watch_owner_thing_find(part, key->what, key->what_size);
    if (!thing) thing = add_thing(owner, part, key->what, key->what_size);
    struct watching *watching = watch_owner_watching_find(part, thing->name.hash, key->watcher, thing);
    if (watching)
        count(watching, -1);
    else
        watching = add_watching(owner, part, thing, watcher);
    watching->watcher = watcher; // It may still have been one of those that go away.
    watching->route = route;
    watching->pending = watching->due_known = false;
    watch_link_move(&watcher->settled, &watching->by_watcher);
    count(watching, 1);
    return watching;
}

static void remove_from_table(struct watch_owner_part *part, struct watching *watching) {
    uint64_t key = table_key(watching->thing->name.hash, watching->watcher->number);
    struct watching *first = map_pointer(part->watching, key);
    if (first == watching && !watching->same) {
        map_remove(part->watching, key, NULL);
    } else if (first == watching) {
        *map_find(part->watching, key) = (uintptr_t)watching->same;
    } else {
        while (first->same != watching) first = first->same;
        first->same = watching->same;
    }
}

static void forget(struct watch_owner *owner, const struct watch_owner_part *part, const struct watching *watching) {
    uint8_t key[WATCH_KEY_MAX];
    const struct watch_name *name = &watching->thing->name;
    size_t size = watch_key_encode(key, name->what, name->size, watching->watcher->number);
    if (owner->options.forget) owner->options.forget(owner->options.context, part->number, key, size);
}

void watch_owner_watching_free(struct watch_owner *owner, struct watch_owner_part *part, struct watching *watching) {
    struct thing *thing = watching->thing;
    bool attached = owner->parts[part->number] == part;
    if (watching->watcher->forgotten && attached) forget(owner, part, watching);
    count(watching, -1);
    remove_from_table(part, watching);
    watch_link_out(&watching->by_thing);
    watch_link_out(&watching->by_watcher);
    free(watching);
    owner->stats.watches--;
    if (watch_list_empty(&thing->watchings)) free_thing(owner, part, thing);
}

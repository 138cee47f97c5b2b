/* The owner's tables: things, watchers, and the watchings that connect them. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "watch/owner_private.h"

/* ---- things ---- */

struct thing *watch_owner_thing_find(const struct watch_owner_part *part, const void *what, size_t size) {
    return (struct thing *)watch_names_find(part->names, what, size);
}

static void say_watched(struct watch_owner *owner, const struct watch_owner_part *part, const struct thing *thing,
                        bool now) {
    if (owner->options.watched)
        owner->options.watched(owner->options.context, part->number, thing->name.what, thing->name.size, now);
}

static struct thing *add_thing(struct watch_owner *owner, struct watch_owner_part *part, const void *what,
                               size_t size) {
    struct thing *thing = mem_alloc(sizeof *thing + size);
    *thing = (struct thing){.name = watch_name_of(thing + 1, what, size), .known = false};
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
    struct watcher *watcher = MEM_NEW(&(struct watcher){.number = number});
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
    owner->options.forget(owner->options.output, part->number, key, size); // of its roll call
}

void watch_owner_watcher_free(struct watcher *watcher) {
    watch_link_out(&watcher->in_part);
    watch_link_out(&watcher->in_work);
    free(watcher);
}

/* ---- watchings ---- */

static uint64_t table_key(uint64_t what, uint64_t watcher) { return hash_fold(what ^ hash_fold(watcher)); }

struct watching *watch_owner_watching_find(const struct watch_owner_part *part, const struct thing *thing,
                                           uint64_t watcher) {
    struct watching *watching = map_pointer(part->watching, table_key(thing->name.key, watcher));
    while (watching && (watching->thing != thing || watching->watcher->number != watcher)) watching = watching->same;
    return watching;
}

/* ---- by the hash that acknowledgements have ---- */

static uint64_t acked_key(const struct watching *watching) {
    return table_key(watching->thing->name.hash, watching->watcher->number);
}

struct watching *watch_owner_watching_acked(const struct watch_owner_part *part, uint64_t what_hash, uint64_t watcher) {
    struct watching *watching = map_pointer(part->acked, table_key(what_hash, watcher));
    if (!watching || !watch_list_empty(&watching->in_same_hash)) return NULL;
    return watching->thing->name.hash == what_hash && watching->watcher->number == watcher ? watching : NULL;
}

static void add_acked(struct watch_owner_part *part, struct watching *watching) {
    uint64_t *first = map_put(part->acked, acked_key(watching), NULL);
    struct watching *other = (struct watching *)(uintptr_t)*first;
    *first = (uintptr_t)watching;
    watch_link_init(&watching->in_same_hash);
    if (!other) return;
    watch_owner_pend(other); // It is not acknowledged any more.
    watch_link_move(&other->in_same_hash, &watching->in_same_hash);
}

static void remove_acked(struct watch_owner_part *part, struct watching *watching) {
    struct watch_link *other = watching->in_same_hash.next;
    if (other == &watching->in_same_hash)
        map_remove(part->acked, acked_key(watching), NULL);
    else
        *map_find(part->acked, acked_key(watching)) = (uintptr_t)watch_item(other, struct watching, in_same_hash);
    watch_link_out(&watching->in_same_hash);
}

/* ---- watchings, added and removed ---- */

static void count(struct watching *watching, int sign) {
    watching->watcher->count += sign;
    watching->watcher->hash += (uint64_t)sign * watch_hash_share(watching->thing->name.hash, watching->route);
}

static struct watching *add_watching(struct watch_owner *owner, struct watch_owner_part *part, struct thing *thing,
                                     struct watcher *watcher) {
    uint64_t *first = map_put(part->watching, table_key(thing->name.key, watcher->number), NULL);
    struct watching *watching = MEM_NEW(&(struct watching){
        .same = (struct watching *)(uintptr_t)*first, .thing = thing, .watcher = watcher, .pending = false});
    *first = (uintptr_t)watching;
    watch_link_init(&watching->by_thing);
    watch_link_init(&watching->by_watcher);
    watch_link_move(&thing->watchings, &watching->by_thing);
    add_acked(part, watching);
    owner->stats.watches++;
    return watching;
}

struct watching *watch_owner_watching_put(struct watch_owner *owner, struct watch_owner_part *part,
                                          const struct watch_key *key, int32_t route) {
    struct watcher *watcher = watch_owner_watcher(owner, part, key->watcher);
    struct thing *thing = watch_owner_thing_find(part, key->what, key->what_size);
    if (!thing) thing = add_thing(owner, part, key->what, key->what_size);
    struct watching *watching = watch_owner_watching_find(part, thing, key->watcher);
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
    uint64_t key = table_key(watching->thing->name.key, watching->watcher->number);
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
    if (owner->options.forget) owner->options.forget(owner->options.output, part->number, key, size);
}

void watch_owner_watching_free(struct watch_owner *owner, struct watch_owner_part *part, struct watching *watching) {
    struct thing *thing = watching->thing;
    bool attached = owner->parts[part->number] == part;
    if (watching->watcher->forgotten && attached) forget(owner, part, watching);
    count(watching, -1);
    remove_from_table(part, watching);
    remove_acked(part, watching);
    watch_link_out(&watching->by_thing);
    watch_link_out(&watching->by_watcher);
    free(watching);
    owner->stats.watches--;
    if (watch_list_empty(&thing->watchings)) free_thing(owner, part, thing);
}

/* A table of things by what they are. Private to lib/watch.
 *
 *     map:  key of what -> name -> name (of the same key) -> NULL
 *
 * A name is the first member of the struct that it names, and belongs to it. Strangers choose whats, and could choose those whose
 * watch_hash is the same. So tables have a key of their own, which nobody outside the process knows.
 */
#pragma once

#include "base/map.h"
#include "watch/watch.h"

struct watch_name {
    struct watch_name *same; /* another one with the same key */
    uint64_t key;            /* hash_bytes */
    uint64_t hash;           /* watch_hash */
    const uint8_t *what;
    size_t size;
};

/* The name of a struct that has room for a copy of what behind it. */
struct watch_name watch_name_of(void *copy, const void *what, size_t size);

struct watch_name *watch_names_find(const struct map *names, const void *what, size_t size);
void watch_names_add(struct map *names, struct watch_name *name); /* one that is not in it */
void watch_names_remove(struct map *names, struct watch_name *name);

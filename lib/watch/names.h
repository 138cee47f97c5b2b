/* A table of things by what they are. Private to lib/watch.
 *
 *     map:  hash of what -> name -> name (of the same hash) -> NULL
 *
 * A name is the first member of the struct that it names, and belongs to it.
 */
#ifndef WATCH_NAMES_H
#define WATCH_NAMES_H

#include "base/map.h"
#include "watch/watch.h"

struct watch_name {
    struct watch_name *same; /* another one with the same hash */
    uint64_t hash;
    const uint8_t *what;
    size_t size;
};

struct watch_name *watch_names_find(const struct map *names, uint64_t hash, const void *what, size_t size);
void watch_names_add(struct map *names, struct watch_name *name); /* one that is not in it */
void watch_names_remove(struct map *names, struct watch_name *name);

#endif

#include "watch/names.h"

#include <string.h>

#include "base/hash.h"

struct watch_name watch_name_of(void *copy, const void *what, size_t size) {
    memcpy(copy, what, size);
    return (struct watch_name){
        .key = hash_bytes(what, size), .hash = watch_hash(what, size), .what = copy, .size = size};
}

struct watch_name *watch_names_find(const struct map *names, const void *what, size_t size) {
    struct watch_name *name = map_pointer(names, hash_bytes(what, size));
    while (name && (name->size != size || memcmp(name->what, what, size) != 0)) name = name->same;
    return name;
}

void watch_names_add(struct map *names, struct watch_name *name) {
    uint64_t *first = map_put(names, name->key, NULL);
    name->same = (struct watch_name *)(uintptr_t)*first;
    *first = (uintptr_t)name;
}

void watch_names_remove(struct map *names, struct watch_name *name) {
    struct watch_name *first = map_pointer(names, name->key);
    if (first == name && !name->same) {
        map_remove(names, name->key, NULL);
    } else if (first == name) {
        *map_find(names, name->key) = (uintptr_t)name->same;
    } else {
        while (first->same != name) first = first->same;
        first->same = name->same;
    }
}

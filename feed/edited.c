#include "feed/edited.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum { MANY = 1 << 20 /* so many edits begin a new map sooner: 32 MB */ };

/* Two maps: the older one is forgotten when the younger one is as old as that. */
struct edited {
    struct map *young, *old;
    int64_t since_ms; /* of the young one */
};

struct edited *edited_new(void) {
    return MEM_NEW(&(struct edited){.young = map_new(), .old = map_new()});
}

void edited_free(struct edited *edited) {
    if (!edited) return;
    map_free(edited->young);
    map_free(edited->old);
    free(edited);
}

static void turn(struct edited *edited, int64_t now_ms) {
    if (now_ms - edited->since_ms < EDITED_KEPT_MS && map_count(edited->young) < MANY) return;
    map_free(edited->old);
    edited->old = edited->young;
    edited->young = map_new();
    edited->since_ms = now_ms;
}

int64_t edited_version(const struct edited *edited, int64_t id) {
    const uint64_t *found = map_find(edited->young, (uint64_t)id);
    if (!found) found = map_find(edited->old, (uint64_t)id);
    return found ? (int64_t)*found : 1;
}

bool edited_put(struct edited *edited, int64_t id, int64_t version, int64_t time_ms, int64_t now_ms) {
    turn(edited, now_ms);
    if (time_ms < now_ms - EDITED_KEPT_MS || version <= edited_version(edited, id)) return false;
    *map_put(edited->young, (uint64_t)id, NULL) = (uint64_t)version;
    return true;
}

size_t edited_count(const struct edited *edited) { return map_count(edited->young) + map_count(edited->old); }

#include "router/overlay.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct entry {
    struct entry *next; /* of the same user */
    int64_t lower, other;
    int64_t end; /* friendships must be read up to here; INT64_MAX while the transaction is open */
    struct friendship half;
    int32_t partition;
    bool open;
    size_t place; /* in all */
};

struct overlay {
    struct map *users; /* lower -> first entry */
    struct entry **all;
    size_t count, capacity;
};

struct overlay *overlay_new(void) {
    struct overlay *overlay = mem_alloc(sizeof *overlay);
    *overlay = (struct overlay){.users = map_new(), .all = NULL, .count = 0, .capacity = 0};
    return overlay;
}

void overlay_clear(struct overlay *overlay) {
    for (size_t i = 0; i < overlay->count; i++) free(overlay->all[i]);
    overlay->count = 0;
    map_free(overlay->users);
    overlay->users = map_new();
}

void overlay_free(struct overlay *overlay) {
    if (!overlay) return;
    overlay_clear(overlay);
    map_free(overlay->users);
    free(overlay->all);
    free(overlay);
}

size_t overlay_count(const struct overlay *overlay) { return overlay->count; }

static struct entry *first_of(const struct overlay *overlay, int64_t lower) {
    return map_pointer(overlay->users, (uint64_t)lower);
}

static struct entry *find(const struct overlay *overlay, int64_t lower, int64_t other) {
    struct entry *entry = first_of(overlay, lower);
    while (entry && entry->other != other) entry = entry->next;
    return entry;
}

const struct friendship *overlay_find(const struct overlay *overlay, int64_t lower, int64_t other) {
    const struct entry *entry = find(overlay, lower, other);
    return entry ? &entry->half : NULL;
}

void overlay_put(struct overlay *overlay, int32_t partition, int64_t lower, int64_t other,
                 const struct friendship *half) {
    struct entry *entry = find(overlay, lower, other);
    if (!entry) {
        if (overlay->count == overlay->capacity) {
            overlay->capacity = overlay->capacity ? overlay->capacity * 2 : 64;
            overlay->all = mem_resize(overlay->all, overlay->capacity, sizeof(struct entry *));
        }
        uint64_t *head = map_put(overlay->users, (uint64_t)lower, NULL);
        entry = mem_alloc(sizeof *entry);
        *entry = (struct entry){
            .next = (struct entry *)(uintptr_t)*head,
            .lower = lower,
            .other = other,
            .partition = partition,
            .place = overlay->count,
        };
        *head = (uint64_t)(uintptr_t)entry;
        overlay->all[overlay->count++] = entry;
    }
    entry->half = *half;
    entry->open = true;
    entry->end = INT64_MAX;
}

size_t overlay_waiting(const struct overlay *overlay, int64_t lower) {
    size_t count = 0;
    for (const struct entry *entry = first_of(overlay, lower); entry; entry = entry->next) count++;
    return count;
}

int64_t overlay_growth(const struct overlay *overlay, int64_t lower, const struct friend_list *list) {
    int64_t growth = 0;
    size_t at;
    for (const struct entry *entry = first_of(overlay, lower); entry; entry = entry->next)
        growth += friendship_made(&entry->half) - friend_list_find(list, entry->other, &at);
    return growth;
}

void overlay_commit(struct overlay *overlay, const int64_t *ends) {
    for (size_t i = 0; i < overlay->count; i++) {
        struct entry *entry = overlay->all[i];
        if (!entry->open) continue;
        entry->open = false;
        entry->end = ends[entry->partition];
    }
}

static void drop(struct overlay *overlay, struct entry *entry) {
    struct entry *first = first_of(overlay, entry->lower);
    if (first == entry) {
        if (entry->next)
            *map_put(overlay->users, (uint64_t)entry->lower, NULL) = (uint64_t)(uintptr_t)entry->next;
        else
            map_remove(overlay->users, (uint64_t)entry->lower, NULL);
    } else {
        while (first->next != entry) first = first->next;
        first->next = entry->next;
    }
    overlay->all[entry->place] = overlay->all[--overlay->count];
    overlay->all[entry->place]->place = entry->place;
    free(entry);
}

void overlay_read_back(struct overlay *overlay, int32_t partition, int64_t next) {
    for (size_t i = overlay->count; i-- > 0;) {
        struct entry *entry = overlay->all[i];
        if (entry->partition == partition && entry->end <= next) drop(overlay, entry);
    }
}

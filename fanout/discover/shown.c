#include "fanout/discover/shown.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct shown_entry {
    int64_t user;
    struct shown_viewer *viewer;
    struct shown_entry *before, *after;        /* of the same viewer */
    struct shown_entry *previous_of, *next_of; /* of the same user; the map has the first one */
};

struct shown {
    struct map *users; /* user -> struct shown_entry * */
};

struct shown *shown_new(void) {
    return MEM_NEW(&(struct shown){.users = map_new()});
}

void shown_free(struct shown *shown) {
    if (!shown) return;
    map_free(shown->users);
    free(shown);
}

static void leave_user(struct shown *shown, struct shown_entry *entry) {
    if (entry->next_of) entry->next_of->previous_of = entry->previous_of;
    if (entry->previous_of)
        entry->previous_of->next_of = entry->next_of;
    else if (entry->next_of)
        *map_find(shown->users, (uint64_t)entry->user) = (uint64_t)(uintptr_t)entry->next_of;
    else
        map_remove(shown->users, (uint64_t)entry->user, NULL);
}

static void leave_viewer(struct shown_entry *entry) {
    struct shown_viewer *viewer = entry->viewer;
    if (entry->before)
        entry->before->after = entry->after;
    else
        viewer->first = entry->after;
    if (entry->after)
        entry->after->before = entry->before;
    else
        viewer->last = entry->before;
    viewer->count--;
}

static void drop(struct shown *shown, struct shown_entry *entry) {
    leave_user(shown, entry);
    leave_viewer(entry);
    free(entry);
}

void shown_add(struct shown *shown, struct shown_viewer *viewer, int64_t user) {
    struct shown_entry *entry = mem_alloc(sizeof *entry);
    if (viewer->count == SHOWN_MAX) drop(shown, viewer->first);
    bool created;
    uint64_t *head = map_put(shown->users, (uint64_t)user, &created);
    *entry = (struct shown_entry){
        .user = user,
        .viewer = viewer,
        .before = viewer->last,
        .next_of = created ? NULL : (struct shown_entry *)(uintptr_t)*head,
    };
    *head = (uint64_t)(uintptr_t)entry;
    if (entry->next_of) entry->next_of->previous_of = entry;
    if (viewer->last)
        viewer->last->after = entry;
    else
        viewer->first = entry;
    viewer->last = entry;
    viewer->count++;
}

void shown_clear(struct shown *shown, struct shown_viewer *viewer) {
    while (viewer->first) drop(shown, viewer->first);
}

void shown_take_user(struct shown *shown, int64_t user,
                     void (*seen)(void *context, struct shown_viewer *viewer, int64_t user), void *context) {
    const uint64_t *head;
    while ((head = map_find(shown->users, (uint64_t)user)) != NULL) {
        struct shown_entry *entry = (struct shown_entry *)(uintptr_t)*head;
        struct shown_viewer *viewer = entry->viewer;
        drop(shown, entry);
        seen(context, viewer, user);
    }
}

void shown_take_all(struct shown *shown, struct shown_viewer *viewer,
                    void (*seen)(void *context, struct shown_viewer *viewer, int64_t user), void *context) {
    while (viewer->first) {
        int64_t user = viewer->first->user;
        drop(shown, viewer->first);
        seen(context, viewer, user);
    }
}

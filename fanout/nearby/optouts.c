#include "fanout/nearby/optouts.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum {
    SLICE_LOOKS = 16384, /* in one turn: for users in lists, or list entries among the users */
    VIEW_LOOKS = 32      /* what coming to a view costs, in looks */
};

struct optouts {
    struct views *views;
    struct map *waiting; /* for the next pass; keys only */
    struct map *users;   /* whom the pass under way looks for */
    struct view *next;   /* to be looked at in it; NULL: none is under way */
    int64_t began_ms;    /* the last pass */
};

struct optouts *optouts_new(struct views *views) {
    return MEM_NEW(
        &(struct optouts){.views = views, .waiting = map_new(), .users = map_new(), .began_ms = INT64_MIN / 2});
}

void optouts_free(struct optouts *optouts) {
    if (!optouts) return;
    map_free(optouts->waiting);
    map_free(optouts->users);
    free(optouts);
}

void optouts_add(struct optouts *optouts, int64_t user) {
    *map_put(optouts->waiting, (uint64_t)user, NULL) = LISTS_GONE;
}

void optouts_tell_anew(struct optouts *optouts, int64_t user) {
    *map_put(optouts->waiting, (uint64_t)user, NULL) = LISTS_ANEW;
}

static void keep(const struct map *users, int64_t user) {
    uint64_t *what = map_find(users, (uint64_t)user);
    if (what) *what = LISTS_ANEW;
}

void optouts_return(struct optouts *optouts, int64_t user) {
    keep(optouts->waiting, user);
    keep(optouts->users, user);
}

void optouts_forget(struct optouts *optouts, const struct view *view) {
    if (optouts->next == view) optouts->next = view_next(view);
}

const struct view *optouts_next(const struct optouts *optouts) { return optouts->next; }

bool optouts_begin(struct optouts *optouts, int64_t now_ms) {
    if (optouts->next || !map_count(optouts->waiting) || now_ms - optouts->began_ms < OPTOUTS_EVERY_MS) return false;
    map_free(optouts->users);
    optouts->users = optouts->waiting;
    optouts->waiting = map_new();
    optouts->began_ms = now_ms;
    optouts->next = views_first(optouts->views);
    views_void(optouts->views, optouts->users);
    return true;
}

bool optouts_slice(struct optouts *optouts) {
    size_t users = map_count(optouts->users);
    for (size_t looks = 0; optouts->next && looks < SLICE_LOOKS;) {
        struct view *view = optouts->next;
        optouts->next = view_next(view);
        uint32_t slots = view_list(view)->table.capacity;
        looks += VIEW_LOOKS + (users < slots ? users : slots);
        if (nearby_change_all(view_list(view), optouts->users)) view_changed(optouts->views, view);
    }
    return optouts->next != NULL;
}

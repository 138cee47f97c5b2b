#include "watch/edge_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { RETRY_MS = 10 }; /* until the caller may have room for records again */

struct watch_edge *watch_edge_new(const struct watch_edge_options *options, int64_t now_ms) {
    struct watch_edge *edge =
        MEM_NEW(&(struct watch_edge){.options = *options,
                                     .route = -1,
                                     .parts = mem_zero((size_t)options->partitions, sizeof *edge->parts),
                                     .names = map_new(),
                                     .sessions = map_new(),
                                     .random = options->watcher});
    struct watch_edge_options *o = &edge->options;
    if (!o->things) o->things = 100000;
    if (!o->session_things) o->session_things = 32;
    if (!o->slice) o->slice = 1000;
    if (!o->queue_bytes) o->queue_bytes = 8 << 20;
    if (!o->replay_total) o->replay_total = 32 << 20;
    if (!o->stale_step_ms) o->stale_step_ms = 5;
    if (!o->stale_spread_ms) o->stale_spread_ms = 5000;
    watch_link_init(&edge->busy);
    watch_link_init(&edge->kept);
    for (int32_t i = 0; i < o->partitions; i++) {
        struct watch_edge_part *part = &edge->parts[i];
        struct watch_link *links[] = {&part->unwritten, &part->written, &part->news, &part->reporting, &part->in_busy};
        for (size_t j = 0; j < sizeof links / sizeof links[0]; j++) watch_link_init(links[j]);
        part->silent = true;
    }
    // Edges that are started together call at different moments.
    edge->started_ms = now_ms + (int64_t)(hash_u64(edge->random++) % WATCH_ROLL_CALL_MS);
    return edge;
}

static void free_all(struct map *map, void (*free_one)(void *)) {
    size_t cursor = 0;
    uint64_t key, value;
    while (map_next(map, &cursor, &key, &value)) free_one((void *)(uintptr_t)value);
    map_free(map);
}

static void free_seats(void *first) {
    for (struct seat *seat = first, *next; seat; seat = next) {
        next = seat->next;
        free(seat);
    }
}

static void free_names(void *first) {
    for (struct watch_name *name = first, *next; name; name = next) {
        next = name->same;
        buffer_free(&((struct shown_thing *)name)->replay);
        free(name);
    }
}

void watch_edge_free(struct watch_edge *edge) {
    if (!edge) return;
    free_all(edge->sessions, free_seats);
    free_all(edge->names, free_names);
    free(edge->parts);
    buffer_free(&edge->scratch);
    buffer_free(&edge->queue);
    free(edge);
}

void watch_edge_route(struct watch_edge *edge, int32_t route) {
    if (edge->route == route) return;
    edge->route = route;
    for (int32_t i = 0; route >= 0 && i < edge->options.partitions; i++) watch_edge_all_unwritten(edge, i);
}

/* ---- things and seats ---- */

static struct shown_thing *find_shown(const struct watch_edge *edge, const void *what, size_t size) {
    return (struct shown_thing *)watch_names_find(edge->names, what, size);
}

static struct shown_thing *add_shown(struct watch_edge *edge, const void *what, size_t size) {
    struct shown_thing *shown = mem_alloc(sizeof *shown + size);
    *shown = (struct shown_thing){.name = watch_name_of(shown + 1, what, size),
                                  .partition = edge->options.partition(edge->options.context, what, size),
                                  .written = -1};
    watch_link_init(&shown->by_state);
    watch_link_init(&shown->by_news);
    watch_link_init(&shown->by_kept);
    watch_link_init(&shown->seats);
    watch_names_add(edge->names, &shown->name);
    watch_edge_unwritten(edge, shown);
    edge->stats.things++;
    return shown;
}

void watch_edge_shown_free(struct watch_edge *edge, struct shown_thing *shown) {
    watch_names_remove(edge->names, &shown->name);
    watch_link_out(&shown->by_state);
    watch_link_out(&shown->by_news);
    if (edge->telling == shown) edge->telling = NULL;
    watch_edge_drop_kept(edge, shown);
    free(shown);
    edge->stats.things--;
}

static struct seat *find_seat(const struct watch_edge *edge, uint64_t session, const void *what, size_t size,
                              size_t *count) {
    struct seat *seat = map_pointer(edge->sessions, session), *found = NULL;
    for (*count = 0; seat; seat = seat->next, ++*count) {
        const struct watch_name *name = &seat->shown->name;
        if (name->size == size && memcmp(name->what, what, size) == 0) found = seat;
    }
    return found;
}

static struct seat *add_seat(struct watch_edge *edge, uint64_t session, struct shown_thing *shown) {
    bool created;
    uint64_t *first = map_put(edge->sessions, session, &created);
    struct seat *seat =
        MEM_NEW(&(struct seat){.next = (struct seat *)(uintptr_t)*first, .shown = shown, .session = session});
    *first = (uintptr_t)seat;
    // In front, where a delivery that is being told to the seats behind does not come any more.
    watch_link_init(&seat->in_shown);
    watch_link_move(shown->seats.next, &seat->in_shown);
    shown->seat_count++;
    edge->stats.seats++;
    edge->stats.sessions += created;
    return seat;
}

/* The seat is out of its session's list already. */
static void free_seat(struct watch_edge *edge, struct seat *seat) {
    struct shown_thing *shown = seat->shown;
    watch_edge_forget_seat(edge, seat);
    watch_link_out(&seat->in_shown);
    shown->seat_count--;
    edge->stats.seats--;
    free(seat);
    if (shown->seat_count > 0) return;
    if (shown->written < 0)
        watch_edge_shown_free(edge, shown);
    else
        watch_edge_unwritten(edge, shown);
}

int watch_edge_show(struct watch_edge *edge, uint64_t session, const void *what, size_t size,
                    const struct watch_version *version) {
    if (size < 1 || size > WATCH_WHAT_MAX) return -EINVAL;
    size_t count;
    struct seat *seat = find_seat(edge, session, what, size, &count);
    if (!seat) {
        if (count >= edge->options.session_things) return -E2BIG;
        struct shown_thing *shown = find_shown(edge, what, size);
        if (!shown && edge->stats.things >= edge->options.things) return -ENOSPC;
        seat = add_seat(edge, session, shown ? shown : add_shown(edge, what, size));
    }
    seat->knows = version != NULL;
    seat->known = version ? *version : (struct watch_version){.number = 0};
    watch_edge_tell_second(edge, seat);
    return 0;
}

void watch_edge_hide(struct watch_edge *edge, uint64_t session, const void *what, size_t size) {
    size_t count;
    struct seat *seat = find_seat(edge, session, what, size, &count), *first = map_pointer(edge->sessions, session);
    if (!seat) return;
    if (seat != first) {
        while (first->next != seat) first = first->next;
        first->next = seat->next;
    } else if (seat->next) {
        *map_find(edge->sessions, session) = (uintptr_t)seat->next;
    } else {
        map_remove(edge->sessions, session, NULL);
        edge->stats.sessions--;
    }
    free_seat(edge, seat);
}

void watch_edge_leave(struct watch_edge *edge, uint64_t session) {
    uint64_t first;
    if (!map_remove(edge->sessions, session, &first)) return;
    edge->stats.sessions--;
    for (struct seat *seat = (struct seat *)(uintptr_t)first, *next; seat; seat = next) {
        next = seat->next;
        free_seat(edge, seat);
    }
}

/* ---- the loop ---- */

int64_t watch_edge_continue(struct watch_edge *edge, int64_t now_ms) {
    watch_edge_roll_calls_due(edge, now_ms);
    size_t budget = watch_edge_tell(edge, edge->options.slice);
    if (edge->route >= 0 && watch_edge_write(edge, &budget) == -EAGAIN) return RETRY_MS;
    bool writes = edge->route >= 0 && !watch_list_empty(&edge->busy);
    if (writes || edge->queue.size > edge->queue_start) return 0;
    int64_t wait_ms = watch_edge_next_roll_call_ms(edge) - now_ms;
    return wait_ms > 0 ? wait_ms : 0;
}

void watch_edge_stats(const struct watch_edge *edge, struct watch_edge_stats *stats) {
    *stats = edge->stats;
    stats->queued_bytes = edge->queue.size - edge->queue_start;
}

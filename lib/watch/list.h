/* Doubly linked rings: a link lies in the struct that is in the list, and a list is a link that is in no struct. Private to
 * lib/watch.
 *
 *     list <-> a <-> b <-> c <-> list        a link that is in no list points to itself
 *
 * Taking a link out needs no list, and moving a whole list to the end of another costs the same however long it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct watch_link {
    struct watch_link *prev, *next;
};

#define watch_item(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void watch_link_init(struct watch_link *link) { link->prev = link->next = link; }
static inline bool watch_list_empty(const struct watch_link *list) { return list->next == list; }

static inline void watch_link_out(struct watch_link *link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
    watch_link_init(link);
}

/* Moves the link, out of whatever list it is in, to the end of this one. */
static inline void watch_link_move(struct watch_link *list, struct watch_link *link) {
    watch_link_out(link);
    link->prev = list->prev;
    link->next = list;
    list->prev->next = link;
    list->prev = link;
}

/* Moves all of `from` to the end of `to`. */
static inline void watch_list_splice(struct watch_link *to, struct watch_link *from) {
    if (watch_list_empty(from)) return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    watch_link_init(from);
}

/* Records that wait to be pushed to notify.url (feed/pushing.h): a window of bounded size over records of several courses (a partition
 * each), in the order in which they came.
 *
 *     course 3:  ... pushed | 907 912 940 in the window | not taken, as there was no room ...
 *                             ^ held                      ^ behind: read again from here when there is room
 *
 * While a course is behind, its records are counted and passed by. When half of the window is free, the course that has waited longest
 * is to be read again. So memory is bounded, nothing is lost, and nobody waits for ever. Pure; one thread.
 */
#pragma once

#include "users/notice.h"

struct push_item {
    size_t course;
    int64_t offset;
    struct notice_key key;
    bool dropped;  /* its course was: nothing is to be done */
    uint64_t next; /* of the course: its place */
};

struct push_window;

struct push_window *push_window_new(size_t capacity, size_t courses);
void push_window_free(struct push_window *window); /* NULL is fine */

/* A record of a course has come. True: it had come before, and comes again because the course was behind. */
bool push_window_see(struct push_window *window, size_t course, int64_t offset);
/* Takes what that record is about, if there is room; copied. */
void push_window_put(struct push_window *window, size_t course, int64_t offset, const struct notice_key *key);

/* The first record that is not pushed; INT64_MAX: all are. */
int64_t push_window_held(const struct push_window *window, size_t course);
/* The course is over, or begins anew: what it has here is forgotten. */
void push_window_drop(struct push_window *window, size_t course);

size_t push_window_count(const struct push_window *window);
const struct push_item *push_window_at(const struct push_window *window, size_t i); /* from the oldest */
void push_window_pop(struct push_window *window, size_t count);                     /* they are pushed */

/* The course to be read again now, and from where: it is no longer behind, but nothing from there on is done. False: none. One whose
 * records are on their way again, up to `position` by now, comes to the end of those that had come before first: new ones of it wait no
 * longer than that. */
typedef int64_t push_window_position(void *context, size_t course);
bool push_window_again(struct push_window *window, push_window_position *position, void *context, size_t *course,
                       int64_t *offset);

/* How many records wait, in the window and behind it; *oldest: the time of the oldest, 0: none. */
size_t push_window_waiting(const struct push_window *window, int64_t *oldest);

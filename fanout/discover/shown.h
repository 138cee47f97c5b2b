/* Which strangers each session was shown, and by whom a stranger was seen:
 *
 *     users       7 ---> o ---> o          one chain a stranger
 *                        |      |
 *     viewers     A ---> o      B ---> o   one chain a viewer, oldest first
 *
 * A viewer remembers SHOWN_MAX entries at most, the newest ones. Pure but for allocation; one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHOWN_MAX = 2000 };

struct shown;
struct shown_entry;

struct shown_viewer { /* all zero: was shown nobody */
    struct shown_entry *first, *last;
    size_t count;
};

struct shown *shown_new(void);
void shown_free(struct shown *shown); /* after the last viewer was cleared; NULL is fine */

/* The same user may be added again: it is another entry. */
void shown_add(struct shown *shown, struct shown_viewer *viewer, int64_t user);
void shown_clear(struct shown *shown, struct shown_viewer *viewer);

/* Forgets the user, and calls seen for each entry of a viewer's. seen must not change `shown`. */
void shown_take_user(struct shown *shown, int64_t user,
                     void (*seen)(void *context, struct shown_viewer *viewer, int64_t user), void *context);
/* Forgets all that the viewer was shown, and calls seen for each entry. */
void shown_take_all(struct shown *shown, struct shown_viewer *viewer,
                    void (*seen)(void *context, struct shown_viewer *viewer, int64_t user), void *context);

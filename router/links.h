/* The links by which users show strangers a place: the topic `links`, in memory, and what commands make of it. A link shows nothing from
 * `until` on, and while its user does not share; an opt-out ends all links that are there. Times in ms, by the router's clock. Pure but for
 * allocation; one thread.
 */
#pragma once

#include "event/records.h"
#include "state/kind.h"

enum { LINKS_MAX = 20 }; /* of a user */

struct link_row {
    size_t count;
    struct share_link links[LINKS_MAX]; /* from the oldest on; some may be over */
};

/* What a command finds besides the row. */
struct link_moment {
    int64_t now;
    int64_t opted; /* the offset of the user's sharing record; -1: the user does not share */
};

/* Makes the row what the command leaves of it. False: it stays as it is. A link that may not be made is not. */
bool link_row_decide(struct link_row *row, const struct link_command *command, const struct link_moment *moment);

const struct share_link *link_row_find(const struct link_row *row, int64_t id); /* NULL: there is none */

/* NULL: the command can be handled; else why not. */
const char *link_command_complaint(const struct link_command *command);

struct links;

struct links *links_new(int32_t partitions);
void links_free(struct links *links); /* NULL is fine */
extern const struct state_kind LINKS_KIND;

/* The user's row as it was read; false: there is none, and it is empty. */
bool links_read(const struct links *links, int32_t partition, int64_t user, struct link_row *row);

/* Calls `look` for users of a partition who have links that are over, for no more than `most` of them. */
void links_untidy(const struct links *links, int32_t partition, int64_t now, size_t most, void *context,
                  void (*look)(void *context, int64_t user));

/* Whom readers have blocked: asked of the readers' owners, the routers, and kept for a minute. Loop's thread.
 *
 * A list that was heard within three seconds of a change through this gateway may lack it, as the owner lists what it has read back: it is
 * kept for half a second. If the owner does not answer within that time, the last list that was heard counts, however old, and nobody
 * waits for this owner for two seconds. Memory is bounded: a list goes when another reader needs its place, or when all have too many
 * users.
 */
#pragma once

#include "rpc/ask.h"

enum { BLOCKED_MAX = 10000 /* users of a list; others who are blocked are not known */ };

struct blocked_lists;

struct blocked_list {
    const int64_t *users; /* rising */
    size_t count;
    bool known; /* false: the owner does not answer, and was never heard of */
};

/* routers: outlive the lists but for questions under way. now_ms: never falls. */
struct blocked_lists *blocked_lists_new(struct peers *routers, int64_t (*now_ms)(void));
void blocked_lists_free(struct blocked_lists *lists); /* when no question is under way; NULL is fine */

/* Calls done once, perhaps at once; the list is valid within. */
void blocked_lists_ask(struct blocked_lists *lists, int64_t reader, void *context,
                       void (*done)(void *context, const struct blocked_list *list));

/* The reader has blocked somebody through this gateway, or has ended that. */
void blocked_lists_changed(struct blocked_lists *lists, int64_t reader);

size_t blocked_lists_users(const struct blocked_lists *lists); /* in all lists: what takes memory */

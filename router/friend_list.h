/* A friend list as it is stored: the ids in rising order, the first as it is and each further one as the difference from the
 * one before, as varints (about 3 bytes a friend). Pure; any thread. */
#ifndef ROUTER_FRIEND_LIST_H
#define ROUTER_FRIEND_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct friend_list { /* zero-initialised is empty; reused without allocation once it is large enough */
    int64_t *items;
    size_t count, capacity;
    size_t others; /* halves of the user that are no friendships: graph.h stores them beside the list and counts them */
};

void friend_list_free(struct friend_list *list);
void friend_list_reserve(struct friend_list *list, size_t count); /* room for that many in all */

/* Replaces the list by the bytes' content. 0, or -EBADMSG (the list is empty then). */
int friend_list_decode(struct friend_list *list, const uint8_t *bytes, size_t size);

size_t friend_list_count(const uint8_t *bytes, size_t size);                     /* of valid bytes */
bool friend_list_holds(const uint8_t *bytes, size_t size, int64_t user);         /* of valid bytes */
bool friend_list_find(const struct friend_list *list, int64_t user, size_t *at); /* at: where it is or would be */

void friend_list_encode(struct buffer *out, const int64_t *items, size_t count); /* appends; rising order */

#endif

/* A sorted list of ids in memory, and as it is stored: the ids in rising order, the first as it is and each further one as the
 * difference from the one before, as varints (about 3 bytes an id). Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct id_list { /* zero-initialised is empty; reused without allocation once it is large enough */
    int64_t *items;
    size_t count, capacity;
    size_t others; /* asides of the list: adjacency.h stores them beside it and counts them */
    size_t marked; /* of the ids, as adjacency.h counts them */
};

void id_list_free(struct id_list *list);
void id_list_reserve(struct id_list *list, size_t count); /* room for that many in all */

/* Replaces the list by the bytes' content. 0, or -EBADMSG (the list is empty then). */
int id_list_decode(struct id_list *list, const uint8_t *bytes, size_t size);

/* Appends the bytes' content, whose ids must be above those in the list. 0, or -EBADMSG (the list is empty then). */
int id_list_decode_more(struct id_list *list, const uint8_t *bytes, size_t size);

size_t id_list_count(const uint8_t *bytes, size_t size);               /* of valid bytes */
bool id_list_holds(const uint8_t *bytes, size_t size, int64_t id);     /* of valid bytes */
bool id_list_find(const struct id_list *list, int64_t id, size_t *at); /* at: where it is or would be */

void id_list_encode(struct buffer *out, const int64_t *items, size_t count); /* appends; rising order */

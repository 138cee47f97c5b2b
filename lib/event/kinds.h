/* Which records each topic holds, for tools that know topics by Confluent's Schema Registry. Pure data; any thread. */
#ifndef EVENT_KINDS_H
#define EVENT_KINDS_H

#include "event/types.h"
#include "topics/topic.h"

enum { EVENT_KINDS_MAX = 2 };

struct event_kinds {
    const struct topic *topic;
    const char *records
        [EVENT_KINDS_MAX]; /* as schemas/ids.txt calls them; NULL: no further one; none at all: its records have no values */
};

extern const struct event_kinds EVENT_KINDS[]; /* of all topics; the last one has no topic */

/* The schemas, by rising id; NULL: there are no more. The versions of a record follow each other in this order. */
const struct event_schema *event_schema_at(size_t index);

#endif

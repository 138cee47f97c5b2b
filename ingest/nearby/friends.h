/* Writes friend commands to Kafka, keyed by the lower user of the pair, and asks that user's owner for the outcome; and asks owners
 * for lists of friends. */
#ifndef INGEST_NEARBY_FRIENDS_H
#define INGEST_NEARBY_FRIENDS_H

#include "ingest/endpoints.h"
#include "ingest/write.h"
#include "service/peers.h"

struct friends;
struct friends *friends_new(struct metrics *metrics, struct writer *writer, struct peers *routers,
                            int64_t outcome_wait_ms);
void friends_free(struct friends *friends); /* NULL is fine */

extern const struct endpoint_list FRIENDS_ENDPOINTS; /* state: struct friends */

#endif

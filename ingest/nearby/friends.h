/* Writes friend commands to Kafka, keyed by the lower user of the pair, and asks that user's owner for the outcome; and asks owners
 * for lists of friends, to which it adds names and avatars. */
#ifndef INGEST_NEARBY_FRIENDS_H
#define INGEST_NEARBY_FRIENDS_H

#include "ingest/product.h"
#include "service/peers.h"

struct friends;
/* The routers, and what the options name, outlive it. */
/* requests_max: how many requests, invitations and blocks a user may have before requests are refused; 0: any number. */
struct friends *friends_new(const struct product_options *options, struct peers *routers, int64_t requests_max);
void friends_free(struct friends *friends); /* NULL is fine */

extern const struct endpoint_list FRIENDS_ENDPOINTS; /* state: struct friends */

#endif

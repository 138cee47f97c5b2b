/* The feed in the gateway: posts, follows, mutes, handles, users and home timelines. It writes commands to Kafka, and asks the feed processes
 * (starling-feed) for everything else; feed/replies.h lists these questions. */
#ifndef INGEST_FEED_FEED_H
#define INGEST_FEED_FEED_H

#include "ingest/product.h"

extern const struct product FEED_PRODUCT;

#endif

/* Comments in the gateway: threads under any subject. It writes commands to Kafka, and asks the comments processes (starling-comments)
 * for everything else; comments/replies.h lists these questions. */
#ifndef INGEST_COMMENTS_COMMENTS_H
#define INGEST_COMMENTS_COMMENTS_H

#include "ingest/product.h"

extern const struct product COMMENTS_PRODUCT;

#endif

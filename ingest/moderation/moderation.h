/* Searches for comments, which starling-moderation answers: those of moderators, and users' own comments. */
#ifndef INGEST_MODERATION_MODERATION_H
#define INGEST_MODERATION_MODERATION_H

#include "ingest/product.h"

extern const struct product MODERATION_PRODUCT;

#endif

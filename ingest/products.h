/* The products that this gateway serves, and what they need of the daemon. */
#pragma once

#include "ingest/product.h"

/* Reports, profiles, sharing, friendships, strangers nearby, history, and the page's settings. */
extern const struct product NEARBY_PRODUCT;
/* Places of users, and arrivals at them: commands to Kafka, and questions to the places processes (places/answers.h). */
extern const struct product PLACES_PRODUCT;
/* Posts, follows, mutes, handles, users and home timelines: commands to Kafka, and questions to the feed processes (feed/replies.h). */
extern const struct product FEED_PRODUCT;
/* Threads under any subject: commands to Kafka, and questions to the comments processes (comments/replies.h). */
extern const struct product COMMENTS_PRODUCT;
/* Searches for comments, which starling-moderation answers: those of moderators, and users' own comments. */
extern const struct product MODERATION_PRODUCT;
/* A user's account as a whole: the export of everything that is kept of the user, and forgetting it. */
extern const struct product ACCOUNT_PRODUCT;

enum { PRODUCTS_COUNT = 6 };
extern const struct product *const PRODUCTS[PRODUCTS_COUNT];

extern const struct config_section NEARBY_SECTION, FEED_GATEWAY_SECTION, COMMENTS_GATEWAY_SECTION,
    PLACES_GATEWAY_SECTION, MODERATION_GATEWAY_SECTION;
extern const struct config_section *const PRODUCT_SECTIONS[]; /* NULL-terminated */
/* As the settings name them; only once these are read. */
struct product_groups product_groups(void);

extern const char *const PRODUCT_CONDITIONS[]; /* NULL-terminated, with the gateway's own */

/* starling-feed: owns authors and readers. It decides follows and posts, pushes posts to inboxes or keeps them in memory, and answers
 * pages of home timelines. docs/FEED.md says what it promises. */
#ifndef FEED_FEED_H
#define FEED_FEED_H

#include "service/service.h"

extern const struct service_definition FEED_SERVICE;

#endif

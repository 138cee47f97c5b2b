/* starling-feed: owns authors and readers. It decides follows and posts, pushes posts to inboxes or keeps them in memory, and answers
 * pages of home timelines. docs/FEED.md says what it promises. */
#pragma once

#include "service/service.h"

extern const struct service_definition FEED_SERVICE;

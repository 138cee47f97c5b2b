/* starling-moderation: finds comments for moderators, and users' own ones. */
#ifndef MODERATION_MODERATION_H
#define MODERATION_MODERATION_H

#include "service/service.h"

extern const struct service_definition MODERATION_SERVICE;

#endif

/* starling-moderation: finds comments for moderators, and users' own ones. */
#pragma once

#include "service/service.h"

extern const struct service_definition MODERATION_SERVICE;

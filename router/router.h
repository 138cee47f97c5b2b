/* starling-router: joins every report with its user's friend list, keeps friendships. See docs/ARCHITECTURE.md. */
#pragma once

#include "service/service.h"

extern const struct service_definition ROUTER_SERVICE;

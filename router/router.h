/* starling-router: joins every report with its user's friend list, keeps friendships. See docs/ARCHITECTURE.md. */
#ifndef ROUTER_ROUTER_H
#define ROUTER_ROUTER_H

#include "service/service.h"

extern const struct service_definition ROUTER_SERVICE;

#endif

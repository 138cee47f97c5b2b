/* starling-places: owns users' places. It decides changes of them, and from reports in the order of the log when a user arrives at a place or
 * leaves it. */
#pragma once

#include "service/service.h"

extern const struct service_definition PLACES_SERVICE;

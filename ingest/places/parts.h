/* Places of users: their wishes go to place-commands, which starling-places decides (places/answers.h), and it answers for places and for what
 * happened there. Nobody but the user is told any of it here. */
#pragma once

#include "base/config.h"

/* The section of the gateway's configuration: values of PLACES_GATEWAY_SECTION (ingest/products.h). */
struct places_gateway_settings {
    const char *group;
};

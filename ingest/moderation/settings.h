/* The section of the gateway's configuration about moderation. */
#ifndef INGEST_MODERATION_SETTINGS_H
#define INGEST_MODERATION_SETTINGS_H

#include "base/config.h"

struct moderation_gateway_settings {
    const char *group;
};

extern const struct config_section MODERATION_GATEWAY_SECTION; /* values: struct moderation_gateway_settings */

#endif

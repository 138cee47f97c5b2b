/* The feed's section of the gateway's configuration. */
#ifndef INGEST_FEED_SETTINGS_H
#define INGEST_FEED_SETTINGS_H

#include "base/config.h"

struct feed_gateway_settings {
    const char *group;
    int64_t texts_mb, texts_s;
};

extern const struct config_section FEED_GATEWAY_SECTION; /* values: struct feed_gateway_settings */

#endif

/* Nearby's section of the configuration. */
#ifndef INGEST_NEARBY_SETTINGS_H
#define INGEST_NEARBY_SETTINGS_H

#include "base/config.h"

struct nearby_settings {
    const char *router_group, *history_group;
    int64_t max_batch, reports_rate, reports_burst, requests_max;
};

extern const struct config_section NEARBY_SECTION; /* values: struct nearby_settings */

#endif

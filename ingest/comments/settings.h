/* The comments' section of the gateway's configuration. */
#ifndef INGEST_COMMENTS_SETTINGS_H
#define INGEST_COMMENTS_SETTINGS_H

#include "base/config.h"

struct comments_gateway_settings {
    const char *group;
    int64_t hot_reads, hot_memory_mb;
};

extern const struct config_section COMMENTS_GATEWAY_SECTION; /* values: struct comments_gateway_settings */

#endif

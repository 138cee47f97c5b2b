/* What of the configuration is the gateway's own; each product has a section beside it. */
#ifndef INGEST_SETTINGS_H
#define INGEST_SETTINGS_H

#include "base/config.h"

struct ingest_settings {
    const char *listen, *web_dir;
    int64_t max_body, max_connections, produce_timeout_ms;
};

/* Filled by the configuration before the daemon starts, which takes a copy. */
extern const struct config_section INGEST_SECTION;

#endif

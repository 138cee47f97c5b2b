/* The gateway's own section of the configuration. */
#ifndef INGEST_SETTINGS_H
#define INGEST_SETTINGS_H

#include "base/config.h"

struct ingest_settings {
    const char *listen;
    const char *web_dir, *web_ws_url, *web_tile_url;
    const char *router_group, *history_group;
    int64_t max_body, max_batch, max_connections;
    int64_t produce_timeout_ms, outcome_wait_ms;
};

/* Filled by the configuration before the daemon starts, which takes a copy. */
extern const struct config_section INGEST_SECTION;

#endif

/* The gateway's own section of the configuration; each product has one beside it. */
#pragma once

#include "base/config.h"

struct ingest_settings {
    const char *listen, *cors_origins, *trusted_proxies, *registry_url;
    const char *web_dir, *web_ws_url, *web_push_url, *map_geojson, *map_tiles, *map_attribution;
    const char *web_demo_dir, *oidc_issuer, *oidc_client, *oidc_scope;
    const char *words_file, *filter_url;
    int64_t max_body, max_connections, network_connections, head_s, body_s, reply_s, least_rate;
    int64_t request_mb, requests_mb, reply_mb, replies_mb;
    int64_t produce_timeout_ms, outcome_wait_ms, gzip_least, drain_notice_s, filter_timeout_ms;
    int64_t user_rate, user_burst, changes_rate, changes_burst, address_rate, address_burst;
};

/* Filled by the configuration before the daemon starts, which takes a copy. */
extern const struct config_section INGEST_SECTION;

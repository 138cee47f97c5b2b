/* The edge's own section of the configuration. */
#pragma once

#include "base/config.h"

struct fanout_settings {
    const char *group;
    const char *listen;
    const char *tls_certificate, *tls_key;
    int64_t routes, flush_ms;
    int64_t strikes;
    int64_t first_page_ms;
    int64_t hello_s, handshake_s, ping_s, slow_close_s, drain_s;
    int64_t max_sessions, max_message, max_messages, max_loop_lag_ms;
    int64_t hello_rate, user_hello_rate, user_hello_burst;
    int64_t min_report_ms, user_sessions, network_sessions, network_rate, network_burst, user_unread_mb, unread_mb;
    const char *allowed_origins, *trusted_proxies;
    int64_t report_every_s;
    int64_t faces_mb;
};

/* Filled by the configuration before the daemon starts, which takes a copy. */
extern const struct config_section FANOUT_SECTION;

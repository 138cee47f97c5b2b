/* The settings that all daemons have that own partitions. */
#pragma once

#include "base/config.h"

struct owner_settings {
    const char *checkpoint_dir; /* "": none */
    int64_t checkpoint_every_s, checkpoint_keep;
    int64_t standby_replicas;
    int64_t batch_records;
    int64_t outbox_flush_bytes, outbox_flush_ms, outbox_queue_mb;
    bool stop_hands_over;
};

/* The section, and the one instance of the values that the process's configuration fills: struct owner_settings. */
extern const struct config_section OWNER_SECTION;

/* For service_definition.more_sections, of daemons that have no other ones. */
extern const struct config_section *const OWNER_SECTIONS[];

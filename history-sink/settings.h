/* The sink's own section of the configuration. */
#pragma once

#include "base/config.h"
#include "storage/storage.h"

struct history_settings {
    const char *group;
    const char *dir;
    const char *s3_endpoint, *s3_region, *s3_access_key, *s3_secret_key;
    int64_t roll_rows, roll_s, roll_bytes, roll_memory;
    int64_t merge_s, merge_keep_s;        /* merge_s 0: never */
    int64_t store_cache, store_memtables; /* bytes */
    int64_t store_days, retention_days;   /* 0: for ever */
};

/* The storage that history.dir names; as the settings, valid for as long as the configuration. */
struct storage_options history_storage_options(const struct history_settings *settings);

/* Filled by the configuration before the daemon starts, which takes a copy. */
extern const struct config_section HISTORY_SECTION;

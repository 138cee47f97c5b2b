/* Which of a user's notices the user is shown now, and a version of that. One thread. Functions return 0 or a negative errno code. */
#pragma once

#include "feed/notice_settings.h"
#include "feed/notices.h"
#include "watch/watch.h"

struct notices_shown {
    struct notices *notices;
    struct notice_settings_store *settings;
    struct table_store *blocks;
    struct relation_lists *relations;
};

/* Not about users whom the user has muted, or across a block; and a request while it waits. */
int notices_shown_is(const struct notices_shown *shown, int32_t partition, const struct notice_key *key, int64_t other,
                     bool *is, struct error *error);

/* A fingerprint of the notices that are shown, of what is read, and of how they are told: what an edge's screens depend on. */
int notices_shown_version(const struct notices_shown *shown, int32_t partition, int64_t user,
                          struct watch_version *version, struct error *error);

/* The key of records about one user: the user's id, 8 bytes, big-endian, not negative. */
#pragma once

#include <errno.h>

#include "base/bytes.h"
#include "kafka/consumer.h"

static inline int user_key_read(const struct kafka_record *record, int64_t *user, struct error *error) {
    int64_t id = record->key_size == 8 ? (int64_t)bytes_get_be64(record->key) : -1;
    *user = id;
    return id < 0 ? error_set(error, -EBADMSG, "the key is not a user: 8 bytes, big-endian, not negative") : 0;
}

/* A half of a friendship as a record of the topic friendships: its key is the user whose half it is and the other one, and it lies in
 * the user's partition. Any thread, with a codec of its own. */
#pragma once

#include "base/bytes.h"
#include "event/codec.h"
#include "kafka/consumer.h"

enum { HALF_KEY_SIZE = 16 };

static inline void half_key_put(uint8_t key[HALF_KEY_SIZE], int64_t user, int64_t other) {
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)other);
}

static inline int64_t half_key_user(const uint8_t *key) { return (int64_t)bytes_get_be64(key); }
static inline int64_t half_key_other(const uint8_t *key) { return (int64_t)bytes_get_be64(key + 8); }

struct half_record {
    int64_t user, other;
    struct friendship half; /* NONE for a tombstone */
};

/* NULL: the record is fine; else why it is not, which may stand in error. partitions: that the topic has. */
const char *half_read(struct codec *codec, int32_t partitions, const struct kafka_record *record,
                      struct half_record *read, struct error *error);

/* Appends a half's value, or a command's. Version 1 of the schema is used for all that it can say, so that processes of the
 * previous release read it while an upgrade is under way. */
void half_encode(struct buffer *out, const struct friendship *half);
void half_encode_command(struct buffer *out, const struct friend_command *command);

#include "cli/half_records.h"

#include <errno.h>

#include "base/bytes.h"

enum { PAIR_KEY = 16, FOLLOW_KEY = 17, DIRECTION_AT = 8 };

static int64_t user_at(const uint8_t *bytes) { return (int64_t)bytes_get_be64(bytes); }

int half_of_friendship(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    if (!record->key || record->key_size != PAIR_KEY) return -EBADMSG;
    const uint8_t *key = record->key;
    int64_t user = user_at(key), other = user_at(key + 8);
    if (user >= other) return 0; // the other half says the same
    struct friendship half = {.state = FRIENDSHIP_NONE};
    if (record->value && event_decode_friendship(codec, record->value, record->value_size, &half, NULL))
        return -EBADMSG;
    *said = (struct half_said){.a = user, .b = other, .is = half.state == FRIENDSHIP_FRIENDS};
    return 1;
}

bool follow_key_read(const void *key, size_t size, struct follow_key *out) {
    const uint8_t *bytes = key;
    if (!key || size != FOLLOW_KEY) return false;
    uint8_t direction = bytes[DIRECTION_AT];
    if (direction < FOLLOW_DIRECTION_FOLLOWS || direction > FOLLOW_DIRECTION_MUTES) return false;
    *out = (struct follow_key){
        .user = user_at(bytes),
        .other = user_at(bytes + DIRECTION_AT + 1),
        .direction = (enum follow_direction)direction,
    };
    return true;
}

int half_of_follow(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    struct follow_key key;
    struct follow half;
    if (!follow_key_read(record->key, record->key_size, &key)) return -EBADMSG;
    if (key.direction != FOLLOW_DIRECTION_FOLLOWS) return 0;
    if (record->value && event_decode_follow(codec, record->value, record->value_size, &half, NULL)) return -EBADMSG;
    *said = (struct half_said){.a = key.user, .b = key.other, .is = record->value != NULL};
    return 1;
}

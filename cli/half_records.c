#include "cli/half_records.h"

#include <errno.h>

#include "users/half.h"
#include "users/relation.h"

int half_of_friendship(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    if (!record->key || record->key_size != HALF_KEY_SIZE) return -EBADMSG;
    const uint8_t *key = record->key;
    int64_t user = half_key_user(key), other = half_key_other(key);
    if (user >= other) return 0; // the other half says the same
    struct friendship half = {.state = FRIENDSHIP_NONE};
    if (record->value && event_decode_friendship(codec, record->value, record->value_size, &half, NULL))
        return -EBADMSG;
    *said = (struct half_said){.a = user, .b = other, .is = half.state == FRIENDSHIP_FRIENDS};
    return 1;
}

int half_of_follow(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    struct relation_half key;
    struct follow half;
    if (!relation_key_read(record->key, record->key_size, &key)) return -EBADMSG;
    if (key.relation != RELATION_FOLLOWING) return 0;
    if (record->value && event_decode_follow(codec, record->value, record->value_size, &half, NULL)) return -EBADMSG;
    *said = (struct half_said){.a = key.user, .b = key.other, .is = record->value != NULL};
    return 1;
}

#include "cli/half_records.h"

#include <errno.h>

#include "users/half.h"
#include "users/relation.h"

int own_half_of_friendship(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    if (!record->key || record->key_size != HALF_KEY_SIZE) return -EBADMSG;
    const uint8_t *key = record->key;
    struct friendship half = {.state = FRIENDSHIP_NONE};
    if (record->value && event_decode_friendship(codec, record->value, record->value_size, &half, NULL))
        return -EBADMSG;
    *said =
        (struct half_said){.a = half_key_user(key), .b = half_key_other(key), .is = half.state == FRIENDSHIP_FRIENDS};
    return 1;
}

int half_of_friendship(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    if (!record->key || record->key_size != HALF_KEY_SIZE) return -EBADMSG;
    if (half_key_user(record->key) >= half_key_other(record->key)) return 0; // the other half says the same
    return own_half_of_friendship(codec, record, said);
}

int mirror_of_friendship(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    struct half_said own;
    int code = own_half_of_friendship(codec, record, &own);
    if (code == 1) *said = (struct half_said){.a = own.b, .b = own.a, .is = own.is};
    return code;
}

static int follow_of(enum relation side, struct codec *codec, const struct kafka_record *record,
                     struct half_said *said) {
    struct relation_half key;
    struct follow half;
    if (!relation_key_read(record->key, record->key_size, &key)) return -EBADMSG;
    if (key.relation != side) return 0;
    if (record->value && event_decode_follow(codec, record->value, record->value_size, &half, NULL)) return -EBADMSG;
    bool own = side == RELATION_FOLLOWING;
    *said = (struct half_said){
        .a = own ? key.user : key.other, .b = own ? key.other : key.user, .is = record->value != NULL};
    return 1;
}

int half_of_follow(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    return follow_of(RELATION_FOLLOWING, codec, record, said);
}

int mirror_of_follow(struct codec *codec, const struct kafka_record *record, struct half_said *said) {
    return follow_of(RELATION_FOLLOWER, codec, record, said);
}

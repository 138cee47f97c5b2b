#include "users/half.h"

#include "base/hash.h"

enum { COMMAND_V1 = 2, HALF_V1 = 3, HALF_V1_LACKS = 2 /* bytes at the end */ };

void half_encode(struct buffer *out, const struct friendship *half) {
    size_t before = out->size;
    event_encode_friendship(out, half);
    if (half->rounded_by_me || half->rounded_by_them) return;
    event_become_older(out, before, HALF_V1, HALF_V1_LACKS);
}

void half_encode_command(struct buffer *out, const struct friend_command *command) {
    size_t before = out->size;
    event_encode_friend_command(out, command);
    if (command->kind != FRIEND_COMMAND_ROUND && command->kind != FRIEND_COMMAND_EXACT)
        event_become_older(out, before, COMMAND_V1, 0);
}

const char *half_read(struct codec *codec, int32_t partitions, const struct kafka_record *record,
                      struct half_record *read, struct error *error) {
    read->half = (struct friendship){.state = FRIENDSHIP_NONE};
    if (record->key_size != HALF_KEY_SIZE) return "the key must be two users";
    read->user = half_key_user(record->key);
    read->other = half_key_other(record->key);
    if (read->user < 0 || read->other < 0 || read->user == read->other) return "the key must be two users";
    if (record->value && event_decode_friendship(codec, record->value, record->value_size, &read->half, error))
        return error->text;
    if (hash_user_partition(read->user, partitions) != record->partition) return "not in the partition of its user";
    return NULL;
}

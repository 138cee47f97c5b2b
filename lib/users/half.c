#include "users/half.h"

#include "base/hash.h"

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

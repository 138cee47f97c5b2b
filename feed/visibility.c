#include "feed/visibility.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

struct visibility_store {
    struct table_store *table;
    int32_t partitions;
    struct codec *codec;
};

static const char *complaint(void *context, struct table_store *table, const struct kafka_record *record,
                             struct error *error) {
    const struct visibility_store *visibility = context;
    struct visibility read;
    if (!record->key || record->key_size != VISIBILITY_KEY_SIZE || (int64_t)bytes_get_be64(record->key) < 0)
        return "the key must be a user";
    if (hash_user_partition((int64_t)bytes_get_be64(record->key), visibility->partitions) != record->partition)
        return "not in the partition of its author";
    if (record->value && event_decode_visibility(visibility->codec, record->value, record->value_size, &read, error))
        return error->text;
    return NULL;
}

struct visibility_store *visibility_store_new(struct store *store, int32_t partitions) {
    struct visibility_store *visibility =
        MEM_NEW(&(struct visibility_store){.partitions = partitions, .codec = codec_new()});
    visibility->table = table_store_of_topic(store, "visibility", partitions, complaint, visibility);
    return visibility;
}

void visibility_store_free(struct visibility_store *visibility) {
    if (!visibility) return;
    table_store_free(visibility->table);
    codec_free(visibility->codec);
    free(visibility);
}

struct table_store *visibility_table(struct visibility_store *visibility) {
    return visibility->table;
}

int visibility_is_for_followers(struct visibility_store *visibility, int32_t partition, int64_t author,
                                bool *for_followers, struct error *error) {
    uint8_t key[VISIBILITY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)author);
    int code = table_store_get(visibility->table, partition, key, sizeof key, NULL, error);
    if (code >= 0) *for_followers = code;
    return code < 0 ? code : 0;
}

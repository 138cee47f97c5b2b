#include "feed/notice_settings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "users/user_key.h"

struct notice_settings_store {
    struct table_store *table;
    int32_t partitions;
    struct codec *codec;
    struct buffer value;
};

static const char *complaint(void *context, struct table_store *table, const struct kafka_record *record,
                             struct error *error) {
    const struct notice_settings_store *settings = context;
    struct notice_settings read;
    int64_t user = 0;
    if (user_key_read(record, &user, error)) return error->text;
    if (hash_user_partition(user, settings->partitions) != record->partition) return "not in the partition of its user";
    if (record->value && event_decode_notice_settings(settings->codec, record->value, record->value_size, &read, error))
        return error->text;
    return NULL;
}

struct notice_settings_store *notice_settings_store_new(struct store *store, int32_t partitions) {
    struct notice_settings_store *settings =
        MEM_NEW(&(struct notice_settings_store){.partitions = partitions, .codec = codec_new()});
    settings->table = table_store_of_topic(store, "notice-settings", partitions, complaint, settings);
    return settings;
}

void notice_settings_store_free(struct notice_settings_store *settings) {
    if (!settings) return;
    table_store_free(settings->table);
    codec_free(settings->codec);
    buffer_free(&settings->value);
    free(settings);
}

struct table_store *notice_settings_table(struct notice_settings_store *settings) {
    return settings->table;
}

int notice_settings_of(struct notice_settings_store *settings, int32_t partition, int64_t user,
                       struct notice_settings *found, struct error *error) {
    uint8_t key[NOTICE_SETTINGS_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)user);
    *found = (struct notice_settings){0};
    int code = table_store_get(settings->table, partition, key, sizeof key, &settings->value, error);
    if (code <= 0) return code;
    return event_decode_notice_settings(settings->codec, settings->value.data, settings->value.size, found, error)
               ? -EBADMSG
               : 0;
}

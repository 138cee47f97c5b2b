#include "feed/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct names {
    struct table_store *table;
    int32_t partitions;
    struct codec *codec;
    struct buffer value;
};

struct names *names_new(struct store *store, int32_t partitions) {
    struct names *names = mem_alloc(sizeof *names);
    *names = (struct names){.table = table_store_of_topic(store, "names", partitions, names_complaint, names),
                            .partitions = partitions,
                            .codec = codec_new()};
    return names;
}

void names_free(struct names *names) {
    if (!names) return;
    table_store_free(names->table);
    codec_free(names->codec);
    buffer_free(&names->value);
    free(names);
}

struct table_store *names_table(struct names *names) {
    return names->table;
}

/* ---- records ---- */

/* A handle that a record holds; empty: none. */
static bool copy_handle(const struct event_text *text, char handle[HANDLE_SIZE]) {
    handle[0] = '\0';
    return !text->size || handle_read(text->data, text->size, handle);
}

static int read_user(struct names *names, const void *value, size_t size, struct name_of_user *name,
                     struct error *error) {
    struct user_name record;
    int code = event_decode_user_name(names->codec, value, size, &record, error);
    if (code) return error_set(error, -EBADMSG, "not a user's names: %s", strerror(-code));
    struct name_of_user read = {.number = record.number, .granted = record.granted};
    if (!copy_handle(&record.handle, read.handle) || !copy_handle(&record.wish, read.wish) ||
        !copy_handle(&record.refused, read.refused))
        return error_set(error, -EBADMSG, "a user has a handle that is none");
    *name = read;
    return 0;
}

static int read_handle(struct names *names, const void *value, size_t size, struct name_of_handle *name,
                       struct error *error) {
    struct handle_user record;
    int code = event_decode_handle_user(names->codec, value, size, &record, error);
    if (code) return error_set(error, -EBADMSG, "not a handle's user: %s", strerror(-code));
    *name = (struct name_of_handle){.user = record.user, .number = record.number};
    return 0;
}

const char *names_complaint(void *context, struct table_store *table, const struct kafka_record *record,
                            struct error *error) {
    struct names *names = context;
    char handle[HANDLE_SIZE];
    int64_t user;
    struct name_of_user of_user;
    struct name_of_handle of_handle;
    if (!name_key_read(record->key, record->key_size, &user, handle)) return "the key must be a user or a handle";
    int32_t home =
        user < 0 ? handle_partition(handle, names->partitions) : hash_user_partition(user, names->partitions);
    if (home != record->partition) return "not in the partition of its user or handle";
    if (!record->value) return user < 0 ? NULL : "a user's names are never deleted";
    int code = user < 0 ? read_handle(names, record->value, record->value_size, &of_handle, error)
                        : read_user(names, record->value, record->value_size, &of_user, error);
    return code ? error->text : NULL;
}

/* ---- reading ---- */

int names_of_user(struct names *names, int32_t partition, int64_t user, struct name_of_user *name,
                  struct error *error) {
    uint8_t key[NAME_KEY_MAX];
    int code = table_store_get(names->table, partition, key, name_key_of_user(key, user), &names->value, error);
    if (code < 0) return code;
    if (code) return read_user(names, names->value.data, names->value.size, name, error);
    *name = (struct name_of_user){.number = 0};
    return 0;
}

int names_of_handle(struct names *names, int32_t partition, const char *handle, struct name_of_handle *name,
                    struct error *error) {
    uint8_t key[NAME_KEY_MAX];
    int code = table_store_get(names->table, partition, key, name_key_of_handle(key, handle), &names->value, error);
    if (code < 0) return code;
    if (code) return read_handle(names, names->value.data, names->value.size, name, error);
    *name = (struct name_of_handle){.user = -1};
    return 0;
}

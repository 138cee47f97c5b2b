#include "feed/directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "users/user_key.h"

struct directory_store {
    struct table_store *table;
    int32_t partitions;
    struct codec *codec;
    struct buffer value;
};

/* ---- the rules ---- */

int64_t directory_number(const struct directory_row *row, const char *external) {
    for (size_t i = 0; i < row->count; i++)
        if (!strcmp(row->externals[i], external)) return external_id_number(external) + (int64_t)i;
    return -1;
}

bool directory_sign_in(struct directory_row *row, const char *external) {
    if (row->count == EXTERNAL_ID_PLACES || directory_number(row, external) >= 0) return false;
    strcpy(row->externals[row->count++], external);
    return true;
}

bool directory_forget(struct directory_row *row, int64_t user) {
    size_t place = (size_t)(user % EXTERNAL_ID_PLACES);
    if (place >= row->count || !row->externals[place][0]) return false;
    row->externals[place][0] = '\0';
    return true;
}

const char *directory_complaint(const struct directory_command *command) {
    char external[EXTERNAL_ID_SIZE];
    if (command->kind == DIRECTORY_COMMAND_FORGET) return NULL;
    if (!external_id_is(command->external.data, command->external.size)) return "external is no id of a user";
    memcpy(external, command->external.data, command->external.size);
    external[command->external.size] = '\0';
    return external_id_number(external) == command->user ? NULL : "user is not the number of external";
}

/* ---- the store ---- */

static int read_row(struct directory_store *directory, const void *value, size_t size, struct directory_row *row,
                    struct error *error) {
    struct directory_entry entry;
    int code = event_decode_directory_entry(directory->codec, value, size, &entry, error);
    if (code) return error_set(error, -EBADMSG, "not an entry of the directory: %s", strerror(-code));
    if (entry.externals.count > EXTERNAL_ID_PLACES)
        return error_set(error, -EBADMSG, "an entry of the directory has too many places");
    *row = (struct directory_row){.count = entry.externals.count};
    for (size_t i = 0; i < row->count; i++) {
        const struct event_text *text = &entry.externals.items[i];
        if (text->size && !external_id_is(text->data, text->size))
            return error_set(error, -EBADMSG, "an entry of the directory has a text that is no id");
        memcpy(row->externals[i], text->data, text->size);
    }
    return 0;
}

static const char *complaint(void *context, struct table_store *table, const struct kafka_record *record,
                             struct error *error) {
    struct directory_store *directory = context;
    struct directory_row row;
    int64_t user;
    if (user_key_read(record, &user, error)) return error->text;
    if (hash_user_partition(user, directory->partitions) != record->partition)
        return "not in the partition of its number";
    return record->value && read_row(directory, record->value, record->value_size, &row, error) ? error->text : NULL;
}

struct directory_store *directory_store_new(struct store *store, int32_t partitions) {
    struct directory_store *directory =
        MEM_NEW(&(struct directory_store){.partitions = partitions, .codec = codec_new()});
    directory->table = table_store_of_topic(store, "directory", partitions, complaint, directory);
    return directory;
}

void directory_store_free(struct directory_store *directory) {
    if (!directory) return;
    table_store_free(directory->table);
    codec_free(directory->codec);
    buffer_free(&directory->value);
    free(directory);
}

struct table_store *directory_table(struct directory_store *directory) {
    return directory->table;
}

int directory_row_of(struct directory_store *directory, int32_t partition, int64_t user, struct directory_row *row,
                     struct error *error) {
    uint8_t key[DIRECTORY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)external_id_base(user));
    *row = (struct directory_row){.count = 0};
    int code = table_store_get(directory->table, partition, key, sizeof key, &directory->value, error);
    return code <= 0 ? code : read_row(directory, directory->value.data, directory->value.size, row, error);
}

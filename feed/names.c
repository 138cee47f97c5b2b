#include "feed/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

static const uint8_t NEXT[] = {0xff}; /* a user's first byte is below 0x80, and a handle's is 0x80 */

struct names_part {
    struct store_family *family; /* NULL: never attached */
    int64_t next;
};

struct names {
    struct store *store;
    struct store_batch *batch;
    struct names_part *parts; /* by partition */
    int32_t partitions;
    struct codec *codec;
    struct buffer value;
};

struct names *names_new(struct store *store, int32_t partitions) {
    struct names *names = mem_alloc(sizeof *names);
    *names = (struct names){
        .store = store,
        .batch = store_batch_new(),
        .parts = mem_zero((size_t)partitions, sizeof *names->parts),
        .partitions = partitions,
        .codec = codec_new(),
    };
    return names;
}

void names_free(struct names *names) {
    if (!names) return;
    store_batch_free(names->batch);
    codec_free(names->codec);
    buffer_free(&names->value);
    free(names->parts);
    free(names);
}

static void name_of_family(char name[24], int32_t partition) { snprintf(name, 24, "names-%d", (int)partition); }

int names_attach(struct names *names, int32_t partition, int64_t *next, struct error *error) {
    struct names_part *part = &names->parts[partition];
    char family[24];
    name_of_family(family, partition);
    int code = store_family(names->store, family, &part->family, error);
    if (code) return code;
    code = store_get(names->store, part->family, NEXT, sizeof NEXT, &names->value, error);
    if (code < 0) return code;
    if (code && names->value.size != 8) return error_set(error, -EBADMSG, "the offset of names is damaged");
    *next = part->next = code ? (int64_t)bytes_get_be64(names->value.data) : -1;
    return 0;
}

int names_reset(struct names *names, int32_t partition, struct error *error) {
    char family[24];
    int64_t next;
    name_of_family(family, partition);
    int code = store_family_drop(names->store, family, error);
    return code ? code : names_attach(names, partition, &next, error);
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
    if (record.user < 0) return error_set(error, -EBADMSG, "a handle has a negative user");
    *name = (struct name_of_handle){.user = record.user, .number = record.number};
    return 0;
}

const char *names_complaint(struct names *names, int32_t partition, const void *key, size_t key_size, const void *value,
                            size_t size, struct error *error) {
    char handle[HANDLE_SIZE];
    int64_t user;
    struct name_of_user of_user;
    struct name_of_handle of_handle;
    if (!name_key_read(key, key_size, &user, handle)) return "the key must be a user or a handle";
    int32_t home =
        user < 0 ? handle_partition(handle, names->partitions) : hash_user_partition(user, names->partitions);
    if (home != partition) return "not in the partition of its user or handle";
    if (!value) return NULL;
    int code =
        user < 0 ? read_handle(names, value, size, &of_handle, error) : read_user(names, value, size, &of_user, error);
    return code ? error->text : NULL;
}

void names_take(struct names *names, int32_t partition, int64_t offset, const void *key, size_t key_size,
                const void *value, size_t size) {
    struct names_part *part = &names->parts[partition];
    uint8_t next[8];
    if (offset < part->next) return;
    part->next = offset + 1;
    bytes_put_be64(next, (uint64_t)part->next);
    if (value)
        store_batch_put(names->batch, part->family, key, key_size, value, size);
    else
        store_batch_delete(names->batch, part->family, key, key_size);
    store_batch_put(names->batch, part->family, NEXT, sizeof NEXT, next, sizeof next);
}

int names_write(struct names *names, struct error *error) {
    int code = store_batch_count(names->batch) ? store_write(names->store, names->batch, false, error) : 0;
    store_batch_clear(names->batch);
    return code;
}

int64_t names_next(const struct names *names, int32_t partition) { return names->parts[partition].next; }

/* ---- reading ---- */

int names_of_user(struct names *names, int32_t partition, int64_t user, struct name_of_user *name,
                  struct error *error) {
    uint8_t key[NAME_KEY_MAX];
    int code =
        store_get(names->store, names->parts[partition].family, key, name_key_of_user(key, user), &names->value, error);
    if (code < 0) return code;
    if (code) return read_user(names, names->value.data, names->value.size, name, error);
    *name = (struct name_of_user){.number = 0};
    return 0;
}

int names_of_handle(struct names *names, int32_t partition, const char *handle, struct name_of_handle *name,
                    struct error *error) {
    uint8_t key[NAME_KEY_MAX];
    int code = store_get(names->store, names->parts[partition].family, key, name_key_of_handle(key, handle),
                         &names->value, error);
    if (code < 0) return code;
    if (code) return read_handle(names, names->value.data, names->value.size, name, error);
    *name = (struct name_of_handle){.user = -1};
    return 0;
}

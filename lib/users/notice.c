#include "users/notice.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

enum { TIME_AT = 8, KIND_AT = 16, NUMBER_AT = 17 };

static bool is_kind(int64_t kind) { return kind >= NOTICE_OF_FOLLOW && kind <= NOTICE_OF_REPLY; }

void notice_key_write(uint8_t bytes[NOTICE_KEY_SIZE], const struct notice_key *key) {
    bytes_put_be64(bytes, (uint64_t)key->user);
    bytes_put_be64(bytes + TIME_AT, (uint64_t)(INT64_MAX - key->time));
    bytes[KIND_AT] = (uint8_t)key->kind;
    bytes_put_be64(bytes + NUMBER_AT, (uint64_t)key->number);
}

bool notice_key_read(const void *bytes, size_t size, struct notice_key *key) {
    const uint8_t *at = bytes;
    if (!bytes || size != NOTICE_KEY_SIZE || !is_kind(at[KIND_AT])) return false;
    int64_t back = (int64_t)bytes_get_be64(at + TIME_AT);
    struct notice_key read = {
        .user = (int64_t)bytes_get_be64(at),
        .time = back < 0 ? -1 : INT64_MAX - back,
        .kind = (enum notice_kind)at[KIND_AT],
        .number = (int64_t)bytes_get_be64(at + NUMBER_AT),
    };
    if (read.user < 0 || read.time < 0 || read.number < 0) return false;
    *key = read;
    return true;
}

void notice_id_put(struct buffer *out, const struct notice_key *key) {
    buffer_format(out, "%" PRId64 ".%d.%" PRId64, key->time, (int)key->kind, key->number);
}

/* The number before the next dot, or before the end. */
static bool next_number(const char **text, char end, int64_t *number) {
    size_t size = strcspn(*text, ".");
    if ((*text)[size] != end || !text_number(*text, size, INT64_MAX, number)) return false;
    *text += size + (end != '\0');
    return true;
}

bool notice_id_read(const char *text, struct notice_key *key) {
    int64_t time, kind, number;
    if (!next_number(&text, '.', &time) || !next_number(&text, '.', &kind) || !next_number(&text, '\0', &number) ||
        !is_kind(kind))
        return false;
    key->time = time;
    key->kind = (enum notice_kind)kind;
    key->number = number;
    return true;
}

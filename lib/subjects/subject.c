#include "subjects/subject.h"

#include <string.h>

#include "base/bytes.h"

static bool plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

static bool plain_or_more(char c) { return plain(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '~'; }

static size_t span(const char *text, size_t size, bool (*allowed)(char c)) {
    size_t length = 0;
    while (length < size && allowed(text[length])) length++;
    return length;
}

/* Whether the text begins with a type, the separator and an id. *end: behind the id. */
static bool begins(const char *text, size_t size, char separator, size_t *type, size_t *end) {
    *type = span(text, size, plain);
    if (!*type || *type > SUBJECT_TYPE_MAX || *type == size || text[*type] != separator) return false;
    size_t id = span(text + *type + 1, size - *type - 1, plain_or_more);
    *end = *type + 1 + id;
    return id && id <= SUBJECT_ID_MAX;
}

bool subject_valid(const char *text, size_t size) {
    size_t type, end;
    return begins(text, size, ':', &type, &end) && end == size;
}

bool subject_of_path(const char **path, char subject[SUBJECT_MAX + 1]) {
    size_t type, end, size = strlen(*path);
    if (!begins(*path, size, '/', &type, &end)) return false;
    if (end < size && (*path)[end] != '/') return false;
    memcpy(subject, *path, end);
    subject[type] = ':';
    subject[end] = '\0';
    *path += end;
    return true;
}

void subject_put_path(struct buffer *path, const char *subject) {
    size_t type = strcspn(subject, ":");
    buffer_append(path, subject, type);
    buffer_byte(path, '/');
    buffer_string(path, subject + type + 1);
}

size_t subject_key_write(uint8_t key[SUBJECT_KEY_MAX], const struct subject_key *parts) {
    uint8_t *at = key + parts->size;
    memcpy(key, parts->subject, parts->size);
    if (!parts->numbers) return parts->size;
    *at++ = 0;
    bytes_put_be64(at, (uint64_t)parts->comment);
    if (parts->numbers == 2) bytes_put_be64(at + 8, (uint64_t)parts->second);
    return parts->size + 1 + 8 * (size_t)parts->numbers;
}

bool subject_key_read(const void *key, size_t size, struct subject_key *parts) {
    const uint8_t *bytes = key, *end = size ? memchr(bytes, 0, size) : NULL;
    size_t subject = end ? (size_t)(end - bytes) : size, behind = end ? size - subject - 1 : 0;
    if (!subject_valid(key, subject) || (end && behind != 8 && behind != 16)) return false;
    *parts = (struct subject_key){.subject = key, .size = subject, .numbers = (int)(behind / 8)};
    if (behind) parts->comment = (int64_t)bytes_get_be64(end + 1);
    if (behind == 16) parts->second = (int64_t)bytes_get_be64(end + 9);
    return true;
}

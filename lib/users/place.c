#include "users/place.h"

#include <ctype.h>
#include <string.h>

#include "base/bytes.h"

enum { NUMBER = 8 };

bool place_id_is(const char *id, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)id[i]) && id[i] != '_' && id[i] != '-') return false;
    return size > 0 && size <= PLACE_ID_MAX;
}

int place_id_compare(const char *id, size_t size, const char *other, size_t other_size) {
    int order = memcmp(id, other, size < other_size ? size : other_size);
    return order ? order : (size > other_size) - (size < other_size);
}

size_t place_key_write(uint8_t bytes[PLACE_KEY_MAX], const struct place_key *key) {
    bytes_put_be64(bytes, (uint64_t)key->user);
    memcpy(bytes + NUMBER, key->id, key->id_size);
    return NUMBER + key->id_size;
}

bool place_key_read(const void *bytes, size_t size, struct place_key *key) {
    if (size <= NUMBER) return false;
    struct place_key read = {
        .user = (int64_t)bytes_get_be64(bytes), .id = (const char *)bytes + NUMBER, .id_size = size - NUMBER};
    if (read.user < 0 || !place_id_is(read.id, read.id_size)) return false;
    *key = read;
    return true;
}

void place_event_key_write(uint8_t bytes[PLACE_EVENT_KEY_SIZE], const struct place_event_key *key) {
    bytes_put_be64(bytes, (uint64_t)key->user);
    bytes_put_be64(bytes + NUMBER, (uint64_t)key->number);
}

bool place_event_key_read(const void *bytes, size_t size, struct place_event_key *key) {
    if (size != PLACE_EVENT_KEY_SIZE) return false;
    const uint8_t *at = bytes;
    struct place_event_key read = {(int64_t)bytes_get_be64(at), (int64_t)bytes_get_be64(at + NUMBER)};
    if (read.user < 0 || read.number < 0) return false;
    *key = read;
    return true;
}

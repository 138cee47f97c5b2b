#include "users/device.h"

#include "base/bytes.h"
#include "base/text.h"

enum { NUMBER = 8, BEAT_SIZE = 1 + NUMBER, ROW_SIZE = 3 * NUMBER };

size_t device_key_write(uint8_t bytes[DEVICE_KEY_MAX], const struct device_key *key) {
    if (key->user < 0) {
        bytes[0] = DEVICE_BEAT_MARK;
        bytes_put_be64(bytes + 1, (uint64_t)key->run);
        return BEAT_SIZE;
    }
    bytes_put_be64(bytes, (uint64_t)key->user);
    bytes_put_be64(bytes + NUMBER, (uint64_t)key->run);
    bytes_put_be64(bytes + 2 * NUMBER, (uint64_t)key->session);
    return ROW_SIZE;
}

bool device_key_read(const void *bytes, size_t size, struct device_key *key) {
    const uint8_t *at = bytes;
    if (size == BEAT_SIZE && at[0] == DEVICE_BEAT_MARK) {
        *key = (struct device_key){.user = -1, .run = (int64_t)bytes_get_be64(at + 1)};
        return key->run >= 0;
    }
    if (size != ROW_SIZE) return false;
    *key = (struct device_key){.user = (int64_t)bytes_get_be64(at),
                               .run = (int64_t)bytes_get_be64(at + NUMBER),
                               .session = (int64_t)bytes_get_be64(at + 2 * NUMBER)};
    return key->user >= 0 && key->run >= 0 && key->session >= 0;
}

bool device_name_is(const char *name, size_t size) {
    for (size_t i = 0, length; i < size; i += length) {
        length = text_utf8_length(name + i, size - i);
        if (!length || (unsigned char)name[i] < ' ' || name[i] == 0x7f) return false;
    }
    return size > 0 && size <= DEVICE_NAME_MAX;
}

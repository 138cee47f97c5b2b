#include "decider/command_offset.h"

#include <errno.h>

#include "base/bytes.h"

#define COMMAND_OFFSET_MAX (INT64_C(1) << 62) // as schemas/ranges.txt says

enum { HEADER_SIZE = 5, SCHEMA_ID = 8 }; /* a zero, the id in four bytes; schemas/ids.txt */

_Static_assert(COMMAND_OFFSET_BYTES == HEADER_SIZE + VARINT_MAX, "the longest value");

size_t command_offset_put(uint8_t *value, int64_t next) {
    value[0] = 0;
    bytes_put_be32(value + 1, SCHEMA_ID);
    return (size_t)(varint_put(value + HEADER_SIZE, zigzag(next)) - value);
}

int command_offset_get(const void *value, size_t size, int64_t *next) {
    const uint8_t *at = value;
    uint64_t raw;
    if (size < HEADER_SIZE || at[0] != 0 || bytes_get_be32(at + 1) != SCHEMA_ID) return -EBADMSG;
    if (varint_get(at + HEADER_SIZE, at + size, &raw) != at + size || unzigzag(raw) < 0 ||
        unzigzag(raw) > COMMAND_OFFSET_MAX)
        return -EBADMSG;
    *next = unzigzag(raw);
    return 0;
}

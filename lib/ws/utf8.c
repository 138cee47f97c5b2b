#include "ws/utf8.h"

#include <string.h>

/* The byte that begins a character, and what may come behind it (the Unicode Standard, table 3-7). */
static bool begin(struct utf8 *utf8, uint8_t byte) {
    utf8->low = 0x80;
    utf8->high = 0xbf;
    if (byte < 0xc2 || byte > 0xf4) return false;
    utf8->missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    if (byte == 0xe0) utf8->low = 0xa0;  /* else it would be longer than it has to be */
    if (byte == 0xed) utf8->high = 0x9f; /* no surrogates */
    if (byte == 0xf0) utf8->low = 0x90;
    if (byte == 0xf4) utf8->high = 0x8f; /* nothing beyond U+10FFFF */
    return true;
}

bool utf8_feed(struct utf8 *utf8, const void *bytes, size_t size) {
    const uint8_t *at = bytes, *end = at + size;
    while (at < end) {
        uint64_t eight;
        if (!utf8->missing && end - at >= 8) {
            memcpy(&eight, at, sizeof eight);
            if (!(eight & 0x8080808080808080)) {
                at += 8;
                continue;
            }
        }
        uint8_t byte = *at++;
        if (utf8->missing) {
            if (byte < utf8->low || byte > utf8->high) return false;
            utf8->low = 0x80;
            utf8->high = 0xbf;
            utf8->missing--;
        } else if (byte >= 0x80 && !begin(utf8, byte)) {
            return false;
        }
    }
    return true;
}

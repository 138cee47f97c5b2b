#include "base/header.h"

#include <string.h>

static bool is_token_byte(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

bool header_is_token(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!is_token_byte(text[i])) return false;
    return size > 0;
}

bool header_is_value(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f) return false;
    }
    return true;
}

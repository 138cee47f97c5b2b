#include "http/target.h"

#include <string.h>

static int digit_of(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static void decode(char *text, bool plus_is_blank) {
    char *out = text;
    for (const char *at = text; *at; at++) {
        int high = *at == '%' ? digit_of(at[1]) : -1, low = high >= 0 ? digit_of(at[2]) : -1;
        if (low >= 0) at += 2;
        *out++ = low >= 0 ? (char)(high << 4 | low) : plus_is_blank && *at == '+' ? ' ' : *at;
    }
    *out = '\0';
}

bool http_target_read(char *target, struct http_field *parameters, size_t *count) {
    size_t room = *count;
    char *rest = strchr(target, '?');
    if (rest) *rest++ = '\0';
    decode(target, false);
    *count = 0;
    for (char *one; (one = strsep(&rest, "&"));) {
        if (!*one) continue;
        if (*count == room) return false;
        char *name = one, *value = strchr(one, '=');
        if (value) *value++ = '\0';
        decode(name, true);
        if (value) decode(value, true);
        parameters[(*count)++] = (struct http_field){name, value ? value : ""};
    }
    return true;
}

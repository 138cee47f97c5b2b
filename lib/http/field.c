#include "http/field.h"

#include <string.h>
#include <strings.h>

static const char BLANKS[] = " \t";

static bool is_token_byte(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

bool http_is_token(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!is_token_byte(text[i])) return false;
    return size > 0;
}

bool http_is_value(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f) return false;
    }
    return true;
}

bool http_lists(const char *list, const char *word, size_t size, bool any_case) {
    while (*list) {
        list += strspn(list, BLANKS);
        size_t length = strcspn(list, ","), used = length;
        while (used && strchr(BLANKS, list[used - 1])) used--;
        if (used == size && !(any_case ? strncasecmp(list, word, size) : strncmp(list, word, size))) return true;
        list += length + (list[length] == ',');
    }
    return false;
}

#include "base/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

static bool limited(const struct config_property *property) { return property->min != 0 || property->max != 0; }

static bool in_range(const struct config_property *property, double value) {
    return !limited(property) || (value >= property->min && value <= property->max);
}

void config_value_allowed(struct buffer *out, const struct config_property *property) {
    switch (property->type) {
    case CONFIG_BOOL: buffer_string(out, "true or false"); break;
    case CONFIG_INT:
    case CONFIG_DOUBLE:
        buffer_string(out, property->type == CONFIG_INT ? "a whole number" : "a number");
        if (limited(property)) {
            buffer_string(out, " from ");
            text_double(out, property->min);
            buffer_string(out, " to ");
            text_double(out, property->max);
        }
        break;
    case CONFIG_STRING: break;
    case CONFIG_CHOICE:
        buffer_string(out, "one of ");
        for (int i = 0; property->choices[i]; i++) {
            buffer_string(out, i ? ", " : "");
            buffer_string(out, property->choices[i]);
        }
        break;
    }
}

static bool parse_bool(const char *text, bool *value) {
    *value = strcasecmp(text, "true") == 0;
    return *value || strcasecmp(text, "false") == 0;
}

static bool parse_int(const struct config_property *property, const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long integer = strtoll(text, &end, 10);
    *value = integer;
    return end != text && !*end && !errno && in_range(property, (double)integer);
}

static bool parse_double(const struct config_property *property, const char *text, double *value) {
    char *end;
    // strtod would also take hexadecimal numbers, infinity and NaN.
    if (text[strspn(text, "0123456789+-.eE")]) return false;
    *value = strtod(text, &end);
    return end != text && !*end && isfinite(*value) && in_range(property, *value);
}

static bool parse_choice(const struct config_property *property, const char *text, int *value) {
    for (*value = 0; property->choices[*value]; ++*value)
        if (strcmp(property->choices[*value], text) == 0) return true;
    return false;
}

/* All but strings, whose blanks count. */
static bool parse_word(const struct config_property *property, const char *word, union config_value *value) {
    switch (property->type) {
    case CONFIG_BOOL: return parse_bool(word, &value->boolean);
    case CONFIG_INT: return parse_int(property, word, &value->integer);
    case CONFIG_DOUBLE: return parse_double(property, word, &value->real);
    case CONFIG_CHOICE: return parse_choice(property, word, &value->choice);
    case CONFIG_STRING: break;
    }
    return false;
}

static char *trimmed(const char *text) {
    while (isspace((unsigned char)*text)) text++;
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1])) length--;
    return mem_stringn(text, length);
}

int config_value_parse(const struct config_property *property, const char *text, union config_value *value,
                       struct error *error) {
    union config_value parsed = {.text = text};
    if (property->type != CONFIG_STRING) {
        char *word = trimmed(text);
        bool good = parse_word(property, word, &parsed);
        free(word);
        if (!good) {
            struct buffer allowed = {0};
            config_value_allowed(&allowed, property);
            error_set(error, -EINVAL, "\"%s\" is \"%s\", but must be %s", property->name, text,
                      buffer_cstring(&allowed));
            buffer_free(&allowed);
            return -EINVAL;
        }
    }
    *value = parsed;
    return 0;
}

void config_value_store(const struct config_property *property, const union config_value *value, void *values) {
    char *at = (char *)values + property->offset;
    switch (property->type) {
    case CONFIG_BOOL: memcpy(at, &value->boolean, sizeof value->boolean); break;
    case CONFIG_INT: memcpy(at, &value->integer, sizeof value->integer); break;
    case CONFIG_DOUBLE: memcpy(at, &value->real, sizeof value->real); break;
    case CONFIG_STRING: memcpy(at, &value->text, sizeof value->text); break;
    case CONFIG_CHOICE: memcpy(at, &value->choice, sizeof value->choice); break;
    }
}

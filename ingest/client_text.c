#include "ingest/client_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Characters of text that is known to be UTF-8; *overrides: it holds some of those. */
static size_t points_of(const char *text, size_t size, bool *overrides) {
    size_t points = 0;
    *overrides = false;
    for (size_t at = 0, length; at < size && (length = text_utf8_length(text + at, size - at)); at += length) {
        *overrides |= text_is_override(text + at, length);
        points++;
    }
    return points;
}

bool client_text_read(const json_t *object, const char *member, size_t max, struct event_text *text,
                      struct error *error) {
    const char *given;
    if (json_want_text(object, member, &given, error)) return false;
    *text = (struct event_text){.data = given, .size = strlen(given)};
    bool overrides;
    size_t points = points_of(given, text->size, &overrides);
    if (points && points <= max && !overrides) return true;
    if (overrides)
        error_set(error, -EINVAL, "\"%s\" must not hold U+202D or U+202E", member);
    else
        error_set(error, -EINVAL, "\"%s\" must have 1 to %zu characters", member, max);
    return false;
}

bool client_key_valid(const char *key) {
    size_t size = strlen(key);
    for (size_t i = 0; i < size; i++) {
        if (key[i] < ' ' || key[i] > '~') return false;
    }
    return size && size <= CLIENT_KEY_MAX;
}

bool client_key_read(const json_t *object, const char **key, struct error *error) {
    if (!json_object_get(object, "key")) return true;
    if (json_want_text(object, "key", key, error)) return false;
    if (client_key_valid(*key)) return true;
    error_set(error, -EINVAL, "\"key\" must have 1 to %d characters, all of them printable and of ASCII",
              CLIENT_KEY_MAX);
    return false;
}

void client_key_choose(struct chance *chance, const char *given, char key[CLIENT_KEY_MAX + 1]) {
    if (given) {
        snprintf(key, CLIENT_KEY_MAX + 1, "%s", given);
        return;
    }
    for (size_t at = 0; at < 32; at += 8)
        snprintf(key + at, CLIENT_KEY_MAX + 1 - at, "%08" PRIx32, chance_next(chance));
}

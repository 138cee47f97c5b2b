#include "ingest/feed/post_body.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

/* Characters of text that is known to be UTF-8. */
static size_t points_of(const char *text, size_t size) {
    size_t points = 0;
    for (size_t at = 0, length; at < size && (length = text_utf8_length(text + at, size - at)); at += length) points++;
    return points;
}

static bool read_text(const json_t *object, struct post_body *body, struct error *error) {
    const char *text;
    if (json_want_text(object, "text", &text, error)) return false;
    body->text = (struct event_text){.data = text, .size = strlen(text)};
    size_t points = points_of(text, body->text.size);
    if (points && points <= POST_BODY_POINTS_MAX) return true;
    error_set(error, -EINVAL, "\"text\" must have 1 to %d characters", POST_BODY_POINTS_MAX);
    return false;
}

static bool is_url(const char *text, size_t size) {
    if (size > POST_BODY_URL_MAX) return false;
    return strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;
}

static bool read_media(const json_t *object, struct post_body *body, struct error *error) {
    const json_t *media = json_object_get(object, "media");
    if (!media) return true;
    if (!json_is_array(media) || json_array_size(media) > POST_BODY_MEDIA_MAX) {
        error_set(error, -EINVAL, "\"media\" must be a list of at most %d URLs", POST_BODY_MEDIA_MAX);
        return false;
    }
    for (size_t i = 0; i < json_array_size(media); i++) {
        const char *url = json_string_value(json_array_get(media, i));
        size_t size = url ? strlen(url) : 0;
        if (!url || !is_url(url, size)) {
            error_set(error, -EINVAL,
                      "each of \"media\" must be a string that begins with https:// or http://, of at most %d bytes",
                      POST_BODY_URL_MAX);
            return false;
        }
        body->media[body->media_count++] = (struct event_text){.data = url, .size = size};
    }
    return true;
}

static bool is_key(const char *text) {
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] > '~') return false;
    }
    return size && size <= POST_BODY_KEY_MAX;
}

static bool read_key(const json_t *object, struct post_body *body, struct error *error) {
    if (!json_object_get(object, "key")) return true;
    if (json_want_text(object, "key", &body->key, error)) return false;
    if (is_key(body->key)) return true;
    error_set(error, -EINVAL, "\"key\" must have 1 to %d characters, all of them printable and of ASCII",
              POST_BODY_KEY_MAX);
    return false;
}

const char *post_body_read(const json_t *object, struct post_body *body, struct error *error) {
    *body = (struct post_body){.key = NULL};
    if (!read_text(object, body, error)) return "bad_text";
    if (!read_media(object, body, error)) return "bad_media";
    return read_key(object, body, error) ? NULL : "bad_key";
}

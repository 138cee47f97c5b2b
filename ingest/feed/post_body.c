#include "ingest/feed/post_body.h"

#include <errno.h>
#include <string.h>

#include "ingest/client_text.h"

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

const char *post_body_read(const json_t *object, struct post_body *body, struct error *error) {
    *body = (struct post_body){.key = NULL};
    if (!client_text_read(object, "text", POST_BODY_POINTS_MAX, &body->text, error)) return "bad_text";
    if (!read_media(object, body, error)) return "bad_media";
    return client_key_read(object, &body->key, error) ? NULL : "bad_key";
}

#include "service/http_values.h"

#include <string.h>

#include "base/text.h"

bool http_query_number(const struct http_request *request, const char *name, int64_t fallback, int64_t max,
                       int64_t *value) {
    const char *text = http_query(request, name);
    *value = fallback;
    return !text || text_number(text, strlen(text), max, value);
}

const char *http_path_behind(const struct http_request *request, const char *start) {
    const char *path = http_path(request);
    size_t size = strlen(start);
    return strncmp(path, start, size) ? NULL : path + size;
}

bool http_path_number(const char **at, int64_t *value) {
    size_t size = strcspn(*at, "/");
    if (!text_number(*at, size, INT64_MAX, value)) return false;
    *at += size;
    return true;
}

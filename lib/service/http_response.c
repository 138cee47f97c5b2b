#include "service/http_response.h"

#include <inttypes.h>
#include <time.h>

#include "base/mem.h"

const char *http_reason(unsigned status) {
    static const struct {
        unsigned status;
        const char *reason;
    } REASONS[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++)
        if (REASONS[i].status == status) return REASONS[i].reason;
    return "Unknown";
}

static void put_date(struct buffer *out) {
    char text[64];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    buffer_string(out, text);
}

void http_response_put(struct buffer *out, unsigned status, const struct http_field *fields, size_t field_count,
                       uint64_t size, bool keep_alive) {
    buffer_format(out, "HTTP/1.1 %u %s\r\n", status, http_reason(status));
    put_date(out);
    for (size_t i = 0; i < field_count; i++) {
        buffer_string(out, fields[i].name);
        buffer_string(out, ": ");
        buffer_string(out, fields[i].value);
        buffer_string(out, "\r\n");
    }
    if (status != 204 && status != 304) buffer_format(out, "Content-Length: %" PRIu64 "\r\n", size);
    buffer_string(out, keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

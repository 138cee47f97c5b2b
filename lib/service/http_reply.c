#include "service/http_reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/json.h"
#include "service/http_connection.h"
#include "service/http_cors.h"
#include "service/http_gzip.h"

static void reply(struct http_request *request, unsigned status, const char *content_type, const void *bytes,
                  size_t size, bool constant, const struct http_field *fields, size_t field_count) {
    struct http_gzip *gzip = http_connection_gzip(request->connection);
    struct buffer *put = http_connection_fields(request->connection);
    struct http_body body = {.bytes = bytes, .left = size, .lent = !constant};
    bool varies = http_gzip_varies(gzip, content_type, size);
    http_request_answers(request, size);
    if (varies && http_gzip_accepted(http_header(request, "Accept-Encoding"))) {
        body = (constant ? http_gzip_constant : http_gzip_body)(gzip, bytes, size);
        http_put_field(put, "Content-Encoding", "gzip");
    }
    if (varies) http_put_field(put, "Vary", "Accept-Encoding");
    if (content_type) http_put_field(put, "Content-Type", content_type);
    for (size_t i = 0; i < field_count; i++) http_put_field(put, fields[i].name, fields[i].value);
    http_answer(request, status, body);
}

void http_reply(struct http_request *request, unsigned status, const char *content_type, const void *body, size_t size,
                const struct http_field *fields, size_t field_count) {
    reply(request, status, content_type, body, size, false, fields, field_count);
}

void http_reply_constant(struct http_request *request, const char *content_type, const void *body, size_t size,
                         const struct http_field *fields, size_t field_count) {
    reply(request, 200, content_type, body, size, true, fields, field_count);
}

void http_reply_json(struct http_request *request, unsigned status, const struct buffer *body) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    http_reply(request, status, "application/json", body->data, body->size, FIELDS, 1);
}

void http_reply_json_free(struct http_request *request, unsigned status, struct buffer *body) {
    http_reply_json(request, status, body);
    buffer_free(body);
}

void http_reply_format(struct http_request *request, unsigned status, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0) abort(); // out of memory
    http_reply_json_free(request, status, &(struct buffer){.data = (uint8_t *)text, .size = (size_t)size});
}

/* more: one further header field; its value NULL: none. */
static void problem(struct http_request *request, unsigned status, const char *code, const char *detail, size_t index,
                    struct http_field more) {
    struct buffer body = {.size = 0};
    char type[128];
    snprintf(type, sizeof type, "urn:starling:%s", code);
    json_member_text(&body, "{\"type\":", type);
    json_member_text(&body, ",\"title\":", http_reason(status));
    buffer_format(&body, ",\"status\":%u", status);
    json_member_text(&body, ",\"detail\":", detail);
    json_member_text(&body, ",\"code\":", code);
    if (index != HTTP_NO_INDEX) buffer_format(&body, ",\"index\":%zu", index);
    buffer_string(&body, "}\n");
    struct http_field fields[3] = {{"Cache-Control", "no-store"}};
    size_t count = 1;
    if (more.value) fields[count++] = more;
    if (status == 401) fields[count++] = (struct http_field){"WWW-Authenticate", "Bearer"};
    http_reply(request, status, "application/problem+json", body.data, body.size, fields, count);
    buffer_free(&body);
}

void http_problem(struct http_request *request, unsigned status, const char *code, const char *detail,
                  int retry_after_s) {
    char retry[16];
    snprintf(retry, sizeof retry, "%d", retry_after_s);
    problem(request, status, code, detail, HTTP_NO_INDEX,
            (struct http_field){"Retry-After", retry_after_s ? retry : NULL});
}

void http_problem_at(struct http_request *request, unsigned status, const char *code, const char *detail,
                     size_t index) {
    problem(request, status, code, detail, index, (struct http_field){NULL, NULL});
}

void http_bad_method(struct http_request *request, const char *allowed) {
    char detail[128];
    snprintf(detail, sizeof detail, "this path knows %s", allowed);
    problem(request, 405, "bad_method", detail, HTTP_NO_INDEX, (struct http_field){"Allow", allowed});
}

void http_reply_options(struct http_request *request, const char *allowed) {
    struct buffer *fields = http_connection_fields(request->connection);
    http_put_field(fields, "Allow", allowed);
    if (http_header(request, "Access-Control-Request-Method"))
        http_cors_put_preflight(http_connection_cors(request->connection), http_header(request, "Origin"), allowed,
                                fields);
    http_answer(request, 204, (struct http_body){.bytes = NULL});
}

#include "service/http_request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "service/http_incoming.h"

struct http_request {
    struct http_connection *connection;
    struct http_head head;
    struct buffer body;
    struct http_chunks chunks;
    uint64_t excess; // bytes of the body beyond the limit, thrown away
    int64_t began_us;
    void *context;
};

struct http_request *http_request_new(struct http_connection *connection) {
    struct http_request *request = mem_alloc(sizeof *request);
    *request = (struct http_request){
        .connection = connection, .head = {.method = "", .path = ""}, .began_us = clock_monotonic_us()};
    return request;
}

void http_request_free(struct http_request *request) {
    if (!request) return;
    http_head_free(&request->head);
    buffer_free(&request->body);
    free(request);
}

struct http_connection *http_request_connection(const struct http_request *request) {
    return request->connection;
}

int http_request_begin(struct http_request *request, const char *text, size_t size, struct http_fault *fault) {
    return http_head_parse(text, size, &request->head, fault);
}

const struct http_head *http_request_head(const struct http_request *request) { return &request->head; }

static int read_plain(struct http_request *request, const char *data, size_t size, size_t room, size_t *used) {
    uint64_t left = request->head.length - request->body.size - request->excess;
    size_t here = size < left ? size : (size_t)left, free_room = room - request->body.size,
           taken = here < free_room ? here : free_room;
    buffer_append(&request->body, data, taken);
    request->excess += here - taken;
    *used = here;
    return here == left;
}

int http_request_read(struct http_request *request, const char *data, size_t size, size_t room, size_t *used) {
    if (!request->head.chunked) return read_plain(request, data, size, room, used);
    return http_chunks_read(&request->chunks, data, size, used, &request->body, room, &request->excess);
}

uint64_t http_request_excess(const struct http_request *request) { return request->excess; }

const char *http_method(const struct http_request *request) { return request->head.method; }

const char *http_path(const struct http_request *request) { return request->head.path; }

const char *http_query(const struct http_request *request, const char *name) {
    for (size_t i = 0; i < request->head.parameter_count; i++)
        if (!strcmp(request->head.parameters[i].name, name)) return request->head.parameters[i].value;
    return NULL;
}

const char *http_header(const struct http_request *request, const char *name) {
    return http_head_field(&request->head, name);
}

const char *http_bearer(const struct http_request *request, size_t *size) {
    static const char SCHEME[] = "Bearer";
    const char *value = http_header(request, "Authorization");
    if (!value || strncasecmp(value, SCHEME, sizeof SCHEME - 1)) return NULL;
    value += sizeof SCHEME - 1;
    if (*value && *value != ' ') return NULL;
    value += strspn(value, " ");
    *size = strlen(value);
    return value;
}

const void *http_body(const struct http_request *request, size_t *size) {
    *size = request->body.size;
    return request->body.data;
}

int64_t http_age_us(const struct http_request *request) { return clock_monotonic_us() - request->began_us; }

void http_set_context(struct http_request *request, void *context) { request->context = context; }

void *http_context(const struct http_request *request) { return request->context; }

#include "service/http_request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "service/http_incoming.h"

struct http_request {
    struct http_connection *connection;
    struct MHD_Connection *handle;
    const char *method, *path;
    struct buffer body;
    uint64_t excess; // bytes of the body beyond the limit, thrown away
    int64_t began_us;
    void *context;
    const char *varies;
    int64_t payer, paid;
    size_t answer;
};

struct http_request *http_request_new(struct http_connection *connection, struct MHD_Connection *handle,
                                      const char *method, const char *path) {
    struct http_request *request = mem_alloc(sizeof *request);
    *request = (struct http_request){
        .connection = connection,
        .handle = handle,
        .method = method,
        .path = path,
        .began_us = clock_monotonic_us(),
        .payer = -1,
    };
    return request;
}

void http_request_free(struct http_request *request) {
    if (!request) return;
    buffer_free(&request->body);
    free(request);
}

struct http_connection *http_request_connection(const struct http_request *request) {
    return request->connection;
}

const struct sockaddr *http_request_peer(const struct http_request *request) {
    return MHD_get_connection_info(request->handle, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
}

struct wanted_fields {
    const char *name;
    struct buffer *values;
};

static enum MHD_Result append_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct wanted_fields *wanted = context;
    (void)kind;
    if (strcasecmp(name, wanted->name) || !value) return MHD_YES;
    if (wanted->values->size) buffer_byte(wanted->values, ',');
    buffer_string(wanted->values, value);
    return MHD_YES;
}

void http_request_fields(const struct http_request *request, const char *name, struct buffer *values) {
    struct wanted_fields wanted = {.name = name, .values = values};
    MHD_get_connection_values(request->handle, MHD_HEADER_KIND, append_field, &wanted);
}

void http_request_read(struct http_request *request, const char *data, size_t size, size_t room) {
    size_t left = room - request->body.size, taken = size < left ? size : left;
    if (taken) buffer_append(&request->body, data, taken);
    request->excess += size - taken;
}

void http_set_varies(struct http_request *request, const char *field) { request->varies = field; }

const char *http_request_varies(const struct http_request *request) { return request->varies; }

uint64_t http_request_excess(const struct http_request *request) { return request->excess; }

const char *http_method(const struct http_request *request) { return request->method; }

const char *http_path(const struct http_request *request) { return request->path; }

const char *http_query(const struct http_request *request, const char *name) {
    const char *value = NULL;
    size_t size;
    if (MHD_lookup_connection_value_n(request->handle, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value, &size) !=
        MHD_YES)
        return NULL;
    return value ? value : "";
}

const char *http_header(const struct http_request *request, const char *name) {
    return MHD_lookup_connection_value(request->handle, MHD_HEADER_KIND, name);
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

void http_set_payer(struct http_request *request, int64_t payer, int64_t paid) {
    request->payer = payer;
    request->paid = paid;
}

int64_t http_payer(const struct http_request *request, int64_t *paid) {
    *paid = request->paid;
    return request->payer;
}

void http_request_answers(struct http_request *request, size_t size) { request->answer = size; }

size_t http_answer_size(const struct http_request *request) { return request->answer; }

#include "service/http_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "budget/held.h"
#include "service/http_connection.h"
#include "service/http_origin.h"

static const uint64_t NETWORK = 1ull << 63; /* users' ids do not have that bit */

int http_incoming_read(char *text, size_t size, struct http_incoming *incoming, struct http_fault *fault) {
    int code = http_head_read(text, size, &incoming->head, fault);
    incoming->parameter_count = HTTP_PARAMETERS_MAX;
    if (http_target_read(incoming->head.target, incoming->parameters, &incoming->parameter_count) || code) return code;
    *fault = (struct http_fault){400, "bad_request", "the address has too many parameters"};
    return -EINVAL;
}

/* The place of a piece of the text in its copy. */
static const char *moved(const char *piece, const char *text, size_t size, char *copy) {
    return piece >= text && piece < text + size ? copy + (piece - text) : ""; /* what was not there is a constant */
}

static struct http_field *copy_fields(struct http_field *copy, const struct http_field *fields, size_t count,
                                      const char *text, size_t size, char *copied) {
    for (size_t i = 0; i < count; i++)
        copy[i] =
            (struct http_field){moved(fields[i].name, text, size, copied), moved(fields[i].value, text, size, copied)};
    return copy + count;
}

struct http_request *http_request_new(struct http_connection *connection, const struct http_incoming *incoming,
                                      const char *text, size_t size) {
    size_t state_size = connection ? connection->server->options.state_size : 0; // even if its head cannot be read
    size_t fields = incoming ? incoming->head.field_count : 0, parameters = incoming ? incoming->parameter_count : 0;
    state_size = (state_size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct http_request *request =
        mem_alloc(sizeof *request + state_size + (fields + parameters) * sizeof(struct http_field) + size);
    char *state = (char *)(request + 1);
    struct http_field *list = (struct http_field *)(void *)(state + state_size);
    char *copy = (char *)(list + fields + parameters);
    *request = (struct http_request){.connection = connection, .method = "", .path = "", .closes = true, .payer = -1};
    request->began_us = clock_monotonic_us();
    request->state = memset(state, 0, state_size);
    if (connection) request->caller = http_caller_of_network(http_place_network(&connection->place));
    if (connection) request->max_body = connection->server->options.max_body;
    if (!incoming) return request;

    const struct http_head *head = &incoming->head;
    memcpy(copy, text, size);
    request->fields = list;
    request->field_count = fields;
    list = copy_fields(list, head->fields, fields, text, size, copy);
    request->parameters = list;
    request->parameter_count = parameters;
    copy_fields(list, incoming->parameters, parameters, text, size, copy);
    request->method = moved(head->method, text, size, copy);
    request->path = moved(head->target, text, size, copy);
    request->is_head = !strcmp(request->method, "HEAD");
    request->closes = head->closes;
    request->old = !head->minor;
    request->chunked = head->chunked;
    request->left = (uint64_t)head->length;
    return request;
}

void http_request_free(struct http_request *request) {
    if (!request) return;
    if (request->held) held_give(request->connection->server->requests, request->caller, request->held);
    buffer_free(&request->body);
    free(request);
}

uint64_t http_origin_network(const struct http_request *request, const struct http_proxies *proxies) {
    struct buffer forwarded = {.size = 0};
    if (proxies) http_field_gather(request->fields, request->field_count, "X-Forwarded-For", &forwarded);
    uint64_t origin =
        http_origin_behind(proxies, http_address_of(&request->connection->address.any), buffer_cstring(&forwarded));
    buffer_free(&forwarded);
    return origin;
}

void http_set_varies(struct http_request *request, const char *field) { request->varies = field; }

const char *http_method(const struct http_request *request) { return request->method; }

const char *http_path(const struct http_request *request) { return request->path; }

const char *http_query(const struct http_request *request, const char *name) {
    for (size_t i = 0; i < request->parameter_count; i++)
        if (!strcmp(request->parameters[i].name, name)) return request->parameters[i].value;
    return NULL;
}

const char *http_header(const struct http_request *request, const char *name) {
    return http_field_find(request->fields, request->field_count, name);
}

/* What follows the scheme in Authorization. */
static const char *credentials(const struct http_request *request, const char *scheme, size_t *size) {
    const char *value = http_header(request, "Authorization");
    size_t length = strlen(scheme);
    if (!value || strncasecmp(value, scheme, length)) return NULL;
    value += length;
    if (*value && *value != ' ') return NULL;
    value += strspn(value, " ");
    *size = strlen(value);
    return value;
}

const char *http_bearer(const struct http_request *request, size_t *size) {
    return credentials(request, "Bearer", size);
}

const char *http_basic_password(const struct http_request *request, struct buffer *decoded, size_t *size) {
    const char *text = credentials(request, "Basic", size);
    const char *colon = text && text_base64(decoded, text, *size) ? memchr(decoded->data, ':', decoded->size) : NULL;
    if (!colon) return NULL;
    *size = (size_t)((const char *)decoded->data + decoded->size - colon - 1);
    return colon + 1;
}

const void *http_body(const struct http_request *request, size_t *size) {
    *size = request->body.size;
    return request->body.data;
}

int64_t http_age_us(const struct http_request *request) { return clock_monotonic_us() - request->began_us; }

void http_set_context(struct http_request *request, void *context) { request->context = context; }

void *http_context(const struct http_request *request) { return request->context; }

void *http_state(const struct http_request *request) { return request->state; }

void http_set_payer(struct http_request *request, int64_t payer, int64_t paid) {
    request->payer = payer;
    request->paid = paid;
}

int64_t http_payer(const struct http_request *request, int64_t *paid) {
    *paid = request->paid;
    return request->payer;
}

void http_add_work(struct http_request *request, int64_t requests) { request->work += requests; }

int64_t http_work(const struct http_request *request) { return request->work; }

size_t http_answer_size(const struct http_request *request) { return request->answer; }

void http_request_answers(struct http_request *request, size_t size) { request->answer = size; }

void http_set_caller(struct http_request *request, uint64_t caller) { request->caller = caller; }

void http_set_max_body(struct http_request *request, size_t size) { request->max_body = size; }

uint64_t http_caller_of_network(uint64_t network) { return hash_u64(network) | NETWORK; }

uint64_t http_caller_without_limit(const struct http_request *request) {
    return http_server_key(request->connection->server);
}

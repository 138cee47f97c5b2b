/* A request as its handler sees it. The texts live as long as the request. Loop's thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct http_request;

const char *http_method(const struct http_request *request);
const char *http_path(const struct http_request *request);                     /* decoded, without query */
const char *http_query(const struct http_request *request, const char *name);  /* decoded; NULL: absent */
const char *http_header(const struct http_request *request, const char *name); /* case-insensitive; NULL: absent */
/* The network of the client (http_origin_behind). proxies NULL: none is believed. */
struct http_proxies;
uint64_t http_origin_network(const struct http_request *request, const struct http_proxies *proxies);
const void *http_body(const struct http_request *request, size_t *size);
int64_t http_age_us(const struct http_request *request);            /* since its head was read */
void http_set_context(struct http_request *request, void *context); /* for the handler's own use */
void *http_context(const struct http_request *request);
void *http_state(const struct http_request *request); /* of the server's state_size bytes, at first zeros */
/* To whom the work for it counts (an id), and what has been paid; -1 as long as nobody is set. */
void http_set_payer(struct http_request *request, int64_t payer, int64_t paid);
int64_t http_payer(const struct http_request *request, int64_t *paid);
/* It made more work than its query shows: so many requests' worth. */
void http_add_work(struct http_request *request, int64_t requests);
int64_t http_work(const struct http_request *request);
size_t http_answer_size(const struct http_request *request); /* of the answer's body, before it is packed */
/* Every answer to it says that it depends on that header field, too (Vary). field: a literal. */
void http_set_varies(struct http_request *request, const char *field);

/* The bearer token of Authorization; NULL: none. */
const char *http_bearer(const struct http_request *request, size_t *size);
/* The password of Authorization: Basic, which lies in `decoded` and has no NUL behind it; NULL: none. */
const char *http_basic_password(const struct http_request *request, struct buffer *decoded, size_t *size);

/* Whose bytes the body and the answer are: a user's, a network's (as budget/network.h has it), or of somebody who has no limit of his
 * own. Before, they are those of the network that the connection comes from. Only while the request is admitted. */
void http_set_caller(struct http_request *request, uint64_t caller);
void http_set_max_body(struct http_request *request, size_t size); /* bytes; less than the server's. As above */
static inline uint64_t http_caller_of_user(int64_t user) { return (uint64_t)user; }
uint64_t http_caller_of_network(uint64_t network);
uint64_t http_caller_without_limit(const struct http_request *request);

/* Answers. Each is the end of its request. Loop's thread. */
#pragma once

#include "base/buffer.h"
#include "http/field.h"
#include "service/http_request.h"

/* Copies the body. fields: further response headers, may be NULL. */
void http_reply(struct http_request *request, unsigned status, const char *content_type, const void *body, size_t size,
                const struct http_field *fields, size_t field_count);
/* The same with status 200 and a body that lives as long as the process and never changes. */
void http_reply_constant(struct http_request *request, const char *content_type, const void *body, size_t size,
                         const struct http_field *fields, size_t field_count);
void http_reply_json(struct http_request *request, unsigned status, const struct buffer *body);
void http_reply_json_free(struct http_request *request, unsigned status, struct buffer *body); /* and frees the body */
void http_reply_format(struct http_request *request, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* JSON */
/* RFC 9457: {"type":"urn:starling:CODE","title":,"status":,"detail":,"code":CODE}. retry_after_s 0: no such header. */
void http_problem(struct http_request *request, unsigned status, const char *code, const char *detail,
                  int retry_after_s);
/* The same about one of a list's items, which the member `index` names: the first is 0; HTTP_NO_INDEX: about none. */
#define HTTP_NO_INDEX SIZE_MAX
void http_problem_at(struct http_request *request, unsigned status, const char *code, const char *detail, size_t index);
/* 405, with the methods that the path knows ("GET, HEAD, PUT, OPTIONS") in Allow. */
void http_bad_method(struct http_request *request, const char *allowed);
/* 204 to OPTIONS, with the same in Allow; to a browser that asks before it sends, also what it may send. */
void http_reply_options(struct http_request *request, const char *allowed);

/* Reads the heads of HTTP/1.1 requests (RFC 9112), of whichever server. A head that two servers on the way could read differently is
 * refused, so that no client can hide a second request in the body of the first one: bare line feeds, NULs, folded fields, blanks before a
 * colon, two lengths, a length beside chunks. Pure; any thread. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "http/field.h"

enum {
    HTTP_TARGET_MAX = 8 * 1024, /* bytes of an address; beyond: 414 */
    HTTP_HEAD_MAX = 32 * 1024,  /* bytes of a head; beyond: 431 */
    HTTP_FIELDS_MAX = 100,      /* beyond: 431 */
    HTTP_PARAMETERS_MAX = 100   /* of a query; beyond: 400 */
};

/* Why a request is refused; the texts are constants. */
struct http_fault {
    unsigned status;
    const char *code, *detail;
};

/* The texts lie in what was read. */
struct http_head {
    char *method;
    char *target;     /* "/path?query" or "*", not decoded */
    int minor;        /* of HTTP/1.x */
    const char *host; /* of the target, where it names one, else of the field Host. NULL: of neither (HTTP/1.0) */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t field_count;
    bool chunked, expects_continue, closes; /* closes: the client asks for no further answer */
    int64_t length;                         /* of the body, if it is not chunked */
};

/* The size of the head that the text begins with, its empty line included. 0: it is not whole yet. -EINVAL: it is no head, whatever comes.
 * `known`: bytes at the front that were not whole the last time, so that they are not looked through again. */
ssize_t http_head_size(const char *text, size_t size, size_t known);

/* Reads a whole head in place: the text is cut into pieces that end with NULs. 0, or -EINVAL with the fault. The head then says what could
 * be read: a method or target that is not there is "". */
int http_head_read(char *text, size_t size, struct http_head *head, struct http_fault *fault);

/* Of text that is no whole head and never will be one that is taken: why. False: it may still become one. */
bool http_head_exceeds(const char *text, size_t size, struct http_fault *fault);

/* The value of the first field of that name, in any case; NULL: no field has it. */
const char *http_field_find(const struct http_field *fields, size_t count, const char *name);
/* Appends the values of all fields of that name, in their order, with commas between them; how many there are. */
size_t http_field_gather(const struct http_field *fields, size_t count, const char *name, struct buffer *values);

/* Appends a field's line. */
void http_put_field(struct buffer *fields, const char *name, const char *value);

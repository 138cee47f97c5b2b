/* Which heads of requests are refused although libmicrohttpd takes them: above all those that another server on the way could read
 * differently, so that nobody can hide a second request in the first one's body. Loop's thread. */
#ifndef SERVICE_HTTP_HEAD_H
#define SERVICE_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    HTTP_ADDRESS_MAX = 8 * 1024, /* bytes of an address; beyond: 414 */
    HTTP_HEAD_MAX = 32 * 1024,   /* bytes of a head; beyond: 431 */
    /* Of a connection. Heads that are too large by less than this are answered here; the others by libmicrohttpd, without a problem. */
    HTTP_HEAD_MEMORY = 2 * HTTP_HEAD_MAX
};

/* Why a request is refused; the texts are constants. */
struct http_fault {
    unsigned status;
    const char *code, *detail;
};

/* A head, as libmicrohttpd's callbacks tell it. */
struct http_head {
    const char *method, *path, *version; /* as the access handler gets them */
    size_t address_size;                 /* this and the next: http_head_address's */
    bool bad_address;
};

/* The address has come, and is not yet decoded. */
void http_head_address(struct http_head *head, const char *address);
/* All of it has come. 0, or -EINVAL with the fault. */
int http_head_check(const struct http_head *head, struct MHD_Connection *connection, struct http_fault *fault);

#endif

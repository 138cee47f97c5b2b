/* Checks heads of requests that libmicrohttpd has accepted. Refuses above all those that another server on the way could read
 * differently, so that no client can hide a second request in the first one's body. Loop's thread. */
#ifndef SERVICE_HTTP_HEAD_H
#define SERVICE_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    HTTP_ADDRESS_MAX = 8 * 1024, /* bytes of an address; beyond: 414 */
    HTTP_HEAD_MAX = 32 * 1024,   /* bytes of a head; beyond: 431 */
    /* Bytes that libmicrohttpd may use for a connection. It refuses by itself heads that do not fit in there. */
    HTTP_HEAD_MEMORY = 2 * HTTP_HEAD_MAX
};

/* Why a request is refused; the texts are constants. */
struct http_fault {
    unsigned status;
    const char *code, *detail;
};

/* A request's head, as far as libmicrohttpd's callbacks tell it. */
struct http_head {
    const char *method, *path, *version; /* as the access handler gets them */
    size_t address_size;                 /* http_head_address sets this and the next */
    bool bad_address;
};

/* The address is not yet decoded. */
void http_head_address(struct http_head *head, const char *address);
/* The head is complete. 0, or -EINVAL with the fault. */
int http_head_check(const struct http_head *head, struct MHD_Connection *connection, struct http_fault *fault);

#endif

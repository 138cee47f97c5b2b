#include "service/http_body.h"

#include <stdlib.h>
#include <unistd.h>

#include "service/http_gzip.h"

void http_body_free(struct http_body *body) {
    if (body->file) close(body->fd);
    http_packing_free(body->packing);
    free(body->owned);
    *body = (struct http_body){.bytes = NULL};
}

size_t http_body_held(const struct http_body *body) {
    if (body->packing) return http_packing_bytes(body->packing);
    return body->lent || body->owned ? (size_t)body->left : 0;
}

/* An HTTP client on the event loop (libcurl). Loop's thread. */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "base/loop.h"

/* Checks that requests can go there: -EINVAL, with the setting's name in the reason. "" is fine. */
int http_check_url(const char *setting, const char *url, struct error *error);

struct http_client;
struct http_client *http_client_new(uv_loop_t *loop);
/* Pending fetches get code -ECANCELED. May be called from within a done. NULL is fine. */
void http_client_free(struct http_client *client);

/* One request; `done` is called once on the loop, never from within this call unless the client is being freed: code 0 with
 * status and body (valid during the call), or negative errno (-ETIMEDOUT; -ECONNREFUSED; -EIO: broken off, or more than
 * 16 MiB). method "GET"/"POST"/"PUT"/"DELETE"; token NULL: no Authorization; body NULL: none (JSON). */
void http_fetch(struct http_client *client, const char *method, const char *url, const char *token,
                const struct buffer *body, int timeout_ms,
                void (*done)(void *context, int code, unsigned status, const char *reply, size_t size), void *context);

/* POSTs JSON with the field Starling-Signature: sha256=HEX, the HMAC-SHA256 of the body by this key; "": it is not signed. */
void http_post_signed(struct http_client *client, const char *url, const char *key, const struct buffer *body,
                      int timeout_ms,
                      void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                      void *context);

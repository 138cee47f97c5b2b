/* One call of S3's HTTP API: signed (SigV4), with timeouts, repeated with back-off while the server or the way to it fails. Private to
 * lib/storage; one thread per s3_server. */
#pragma once

#include "base/buffer.h"
#include "storage/storage.h"

struct s3_server;

/* place: s3://bucket/prefix. Touches nothing yet. */
int s3_server_new(const struct storage_options *options, struct s3_server **server, struct error *error);
void s3_server_free(struct s3_server *server); /* NULL is fine */

/* Everything below that, as a key: the caller frees. */
char *s3_key(const struct s3_server *server, const char *path);

enum { S3_HEADERS_MAX = 3, S3_ETAG_SIZE = 128, S3_TOKEN_SIZE = 40 };

struct s3_call {
    const char *method;
    const char *key;   /* NULL: the bucket */
    const char *query; /* as signatures want it: encoded, and sorted by name; "" is none */
    const void *body;
    size_t size;
    const char *headers[S3_HEADERS_MAX]; /* "Name: value"; NULL ends them */
};

struct s3_answer {
    long status;
    struct buffer body; /* the caller frees */
    char etag[S3_ETAG_SIZE];
    char token[S3_TOKEN_SIZE]; /* x-amz-meta-starling-writer; "": none */
};

/* 0: the server has answered, whatever its status; 5xx and 429 only after all attempts, which is a failure then. */
int s3_send(struct s3_server *server, const struct s3_call *call, struct s3_answer *answer, struct error *error);

/* The failure that an unexpected status is, with what the server says. 404: -ENOENT, 403: -EACCES, else -EIO. */
int s3_refused(const struct s3_call *call, struct s3_answer *answer, struct error *error);

/* Sends it; 0 only when the status is one of the two. The caller frees the answer's body after 0. */
int s3_send_for(struct s3_server *server, const struct s3_call *call, long status, long or_status,
                struct s3_answer *answer, struct error *error);

/* Percent-encodes as signatures want it; '/' stays if `slashes`. Appends to text. */
void s3_encode(struct buffer *text, const char *value, bool slashes);

/* The text of the first <name> in XML from *at on, which moves behind it. NULL: there is none. The caller frees. */
char *s3_xml_text(const char **at, const char *end, const char *name);

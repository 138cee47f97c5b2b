/* Multipart uploads that were begun and not ended: what is hidden in a bucket. Private to lib/storage. */
#pragma once

#include "storage/s3_call.h"

/* 0 as well if it is gone. */
int s3_abort_upload(struct s3_server *server, const char *key, const char *upload, struct error *error);

/* Ends those below the prefix whose last name `ours` says to be so. There may be many of others: it reads 20 pages (of 1,000 uploads, as
 * a rule), and leaves the rest to the next time. */
int s3_sweep_uploads(struct s3_server *server, const char *prefix, bool (*ours)(void *context, const char *name),
                     void *context, struct error *error);

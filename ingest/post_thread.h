/* The thread of comments below a post. Loop's thread. */
#pragma once

#include "ingest/write.h"

/* The post is deleted, or about to be: its thread takes no more comments, and those who watch it are told. Nobody is answered what
 * becomes of this: of a post that is gone, gateways refuse comments anyway. */
void post_thread_close(struct writer *writer, int64_t post);

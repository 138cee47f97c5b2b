/* Between comments/comments.c, comments_store.c and topology.c. */
#pragma once

#include "comments/parts.h"

enum { COMMENTS_THREADS, COMMENTS_WATCHES, COMMENTS_STORES }; /* the order of the topology's stores */
extern const struct tasks_product COMMENTS_TOPOLOGY;

void comments_failed(void *comments, const char *doing, const struct error *error);

/* Opens the store, and makes `threads`, once. 0: it is open; 1: a checkpoint is being copied, and comments_store_opened will be called;
 * negative: it cannot be opened. */
int comments_open_store(struct comments *comments, struct error *error);
void comments_store_opened(void *comments, int code, const struct error *error);
/* State that was last up to date longer ago is read anew. */
int64_t comments_max_age_ms(const struct comments *comments);

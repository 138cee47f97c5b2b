/* Comments that pages have shown lately, with their texts: looking one up in the store takes a microsecond or two, and a page has up to
 * eighty. The longest unread ones go first. A comment that changes is dropped, and found in the store again. One thread. */
#pragma once

#include "comments/rules.h"

struct threads_rows;

/* A comment and its text, which is empty if it is not visible. */
struct kept_row {
    struct kept_row *newer, *older; /* by when they were read last */
    size_t references;              /* 1 while it is listed, and one each for who uses it */
    int64_t id;
    uint32_t subject; /* a hash */
    struct comment comment;
    size_t size;
    char text[];
};

struct threads_rows *threads_rows_new(size_t bytes); /* as many as take so much memory */
void threads_rows_free(struct threads_rows *rows);   /* when all are given back; NULL is fine */

/* Both return a row for the caller to give back. NULL: it is not kept. */
struct kept_row *threads_rows_get(struct threads_rows *rows, const struct event_text *subject, int64_t id);
/* It must not be kept already. */
struct kept_row *threads_rows_put(struct threads_rows *rows, const struct event_text *subject, int64_t id,
                                  const struct comment *comment, const struct event_text *text);
void threads_rows_give(struct kept_row *row); /* NULL is fine */

void threads_rows_drop(struct threads_rows *rows, int64_t id); /* of whichever subject */
void threads_rows_clear(struct threads_rows *rows);
size_t threads_rows_bytes(const struct threads_rows *rows);

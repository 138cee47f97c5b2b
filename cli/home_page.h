/* A page of a home timeline while it is put together: first the ids, by the reader's owner, then the posts, by their authors' owners.
 * Pure; one thread. */
#pragma once

#include "cli/post_lines.h"

enum { HOME_VERSION_SIZE = 64 };

struct home_item {
    int64_t id, user; /* user: the author */
    json_t *post;     /* NULL: not known */
    bool gone;        /* deleted meanwhile */
    size_t question;  /* that asks for the post: 1 and so on; 0: none yet */
};

struct home_author {
    int64_t user;
    bool asked;
};

struct home_page {
    struct home_item *items; /* newest first */
    size_t count, questions;
    bool complete;                   /* the inbox is complete; false: posts may be missing */
    char version[HOME_VERSION_SIZE]; /* of the timeline; "": it has none */
    /* The inbox has all posts above the horizon. If that is too few, whom else to ask for older ones: */
    int64_t horizon;
    struct home_author *following;
    size_t following_count;
};

void home_page_free(struct home_page *page); /* what it points to; a zero-initialised one is empty and valid */

/* Reads the answer of the reader's owner into an empty page. -EBADMSG with the reason; the page is then to be freed. */
int home_page_read(struct home_page *page, const char *reply, size_t size, struct error *error);

/* The next question for older posts: as many authors of one partition as fit into it, separated by commas, into authors, which is cleared
 * before. False: nothing is left to ask. */
bool home_page_ask_older(struct home_page *page, int32_t partitions, int32_t *partition, struct buffer *authors);

/* Reads the answer of that partition's owner. -EBADMSG: it cannot be read, and nothing is added. */
int home_page_add(struct home_page *page, const char *reply, size_t size, struct error *error);

/* When all older ones are there: newest first, each once, `max` at most. */
void home_page_sort(struct home_page *page, size_t max);

/* The next question for posts: as many ids of one partition as fit into it, separated by commas, into ids, which is cleared before. False:
 * nothing is left to ask. */
bool home_page_ask(struct home_page *page, int32_t *partition, struct buffer *ids);

/* Reads the answer of the partition's owner to the last question. -EBADMSG. */
int home_page_answer(struct home_page *page, const char *reply, size_t size, struct error *error);

/* Appends lines for the newest `limit` posts that are there; how many. *unavailable: how many of these have no text. */
size_t home_page_print(const struct home_page *page, size_t limit, const struct post_style *style, struct buffer *out,
                       size_t *unavailable);

/* The threads under posts that a simulation has written, and the check of pages against them. Nobody else may write there.
 *
 * Floors have no gaps, so a page of roots must have each floor of its range, and at each floor that is known the right comment. A comment
 * or a deletion is certain `margin` after its outcome: then a page must show it. At the end, when all outcomes are known, a thread must be
 * exactly what is known of it, with its replies and likes. Pure; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { TALK_REPLIES_MAX = 20 /* of a root: so many come along with it on a page */ };

struct talk_comment {
    int64_t id, user;
    int64_t root, answers; /* 0: a root */
    int64_t floor;
    uint64_t text;      /* a hash */
    int64_t known_us;   /* when its outcome came */
    bool deleting;      /* from the beginning of its deletion on */
    int64_t deleted_us; /* when that was answered; 0: not yet */
    int replies;        /* of a root: that are known or under way */
    int64_t *likers;    /* users */
    size_t liker_count, liker_capacity;
};

struct talk_thread; /* a thread */

struct talk_thread *talk_new(int64_t post);
void talk_free(struct talk_thread *talk); /* NULL is fine */
int64_t talk_post(const struct talk_thread *talk);

/* Copies the comment (without likers). The pointers of earlier ones stay valid. */
void talk_add(struct talk_thread *talk, const struct talk_comment *comment);
size_t talk_count(const struct talk_thread *talk);
struct talk_comment *talk_at(const struct talk_thread *talk, size_t at);
struct talk_comment *talk_find(const struct talk_thread *talk, int64_t id); /* NULL: nobody wrote it */

bool talk_likes(const struct talk_comment *comment, int64_t user);
void talk_like(struct talk_comment *comment, int64_t user, bool likes);

uint64_t talk_hash(const char *text);

/* A comment of a page. */
struct talk_item {
    int64_t id, user, root, answers, floor, likes, reply_count;
    bool deleted;
    uint64_t text; /* where it is not deleted */
};

/* True: a page of roots, the newest first, that was asked for at that time, is wrong, and `why` has a line for each fault. */
bool talk_page_wrong(const struct talk_thread *talk, const struct talk_item *items, size_t count, int64_t asked_us,
                     int64_t margin_us, struct buffer *why);
/* The same of the whole thread: roots by floor, each with its replies behind it, and the number of visible ones. */
bool talk_whole_wrong(const struct talk_thread *talk, const struct talk_item *items, size_t count, int64_t total,
                      struct buffer *why);

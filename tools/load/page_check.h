/* Checks pages of home timelines by brute force: against the posts, deletions and follows that the simulation itself has made.
 *
 *      begun            done           margin           certain
 *     ---|----------------|------------------|------------------->  a post, a deletion, a follow or its end
 *        any page may have it, or not        all pages have it, or none
 *
 * So a page that is read while something is under way raises no false alarm. Nobody but the simulation may post for these people, or
 * change whom they follow. Posts with lower ids than the first one made here are of an earlier time, and are passed over.
 *
 * Times are microseconds of one clock. Users and ids are from 0. Pure; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct page_check;

struct page_check *page_check_new(int64_t margin_us);
void page_check_free(struct page_check *check); /* NULL is fine */

/* ---- posts, deletions and follows: one at a time for each author, and for each pair of user and followed one ---- */

/* A follow begins or ends. Done: `follows` says whether the user follows now, also if that was not asked for. */
void page_check_follow_begun(struct page_check *check, int64_t user, int64_t other);
void page_check_follow_done(struct page_check *check, int64_t user, int64_t other, bool follows, int64_t now_us);
bool page_check_follows(const struct page_check *check, int64_t user, int64_t other);

/* Picks by the number one of the users whom `user` follows or, with follows false, has followed before. False: there is nobody, or a
 * follow of that one is beginning or ending. */
bool page_check_pick(const struct page_check *check, int64_t user, bool follows, uint64_t number, int64_t *other);

/* id 0: the post was not made. */
void page_check_post_begun(struct page_check *check, int64_t author);
void page_check_post_done(struct page_check *check, int64_t author, int64_t id, int64_t now_us);

/* The post is made, and was not deleted before. */
void page_check_delete_begun(struct page_check *check, int64_t id);
void page_check_delete_done(struct page_check *check, int64_t id, int64_t now_us);

/* ---- pages ---- */

enum checked_flag { CHECKED_UNAVAILABLE = 1 }; /* the post's text was not there */

struct checked_item {
    int64_t id, author;
    unsigned flags;
};

struct checked_page {
    int64_t reader;
    int64_t asked_us;                 /* or INT64_MAX: everything is done, and all of it is certain */
    const struct checked_item *items; /* from the newest post on */
    size_t count;
    int64_t next; /* all posts from this id on were looked at; 0: all */
};

/* Returns whether the page is wrong: an item is missing, must not be there, comes twice or out of order or, at the end (asked_us
 * INT64_MAX), has no text. Appends the page to `why`, one line an item, with the fault of each. The caller checks a page before it
 * reports anything that was done after the page was read. */
bool page_check_wrong(struct page_check *check, const struct checked_page *page, struct buffer *why);

/* The lowest id that was made here; INT64_MAX: none yet. */
int64_t page_check_first(const struct page_check *check);

/* The world of `./dev bench comments`: its subjects, and who writes what under which of them. All of it is computed from numbers, so
 * the programs of the bench and its peers have the same data. Header-only, for bench programs.
 *
 *     subjects    0 to subjects - 1; the first one gets half of everything
 *     comments    number 0 and so on: of a user, under a subject, of COMMENTS_TEXT bytes
 */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bench/sender.h"
#include "event/codec.h"
#include "subjects/subject.h"

enum { COMMENTS_TEXT = 100, COMMENTS_USERS = 1000000, COMMENTS_OWNER = 1, COMMENTS_KEY = 24 };

/* A number below `count`; another one for each `what`. */
static inline int64_t comments_world_draw(int64_t number, uint64_t what, int64_t count) {
    return (int64_t)(hash_u64(hash_u64((uint64_t)number) + what) % (uint64_t)count);
}

/* The comments, replies and likes that are drawn. */
enum comments_world_what { DRAW_HALF = 1, DRAW_SUBJECT, DRAW_USER, DRAW_COMMENT, DRAW_LIKES, DRAW_READ, DRAW_PLACE };

static inline int64_t comments_world_subject(int64_t number, int64_t subjects) {
    bool first = subjects < 2 || comments_world_draw(number, DRAW_HALF, 2);
    return first ? 0 : 1 + comments_world_draw(number, DRAW_SUBJECT, subjects - 1);
}

static inline int64_t comments_world_user(int64_t number) {
    return 2 + comments_world_draw(number, DRAW_USER, COMMENTS_USERS);
}

/* Most comments have few likes, a few have very many. */
static inline int64_t comments_world_likes(int64_t number) {
    return 1000 / (1 + comments_world_draw(number, DRAW_LIKES, 1000)) - 1;
}

static inline struct event_text comments_world_name(int64_t subject, char name[SUBJECT_MAX + 1]) {
    int size = snprintf(name, SUBJECT_MAX + 1, "site:%09" PRId64, subject);
    return (struct event_text){name, (size_t)size};
}

static inline struct event_text comments_world_text(int64_t number, char text[COMMENTS_TEXT + 1]) {
    sender_words("comment", number, text, COMMENTS_TEXT);
    return (struct event_text){text, COMMENTS_TEXT};
}

static inline struct event_text comments_world_key(int64_t number, char key[COMMENTS_KEY + 1]) {
    int size = snprintf(key, COMMENTS_KEY + 1, "key-%016" PRIx64, hash_u64((uint64_t)number));
    return (struct event_text){key, (size_t)size};
}

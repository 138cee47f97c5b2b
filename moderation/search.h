/* A reader of the search index (moderation/index.h). Several may read while the index is written. One thread at a time per reader. */
#pragma once

#include <stdbool.h>

#include "moderation/index.h"

/* All conditions hold together. Texts are NUL-terminated and borrowed. */
struct search_query {
    enum index_kind kind;
    const char *text;    /* words (moderation/words.h); NULL: any text */
    const char *subject; /* such as post:123; NULL: any */
    const char *type;    /* of the subject; NULL: any */
    int64_t user;        /* the author; -1: anybody */
    int state;           /* enum comment_wide_state; -1: any */
    bool reported;       /* only those that somebody has reported */
    int64_t from, to;    /* ids: from <= id < to (ids_first_at: of times) */
    size_t limit;
};

struct search;

int search_new(const struct index *index, int64_t cache, struct search **search, struct error *error);
void search_free(struct search *search); /* NULL is fine */

/* Calls found for each comment or post, the newest first, until it returns false: enough. Texts are valid during the call. *more: there are
 * others after the last of them.
 * -EINVAL: the text has no word; -ETIMEDOUT: the deadline (clock_monotonic_us) has passed; others: the file cannot be read. */
int search_run(struct search *search, const struct search_query *query, int64_t deadline_us,
               bool (*found)(void *context, const struct index_row *row), void *context, bool *more,
               struct error *error);

/* People who were reported, those whose last report is the newest first. */
struct people_query {
    int64_t before, before_user; /* the time and user of the last one of the page before; INT64_MAX: the first page */
    int64_t user;                /* -1: all */
    size_t limit;
};
struct found_person {
    int64_t user, reports, time; /* time, reason: of the last report */
    struct event_text reason;
};
int search_people(struct search *search, const struct people_query *query, int64_t deadline_us,
                  void (*found)(void *context, const struct found_person *person), void *context, bool *more,
                  struct error *error);

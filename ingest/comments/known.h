/* Tables of subjects and authors that the gateway has heard of lately. Both are of a fixed size: an entry goes when another one needs
 * its place. One thread. */
#pragma once

#include <stdbool.h>

#include "event/codec.h"
#include "subjects/subject.h"

/* Of a subject, as its owner and the owner of the post said. */
struct known_subject {
    char subject[SUBJECT_MAX + 1];
    int64_t heard_ms; /* on the monotonic clock */
    int64_t owner;    /* -1: nobody has registered it */
    enum comment_subject_who who_may;
    int64_t author; /* of the post; -1: it is no post, or is gone */
};

struct known_subjects;

struct known_subjects *known_subjects_new(void);
void known_subjects_free(struct known_subjects *known); /* NULL is fine */
/* NULL: it is not known. Valid until the next put. */
const struct known_subject *known_subjects_find(const struct known_subjects *known, const char *subject);
/* entry: none that find gave. */
void known_subjects_put(struct known_subjects *known, const struct known_subject *entry);
void known_subjects_forget(struct known_subjects *known, const char *subject);

/* The authors of comments and the roots that these are under, which never change. */
struct comment_authors {
    int64_t comment, root; /* users; the same user where the comment is a root */
};

struct known_authors;

struct known_authors *known_authors_new(void);
void known_authors_free(struct known_authors *known); /* NULL is fine */
/* False: one of the two is not known. */
bool known_authors_find(const struct known_authors *known, int64_t comment, struct comment_authors *authors);
/* comment: not 0. root: the comment that it is under; 0: it is a root. */
void known_authors_put(struct known_authors *known, int64_t comment, int64_t user, int64_t root);

#include "ingest/comments/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* An entry stands in the set that its hash names; the set's newest is first, and its oldest goes when another one needs the place. In a
 * table without sets two keys that meet would push each other out for ever, and neither would be known while its owner is away. */
enum { WAYS = 8, SUBJECT_SETS = 512 /* 0.8 MiB */, AUTHOR_SETS = 8192 /* 1.5 MiB */ };

struct known_subjects {
    struct known_subject sets[SUBJECT_SETS][WAYS]; /* an empty subject: free */
};

struct author_entry {
    int64_t comment, user, root; /* comment 0: free; root 0: it is one */
};

struct known_authors {
    struct author_entry sets[AUTHOR_SETS][WAYS];
};

struct known_subjects *known_subjects_new(void) {
    return mem_zero(1, sizeof(struct known_subjects));
}

void known_subjects_free(struct known_subjects *known) { free(known); }

static size_t subject_set(const char *subject) { return hash_bytes(subject, strlen(subject)) % SUBJECT_SETS; }

static size_t way_of(const struct known_subject *set, const char *subject) {
    size_t way = 0;
    while (way < WAYS && strcmp(set[way].subject, subject) != 0) way++;
    return way;
}

const struct known_subject *known_subjects_find(const struct known_subjects *known, const char *subject) {
    const struct known_subject *set = known->sets[subject_set(subject)];
    size_t way = way_of(set, subject);
    return way < WAYS ? &set[way] : NULL;
}

void known_subjects_put(struct known_subjects *known, const struct known_subject *entry) {
    struct known_subject *set = known->sets[subject_set(entry->subject)];
    size_t way = way_of(set, entry->subject);
    memmove(set + 1, set, (way < WAYS ? way : WAYS - 1) * sizeof *set);
    set[0] = *entry;
}

void known_subjects_forget(struct known_subjects *known, const char *subject) {
    struct known_subject *set = known->sets[subject_set(subject)];
    size_t way = way_of(set, subject);
    if (way < WAYS) set[way].subject[0] = '\0';
}

struct known_authors *known_authors_new(void) {
    return mem_zero(1, sizeof(struct known_authors));
}

void known_authors_free(struct known_authors *known) { free(known); }

static size_t author_set(int64_t comment) { return hash_fold((uint64_t)comment) % AUTHOR_SETS; }

static size_t author_way(const struct author_entry *set, int64_t comment) {
    size_t way = 0;
    while (way < WAYS && set[way].comment != comment) way++;
    return way;
}

/* NULL: it is not known. */
static const struct author_entry *entry_of(const struct known_authors *known, int64_t comment) {
    const struct author_entry *set = known->sets[author_set(comment)];
    size_t way = comment ? author_way(set, comment) : WAYS;
    return way < WAYS ? &set[way] : NULL;
}

bool known_authors_find(const struct known_authors *known, int64_t comment, struct comment_authors *authors) {
    const struct author_entry *entry = entry_of(known, comment);
    const struct author_entry *root = entry && entry->root ? entry_of(known, entry->root) : entry;
    if (!root) return false;
    *authors = (struct comment_authors){entry->user, root->user};
    return true;
}

void known_authors_put(struct known_authors *known, int64_t comment, int64_t user, int64_t root) {
    struct author_entry *set = known->sets[author_set(comment)];
    size_t way = author_way(set, comment);
    memmove(set + 1, set, (way < WAYS ? way : WAYS - 1) * sizeof *set);
    set[0] = (struct author_entry){comment, user, root};
}

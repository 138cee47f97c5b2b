#include "ingest/comments/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { SUBJECTS = 4096 /* 0.8 MiB */, AUTHORS = 65536 /* 1.5 MiB */ };

struct known_subjects {
    struct known_subject entries[SUBJECTS]; /* by hash; an empty subject: free */
};

struct author_entry {
    int64_t comment, user, root; /* comment 0: free; root 0: it is one */
};

struct known_authors {
    struct author_entry entries[AUTHORS]; /* by hash */
};

struct known_subjects *known_subjects_new(void) {
    return mem_zero(1, sizeof(struct known_subjects));
}

void known_subjects_free(struct known_subjects *known) { free(known); }

static size_t place_of(const char *subject) { return hash_bytes(subject, strlen(subject)) % SUBJECTS; }

const struct known_subject *known_subjects_find(const struct known_subjects *known, const char *subject) {
    const struct known_subject *entry = &known->entries[place_of(subject)];
    return strcmp(entry->subject, subject) == 0 ? entry : NULL;
}

void known_subjects_put(struct known_subjects *known, const struct known_subject *entry) {
    known->entries[place_of(entry->subject)] = *entry;
}

void known_subjects_forget(struct known_subjects *known, const char *subject) {
    struct known_subject *entry = &known->entries[place_of(subject)];
    if (strcmp(entry->subject, subject) == 0) entry->subject[0] = '\0';
}

struct known_authors *known_authors_new(void) {
    return mem_zero(1, sizeof(struct known_authors));
}

void known_authors_free(struct known_authors *known) { free(known); }

/* NULL: it is not known. */
static const struct author_entry *entry_of(const struct known_authors *known, int64_t comment) {
    const struct author_entry *entry = &known->entries[hash_fold((uint64_t)comment) % AUTHORS];
    return entry->comment == comment && comment ? entry : NULL;
}

bool known_authors_find(const struct known_authors *known, int64_t comment, struct comment_authors *authors) {
    const struct author_entry *entry = entry_of(known, comment);
    const struct author_entry *root = entry && entry->root ? entry_of(known, entry->root) : entry;
    if (!root) return false;
    *authors = (struct comment_authors){entry->user, root->user};
    return true;
}

void known_authors_put(struct known_authors *known, int64_t comment, int64_t user, int64_t root) {
    known->entries[hash_fold((uint64_t)comment) % AUTHORS] = (struct author_entry){comment, user, root};
}

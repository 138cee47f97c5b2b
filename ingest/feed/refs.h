/* The posts of a page, before and while their texts are fetched: ids with their authors. Pure; one thread. */
#ifndef INGEST_FEED_REFS_H
#define INGEST_FEED_REFS_H

#include "base/buffer.h"
#include "json/json.h"

enum ref_state { REF_UNKNOWN, REF_GONE, REF_FOUND, REF_LATER };

struct page_ref {
    int64_t id, user;
    enum ref_state state; /* UNKNOWN: the owner of the author has not answered; LATER: its answer was full */
    json_t *post;         /* FOUND: as the owner says it */
    size_t question;      /* which question asks for it: 1 and so on; 0: none */
    bool alone;           /* the process that was asked does not own its partition: ask its own owner */
};

struct page_refs {
    struct page_ref *items;
    size_t count, capacity;
};

void page_refs_free(struct page_refs *refs); /* what it points to; a zero-initialised one is empty and valid */

/* Appends an owner's list of {id, user}. False: it is no such list, and nothing is appended. */
bool page_refs_read(struct page_refs *refs, const json_t *posts);

/* Sorts by falling id, and keeps the first `max`. Each id is kept once. */
void page_refs_merge(struct page_refs *refs, size_t max);

/* The next question for posts, as many ids of one process as fit into it: appends them to the path, separated by commas, and marks
 * their refs. lowest: as peers_lowest; *partition: one of the process's. Only the first `count` refs are looked at, and ids of
 * partitions that there are not are passed by. False: none is left. */
bool page_refs_ask(struct page_refs *refs, size_t count, size_t question, int32_t partitions, const int32_t *lowest,
                   int32_t *partition, struct buffer *path);

/* The answer to that question, in the order of the ids: posts, null where there is none, false for those that the process does not own.
 * A shorter list has only the first ones. True: some ids are not owned by the process, and the next page_refs_ask asks for them. */
bool page_refs_answer(struct page_refs *refs, size_t question, const json_t *posts);

#endif

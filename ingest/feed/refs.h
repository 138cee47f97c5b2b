/* The posts of a page: ids with their authors, as owners list them. Pure; one thread. */
#pragma once

#include "json/scan.h"

struct page_ref {
    int64_t id, user;
    int64_t version; /* of its text, or 1 */
};

struct page_refs {
    struct page_ref *items;
    size_t count, capacity;
};

void page_refs_free(struct page_refs *refs); /* what it points to; a zero-initialised one is empty and valid */

/* Appends an owner's list of {id, user}. False: it is no such list, and nothing is appended. */
bool page_refs_read(struct page_refs *refs, struct json_bytes posts);

/* Sorts by falling id, and keeps the first `max`. Each id is kept once. */
void page_refs_merge(struct page_refs *refs, size_t max);

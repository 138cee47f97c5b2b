/* A page of a home timeline: merges an inbox with the hot posts of those whom the reader follows now. Pure; one thread.
 *
 *     inbox   907 by 3, 905 by 8, 871 by 3 ...    only authors whom the reader follows, and has not muted
 *     hot     of 12: 906, 880 ...                 a list an author who has one
 *     ----------------------------------------
 *     page    907, 906, 905, 880, 871 ...         falling ids, each once, below `before`, above `above` and both
 *                                                horizons; none that the hot lists know to be gone or hidden
 *
 * If that is fewer than wanted, older posts may exist at the authors' owners: page->horizon says below which id to ask them.
 */
#pragma once

#include "feed/hot.h"
#include "feed/inbox.h"

struct page {
    struct inbox_post *posts; /* falling ids; owned by the page, and used again */
    size_t count, capacity;
    int64_t
        horizon; /* posts above it are all considered; 0: no others belong there. Only meaningful if count < wanted */
};

struct page_scratch; /* memory that is used again: the heap of hot lists */
struct page_scratch *page_scratch_new(void);
void page_scratch_free(struct page_scratch *scratch);

/* following, muted: sorted ids, each once. inbox: complete. above: 0 for all. before: INT64_MAX for the first page. */
void page_merge(struct page_scratch *scratch, const struct inbox *inbox, const struct hot *hot,
                const int64_t *following, size_t following_count, const int64_t *muted, size_t muted_count,
                int64_t above, int64_t before, size_t wanted, struct page *page);
void page_free(struct page *page); /* what it points to */

#include "feed/page.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sorted.h"

enum { STEPS = 128 };
enum { PREFETCHED = 12 }; /* authors whose slots are fetched before they are needed */

/* An author, and the newest of the author's hot posts that is not on the page yet. */
struct candidate {
    int64_t order; /* the id, or, while the worst one is wanted on top, -id */
    int64_t author;
};

/* A heap with the highest order on top. */
struct page_scratch {
    struct candidate *heap;
    size_t count, capacity;
    uint32_t *bounds; /* of whom the reader follows */
    size_t *chosen;   /* indices of those whose slots are read */
    size_t followed;  /* room of both */
};

struct page_scratch *page_scratch_new(void) {
    return mem_zero(1, sizeof(struct page_scratch));
}

void page_scratch_free(struct page_scratch *scratch) {
    if (!scratch) return;
    free(scratch->heap);
    free(scratch->bounds);
    free(scratch->chosen);
    free(scratch);
}

void page_free(struct page *page) {
    free(page->posts);
    *page = (struct page){.posts = NULL};
}

/* ---- the heap ---- */

static void sink(struct page_scratch *heap, size_t at) {
    struct candidate moved = heap->heap[at];
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->heap[child + 1].order > heap->heap[child].order) child++;
        if (heap->heap[child].order <= moved.order) break;
        heap->heap[at] = heap->heap[child];
    }
    heap->heap[at] = moved;
}

static void rise(struct page_scratch *heap, size_t at) {
    struct candidate moved = heap->heap[at];
    for (; at && heap->heap[(at - 1) / 2].order < moved.order; at = (at - 1) / 2)
        heap->heap[at] = heap->heap[(at - 1) / 2];
    heap->heap[at] = moved;
}

static void remove_top(struct page_scratch *heap) {
    heap->heap[0] = heap->heap[--heap->count];
    if (heap->count) sink(heap, 0);
}

/* ---- what there is ---- */

static bool holds(const int64_t *ids, size_t count, int64_t id) {
    size_t at = sorted_below(ids, count, id);
    return at < count && ids[at] == id;
}

struct sources {
    const struct inbox *inbox;
    const struct hot *hot;
    const int64_t *following, *muted;
    size_t following_count, muted_count;
    int64_t above, before;
    size_t at; /* of the inbox: posts before it are on the page, or do not belong there */
};

/* The newest hot post of an author between `above` and `before`; 0: none. */
static int64_t newest_hot(const struct hot *hot, int64_t author, int64_t above, int64_t before) {
    int64_t id = hot_newest(hot, author);
    if (id >= before && !hot_of(hot, author, above, before, &id, 1)) return 0;
    return id > above ? id : 0;
}

/* Puts one more on the heap, whose worst one is on top, and which holds `wanted` at most. */
static void keep(struct page_scratch *heap, size_t wanted, struct candidate candidate) {
    bool full = heap->count == wanted;
    heap->heap[full ? 0 : heap->count++] = candidate;
    if (full)
        sink(heap, 0);
    else
        rise(heap, heap->count - 1);
}

/* The bounds of those who may have a post between `above` and `before`, no higher than `before`; 0 for the others. */
static void bound_all(const struct sources *from, uint32_t *bounds) {
    uint32_t least = hot_bound(from->above), most = hot_bound(from->before - 1);
    size_t at = 0;
    hot_bounds(from->hot, from->following, from->following_count, bounds);
    for (size_t i = 0; i < from->following_count; i++) {
        uint32_t bound = bounds[i] < most ? bounds[i] : most;
        bounds[i] = bound < least ? 0 : bound;
    }
    for (size_t i = 0; i < from->muted_count; i++) {
        while (at < from->following_count && from->following[at] < from->muted[i]) at++;
        if (at < from->following_count && from->following[at] == from->muted[i]) bounds[at] = 0;
    }
}

/* Ages in steps of a quarter of themselves at most: 0, 1, ... 7, 8 and 9, 10 and 11, ... 16 to 19, ... */
static unsigned step_of(uint32_t age) {
    unsigned highest = 31 - (unsigned)__builtin_clz(age | 1);
    return age < 4 ? age : (highest - 1) * 4 + (age >> (highest - 2) & 3);
}

static uint64_t step_begin(unsigned step) { return step < 4 ? step : (uint64_t)(4 + step % 4) << (step / 4 - 1); }

/* Returns a bound that `many` of the bounds below `high` reach, or somewhat more than `many`; 1: there are not so many. */
static uint32_t guess(const uint32_t *bounds, size_t count, uint64_t high, size_t many) {
    uint32_t counts[STEPS] = {0}, newest = 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) newest = bounds[i] < high && bounds[i] > newest ? bounds[i] : newest;
    for (size_t i = 0; i < count; i++) counts[step_of(newest - bounds[i])] += bounds[i] < high;
    for (unsigned step = 0; step < STEPS; step++) {
        found += counts[step];
        if (found >= many) return step_begin(step + 1) <= newest ? newest - (uint32_t)step_begin(step + 1) + 1 : 1;
    }
    return 1;
}

/* Looks at the authors whose bounds are from `low` on and below `high`. The worst one is on top, and an author who is no better need not be
 * looked at more closely. */
static void look_at(const struct sources *from, uint32_t low, uint64_t high, size_t wanted, struct page_scratch *heap) {
    size_t count = 0;
    for (size_t i = 0; i < from->following_count; i++) {
        heap->chosen[count] = i;
        count += heap->bounds[i] >= low && heap->bounds[i] < high;
    }
    for (size_t i = 0; i < count + PREFETCHED; i++) {
        if (i < count) hot_prefetch(from->hot, from->following[heap->chosen[i]]);
        if (i < PREFETCHED) continue;
        int64_t author = from->following[heap->chosen[i - PREFETCHED]];
        int64_t above = heap->count == wanted ? -heap->heap[0].order : from->above;
        int64_t id = newest_hot(from->hot, author, above, from->before);
        if (id) keep(heap, wanted, (struct candidate){.order = -id, .author = author});
    }
}

/* Gathers the authors of the newest hot posts: no more authors than posts are wanted, as each has one post at least. Most followed
 * authors have a bound below the whole page, and are skipped. */
static void gather(const struct sources *from, size_t wanted, struct page_scratch *heap) {
    uint64_t high = UINT64_MAX;
    bound_all(from, heap->bounds);
    for (size_t many = 2 * wanted; heap->count < wanted && high > 1; many *= 4) {
        uint32_t low = guess(heap->bounds, from->following_count, high, many);
        look_at(from, low, high, wanted, heap);
        high = low;
    }
    if (heap->count == wanted) look_at(from, hot_bound(-heap->heap[0].order), high, wanted, heap);
    for (size_t i = 0; i < heap->count; i++) {
        heap->heap[i].order = -heap->heap[i].order;
        hot_prefetch_older(from->hot, heap->heap[i].author);
    }
    for (size_t i = heap->count / 2; i--;) sink(heap, i);
}

/* The index of the first post below `before`. */
static size_t first_below(const struct inbox *inbox, int64_t before) {
    size_t from = 0, to = inbox->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (inbox->posts[middle].id >= before)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The next post of the inbox that belongs on the page; NULL: none. */
static const struct inbox_post *next_post(struct sources *from) {
    for (; from->at < from->inbox->count; from->at++) {
        const struct inbox_post *post = &from->inbox->posts[from->at];
        if (post->id <= from->above) return NULL;
        if (holds(from->following, from->following_count, post->author) &&
            !holds(from->muted, from->muted_count, post->author) && !hot_is_gone(from->hot, post->id))
            return post;
    }
    return NULL;
}

/* ---- the page ---- */

static void take_hot(const struct sources *from, struct page_scratch *heap) {
    struct candidate *top = &heap->heap[0];
    if (hot_of(from->hot, top->author, from->above, top->order, &top->order, 1))
        sink(heap, 0);
    else
        remove_top(heap);
}

static void fill(struct sources *from, size_t wanted, struct page_scratch *heap, struct page *page) {
    while (page->count < wanted) {
        const struct inbox_post *post = next_post(from);
        if (!post && !heap->count) return;
        if (heap->count && (!post || heap->heap[0].order >= post->id)) {
            const struct candidate *top = &heap->heap[0];
            page->posts[page->count++] = (struct inbox_post){.id = top->order, .author = top->author};
            from->at += post && post->id == top->order; // it came both ways
            take_hot(from, heap);
        } else {
            page->posts[page->count++] = *post;
            from->at++;
        }
    }
}

void page_merge(struct page_scratch *scratch, const struct inbox *inbox, const struct hot *hot,
                const int64_t *following, size_t following_count, const int64_t *muted, size_t muted_count,
                int64_t before, size_t wanted, struct page *page) {
    int64_t horizon = hot_horizon(hot);
    if (inbox->horizon > horizon) horizon = inbox->horizon;
    struct sources from = {
        .inbox = inbox,
        .hot = hot,
        .following = following,
        .muted = muted,
        .following_count = following_count,
        .muted_count = muted_count,
        .above = horizon,
        .before = before,
        .at = first_below(inbox, before),
    };
    if (scratch->followed < following_count) {
        scratch->bounds = mem_resize(scratch->bounds, following_count, sizeof *scratch->bounds);
        scratch->chosen = mem_resize(scratch->chosen, following_count + 1, sizeof *scratch->chosen);
        scratch->followed = following_count;
    }
    if (scratch->capacity < wanted) {
        scratch->heap = mem_resize(scratch->heap, wanted, sizeof *scratch->heap);
        scratch->capacity = wanted;
    }
    if (page->capacity < wanted) {
        page->posts = mem_resize(page->posts, wanted, sizeof *page->posts);
        page->capacity = wanted;
    }
    page->count = 0;
    page->horizon = horizon;
    scratch->count = 0;
    if (wanted && hot_used(hot).authors) gather(&from, wanted, scratch);
    fill(&from, wanted, scratch, page);
}

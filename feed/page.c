#include "feed/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/sorted.h"

enum { PREFETCHED = 12 }; /* authors whose slots are fetched before they are needed */
enum { LANES = 8 };

/* So many bounds are compared at once. */
typedef uint16_t lanes __attribute__((vector_size(LANES * sizeof(uint16_t))));

/* An author, and the newest of the author's hot posts that is not on the page yet. */
struct candidate {
    int64_t order; /* the id, or, while the worst one is wanted on top, -id */
    int64_t author;
    const struct hot_author *hot;
};

/* A heap with the highest order on top. */
struct page_scratch {
    struct candidate *heap;
    size_t count, capacity;
    uint16_t *bounds; /* of whom the reader follows; zeros behind them, up to a multiple of LANES */
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

static bool newer(struct candidate a, struct candidate b) { return a.order > b.order; }

static void remove_top(struct page_scratch *heap) {
    heap->heap[0] = heap->heap[--heap->count];
    if (heap->count) HEAP_SINK(heap->heap, heap->count, 0, newer);
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

/* Puts one more on the heap, whose worst one is on top, and which holds `wanted` at most. */
static void keep(struct page_scratch *heap, size_t wanted, struct candidate candidate) {
    bool full = heap->count == wanted;
    heap->heap[full ? 0 : heap->count++] = candidate;
    if (full)
        HEAP_SINK(heap->heap, heap->count, 0, newer);
    else
        HEAP_RISE(heap->heap, heap->count - 1, newer);
}

/* ---- bounds ---- */

static lanes lanes_at(const uint16_t *bounds) {
    lanes found;
    memcpy(&found, bounds, sizeof found);
    return found;
}

static bool any(lanes found) {
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/* The bounds of those who may have a post between `above` and `before`; 0 for the others. Returns the highest. */
static uint32_t bound_all(const struct sources *from, uint16_t *bounds) {
    const struct hot_bounds *all = hot_all_bounds(from->hot);
    uint16_t least = hot_bound(all, from->above), most = hot_bound(all, from->before - 1), highest = 0;
    size_t at = 0, count = from->following_count;
    // One random read each: many of them are under way at once.
    for (size_t i = 0; i < count; i++) bounds[i] = hot_bound_of(all, from->following[i]);
    memset(bounds + count, 0, (LANES - count % LANES) % LANES * sizeof *bounds);
    for (size_t i = 0; i < from->muted_count; i++) {
        while (at < count && from->following[at] < from->muted[i]) at++;
        if (at < count && from->following[at] == from->muted[i]) bounds[at] = 0;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t bound = bounds[i] < most ? bounds[i] : most;
        bounds[i] = bound < least ? 0 : bound;
        highest = bounds[i] > highest ? bounds[i] : highest;
    }
    return highest;
}

/* How many of the bounds are `least` or higher. */
static size_t count_from(const uint16_t *bounds, size_t count, uint32_t least) {
    lanes sums = {0}, limit = (lanes){0} + (uint16_t)least;
    size_t sum = 0;
    for (size_t i = 0; i < count; i += LANES) sums -= (lanes)(lanes_at(bounds + i) >= limit);
    for (size_t i = 0; i < LANES; i++) sum += sums[i];
    return sum;
}

/* Returns a bound below `high` that `many` of the bounds reach, or up to half as many more; more than that only if they are equal. 1: there
 * are not so many. Fewer than `many` reach `high`; it is sought from there downwards, in steps that double. */
static uint32_t bound_of_many(const uint16_t *bounds, size_t count, uint32_t high, size_t many) {
    uint32_t low = high - 1;
    size_t found = count_from(bounds, count, low);
    for (uint32_t step = 1; low > 1 && found < many; step *= 2) {
        high = low;
        low = low > step ? low - step : 1;
        found = count_from(bounds, count, low);
    }
    while (high - low > 1 && found > many + many / 2) {
        uint32_t middle = low + (high - low) / 2;
        size_t some = count_from(bounds, count, middle);
        if (some < many) {
            high = middle;
        } else {
            low = middle;
            found = some;
        }
    }
    return low;
}

/* ---- the newest hot posts ---- */

/* Chooses the authors whose bounds are from `low` on and below `high`. */
static size_t choose(const uint16_t *bounds, size_t followed, uint32_t low, uint32_t high, size_t *chosen) {
    lanes least = (lanes){0} + (uint16_t)low, most = (lanes){0} + (uint16_t)(high - 1);
    size_t count = 0;
    for (size_t i = 0; i < followed; i += LANES) {
        lanes some = lanes_at(bounds + i);
        if (!any((lanes)(some >= least) & (lanes)(some <= most))) continue;
        for (size_t k = i; k < i + LANES; k++) {
            chosen[count] = k;
            count += bounds[k] >= low && bounds[k] < high;
        }
    }
    return count;
}

/* Looks at the authors whose bounds are from `low` on, 1 at least, and below `high`. The worst one is on top, and an author who is no better
 * need not be looked at more closely. */
static void look_at(const struct sources *from, uint32_t low, uint32_t high, size_t wanted, struct page_scratch *heap) {
    size_t count = choose(heap->bounds, from->following_count, low, high, heap->chosen);
    for (size_t i = 0; i < count + PREFETCHED; i++) {
        if (i < count) hot_prefetch(from->hot, from->following[heap->chosen[i]]);
        if (i < PREFETCHED) continue;
        int64_t author = from->following[heap->chosen[i - PREFETCHED]];
        int64_t above = heap->count == wanted ? -heap->heap[0].order : from->above;
        const struct hot_author *hot = hot_find(from->hot, author);
        int64_t id = hot ? hot_before(from->hot, hot, above, from->before) : 0;
        if (id) keep(heap, wanted, (struct candidate){.order = -id, .author = author, .hot = hot});
    }
}

/* Gathers the authors of the newest hot posts: no more authors than posts are wanted, as each has one post at least. Authors are looked at
 * from the highest bound downwards, some at a time, until all others are below the worst one. As some bounds are higher than their
 * author's newest post, that may be further down than the first `wanted` bounds. */
static void gather(const struct sources *from, size_t wanted, struct page_scratch *heap) {
    uint32_t low = bound_all(from, heap->bounds) + 1, least = 1;
    size_t count = from->following_count, many = wanted + wanted / 2;
    while (low > least) {
        uint32_t high = low;
        low = bound_of_many(heap->bounds, count, high, many);
        if (low < least) low = least;
        look_at(from, low, high, wanted, heap);
        if (heap->count == wanted) least = hot_bound(hot_all_bounds(from->hot), -heap->heap[0].order);
        size_t seen = count_from(heap->bounds, count, low);
        many = seen + (seen + wanted) / 4 + 1;
    }
    for (size_t i = 0; i < heap->count; i++) {
        heap->heap[i].order = -heap->heap[i].order;
        hot_prefetch_older(heap->heap[i].hot);
    }
    for (size_t i = heap->count / 2; i--;) HEAP_SINK(heap->heap, heap->count, i, newer);
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
            !holds(from->muted, from->muted_count, post->author) && !hot_is_gone(from->hot, post->id) &&
            !hot_is_hidden(from->hot, post->id))
            return post;
    }
    return NULL;
}

/* ---- the page ---- */

static void take_hot(const struct sources *from, struct page_scratch *heap) {
    struct candidate *top = &heap->heap[0];
    top->order = hot_before(from->hot, top->hot, from->above, top->order);
    if (top->order)
        HEAP_SINK(heap->heap, heap->count, 0, newer);
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
                int64_t above, int64_t before, size_t wanted, struct page *page) {
    int64_t horizon = hot_horizon(hot);
    if (inbox->horizon > horizon) horizon = inbox->horizon;
    struct sources from = {
        .inbox = inbox,
        .hot = hot,
        .following = following,
        .muted = muted,
        .following_count = following_count,
        .muted_count = muted_count,
        .above = horizon > above ? horizon : above,
        .before = before,
        .at = first_below(inbox, before),
    };
    if (scratch->followed < following_count) {
        scratch->bounds = mem_resize(scratch->bounds, following_count + LANES, sizeof *scratch->bounds);
        scratch->chosen = mem_resize(scratch->chosen, following_count + LANES, sizeof *scratch->chosen);
        scratch->followed = following_count;
    }
    MEM_FIT(scratch->heap, wanted, scratch->capacity);
    MEM_FIT(page->posts, wanted, page->capacity);
    page->count = 0;
    page->horizon = horizon > above ? horizon : 0;
    scratch->count = 0;
    if (wanted && following_count && hot_used(hot).authors) gather(&from, wanted, scratch);
    fill(&from, wanted, scratch, page);
}

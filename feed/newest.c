#include "feed/newest.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/mem.h"

struct newest {
    struct newest_wish wish;
    struct post_ref *heap; /* the lowest id first, until newest_posts sorts them */
    size_t count, capacity;
    int64_t cut;
    size_t author; /* the next one's place in the list */
    size_t taken;  /* posts of that author */
    int64_t below; /* where that author goes on */
};

struct newest *newest_new(void) {
    return mem_zero(1, sizeof(struct newest));
}

void newest_free(struct newest *newest) {
    if (!newest) return;
    free(newest->heap);
    free(newest);
}

void newest_begin(struct newest *newest, const struct newest_wish *wish) {
    newest->wish = *wish;
    newest->count = newest->author = newest->taken = 0;
    newest->cut = wish->above;
    newest->below = wish->before;
}

/* ---- the heap ---- */

static bool older(struct post_ref a, struct post_ref b) { return a.id < b.id; }

static void add(struct newest *newest, struct post_ref ref) {
    MEM_ROOM(newest->heap, newest->count, newest->capacity);
    newest->heap[newest->count++] = ref;
    HEAP_RISE(newest->heap, newest->count - 1, older);
}

static void leave_out(struct newest *newest, int64_t id) {
    if (id > newest->cut) newest->cut = id;
}

/* Takes the author's next post. False: that one and all older ones of the author are left out. */
static bool take(struct newest *newest, int64_t author, int64_t id) {
    struct post_ref ref = {.author = author, .id = id};
    bool full = newest->count == newest->wish.most;
    if (newest->taken == newest->wish.each || (full && id < newest->heap[0].id)) {
        leave_out(newest, id);
        return false;
    }
    newest->taken++;
    if (full) {
        leave_out(newest, newest->heap[0].id);
        newest->heap[0] = ref;
        HEAP_SINK(newest->heap, newest->count, 0, older);
    } else {
        add(newest, ref);
    }
    return true;
}

/* ---- reading ---- */

static void spend(size_t *work, size_t spent) { *work = *work > spent ? *work - spent : 0; }

/* Reads an author from where the last slice has stopped. True: to the end. */
static bool read_author(struct newest *newest, struct posts_walk *walk, int64_t author, size_t *work) {
    enum posts_walked at;
    int64_t id;
    posts_walk_to(walk, author, newest->below);
    spend(work, NEWEST_SEEK_WORK);
    while ((at = posts_walk_at(walk, &id)) != POSTS_WALK_END && id > newest->cut) {
        bool wanted = at == POSTS_WALK_LIVE || (at == POSTS_WALK_HIDDEN && newest->wish.hidden);
        if (wanted && !take(newest, author, id)) return true;
        newest->below = id;
        if (!*work) return false;
        posts_walk_next(walk);
        spend(work, 1);
    }
    return true;
}

int newest_read(struct newest *newest, struct posts *posts, int32_t partition, const int64_t *authors, size_t count,
                size_t *work, struct error *error) {
    struct posts_walk *walk;
    int code = posts_walk_new(posts, partition, &walk, error);
    if (code) return code;
    while (newest->author < count && *work) {
        if (!read_author(newest, walk, authors[newest->author], work)) break;
        newest->author++;
        newest->taken = 0;
        newest->below = newest->wish.before;
    }
    code = posts_walk_error(walk, error);
    posts_walk_free(walk);
    return code ? code : newest->author < count;
}

static int newest_first(const void *a, const void *b) {
    int64_t x = ((const struct post_ref *)a)->id, y = ((const struct post_ref *)b)->id;
    return (x < y) - (x > y);
}

const struct post_ref *newest_posts(struct newest *newest, size_t *count, int64_t *cut) {
    if (newest->count) qsort(newest->heap, newest->count, sizeof *newest->heap, newest_first);
    while (newest->count && newest->heap[newest->count - 1].id <= newest->cut) newest->count--;
    *count = newest->count;
    *cut = newest->cut;
    return newest->heap;
}

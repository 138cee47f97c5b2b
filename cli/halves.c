#include "cli/halves.h"

#include <stdlib.h>

#include "base/mem.h"

enum { TIDY_FIRST = 1 << 16 };

struct half {
    int64_t a, b;
    uint32_t order; /* among all since the last tidying, which has 0 */
    bool is;
};

struct halves {
    struct half *items;
    size_t count, capacity;
    size_t tidy_at; /* count */
};

struct halves *halves_new(void) {
    return MEM_NEW(&(struct halves){.items = NULL, .count = 0, .capacity = 0, .tidy_at = TIDY_FIRST});
}

void halves_free(struct halves *halves) {
    if (!halves) return;
    free(halves->items);
    free(halves);
}

void halves_clear(struct halves *halves) {
    halves->count = 0;
    halves->tidy_at = TIDY_FIRST;
}

static int compare(const void *left, const void *right) {
    const struct half *x = left, *y = right;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Sorts, and keeps the last word of each pair, if that is that it is: what comes later is always newer. */
static void tidy(struct halves *halves) {
    size_t kept = 0;
    if (halves->count) qsort(halves->items, halves->count, sizeof *halves->items, compare);
    for (size_t i = 0; i < halves->count; i++) {
        const struct half *half = &halves->items[i];
        bool last = i + 1 == halves->count || half[1].a != half->a || half[1].b != half->b;
        if (!last || !half->is) continue;
        halves->items[kept] = *half;
        halves->items[kept++].order = 0;
    }
    halves->count = kept;
    halves->tidy_at = kept * 2 > TIDY_FIRST ? kept * 2 : TIDY_FIRST;
}

void halves_put(struct halves *halves, int64_t a, int64_t b, bool is) {
    if (halves->count >= halves->tidy_at || halves->count >= UINT32_MAX - 1) tidy(halves);
    MEM_ROOM(halves->items, halves->count, halves->capacity);
    halves->items[halves->count] = (struct half){.a = a, .b = b, .order = (uint32_t)halves->count + 1, .is = is};
    halves->count++;
}

int halves_each(struct halves *halves, int (*fn)(void *context, int64_t a, int64_t b), void *context) {
    tidy(halves);
    int code = 0;
    for (size_t i = 0; !code && i < halves->count; i++) code = fn(context, halves->items[i].a, halves->items[i].b);
    return code;
}

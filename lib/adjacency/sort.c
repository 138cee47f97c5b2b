#include "adjacency/runs.h"

enum { DIGITS = 256, KIND_LEVEL = 8, LEVELS = 25, SMALL = 32 };

/* The n-th byte of (owner, kind, id, offset), the most significant first. None of the numbers is negative. */
static inline unsigned digit(const struct adjacency_update *update, unsigned level) {
    if (level == KIND_LEVEL) return update->kind;
    if (level > KIND_LEVEL) level--;
    uint64_t word = (uint64_t)(level < 8 ? update->owner : level < 16 ? update->id : update->offset);
    return (unsigned)(word >> (56 - 8 * (level & 7))) & 0xff;
}

static inline bool before(const struct adjacency_update *a, const struct adjacency_update *b) {
    if (a->owner != b->owner) return a->owner < b->owner;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->id != b->id) return a->id < b->id;
    return a->offset < b->offset;
}

static void sort_few(struct adjacency_update *updates, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct adjacency_update moving = updates[i];
        size_t at = i;
        for (; at > 0 && before(&moving, &updates[at - 1]); at--) updates[at] = updates[at - 1];
        updates[at] = moving;
    }
}

/* Puts each where its digit belongs, in place ("American flag"): ends[d] becomes where the next digit's begin. */
static void place(struct adjacency_update *updates, unsigned level, size_t *starts, const size_t *ends) {
    for (unsigned d = 0; d < DIGITS; d++) {
        while (starts[d] < ends[d]) {
            struct adjacency_update moving = updates[starts[d]];
            for (unsigned own = digit(&moving, level); own != d; own = digit(&moving, level)) {
                struct adjacency_update displaced = updates[starts[own]];
                updates[starts[own]++] = moving;
                moving = displaced;
            }
            updates[starts[d]++] = moving;
        }
    }
}

/* By bytes, most significant first, as most of them are the same in all: several times faster than by comparing. */
static void sort(struct adjacency_update *updates, size_t count, unsigned level) {
    size_t starts[DIGITS], ends[DIGITS];
    for (; count > SMALL && level < LEVELS; level++) {
        for (unsigned d = 0; d < DIGITS; d++) ends[d] = 0;
        for (size_t i = 0; i < count; i++) ends[digit(&updates[i], level)]++;
        if (ends[digit(updates, level)] == count) continue;
        size_t sum = 0;
        for (unsigned d = 0; d < DIGITS; d++) {
            starts[d] = sum;
            sum += ends[d];
            ends[d] = sum;
        }
        place(updates, level, starts, ends);
        for (unsigned d = 0; d < DIGITS; d++) {
            size_t from = d ? ends[d - 1] : 0;
            sort(updates + from, ends[d] - from, level + 1);
        }
        return;
    }
    if (count <= SMALL) sort_few(updates, count);
}

size_t adjacency_updates_tidy(struct adjacency_update *updates, size_t count) {
    size_t kept = 0;
    sort(updates, count, 0);
    for (size_t i = 0; i < count; i++) {
        const struct adjacency_update *next = i + 1 < count ? &updates[i + 1] : NULL;
        if (next && adjacency_update_same_list(next, &updates[i]) && next->id == updates[i].id) continue;
        updates[kept++] = updates[i];
    }
    return kept;
}

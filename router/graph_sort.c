#include "router/graph_runs.h"

enum { DIGITS = 256, LEVELS = 24, SMALL = 32 };

/* The n-th byte of (user, other, offset), the most significant first. None of them is negative. */
static inline unsigned digit(const struct graph_update *update, unsigned level) {
    uint64_t word = (uint64_t)(level < 8 ? update->user : level < 16 ? update->other : update->offset);
    return (unsigned)(word >> (56 - 8 * (level & 7))) & 0xff;
}

static inline bool before(const struct graph_update *a, const struct graph_update *b) {
    if (a->user != b->user) return a->user < b->user;
    if (a->other != b->other) return a->other < b->other;
    return a->offset < b->offset;
}

static void sort_few(struct graph_update *updates, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct graph_update moving = updates[i];
        size_t at = i;
        for (; at > 0 && before(&moving, &updates[at - 1]); at--) updates[at] = updates[at - 1];
        updates[at] = moving;
    }
}

/* Puts each where its digit belongs, in place ("American flag"): ends[d] becomes where the next digit's begin. */
static void place(struct graph_update *updates, unsigned level, size_t *starts, const size_t *ends) {
    for (unsigned d = 0; d < DIGITS; d++) {
        while (starts[d] < ends[d]) {
            struct graph_update moving = updates[starts[d]];
            for (unsigned own = digit(&moving, level); own != d; own = digit(&moving, level)) {
                struct graph_update other = updates[starts[own]];
                updates[starts[own]++] = moving;
                moving = other;
            }
            updates[starts[d]++] = moving;
        }
    }
}

/* By bytes, most significant first, as most of them are the same in all: several times faster than by comparing. */
static void sort(struct graph_update *updates, size_t count, unsigned level) {
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

size_t graph_updates_tidy(struct graph_update *updates, size_t count) {
    size_t kept = 0;
    sort(updates, count, 0);
    for (size_t i = 0; i < count; i++) {
        const struct graph_update *next = i + 1 < count ? &updates[i + 1] : NULL;
        if (next && next->user == updates[i].user && next->other == updates[i].other) continue;
        updates[kept++] = updates[i];
    }
    return kept;
}

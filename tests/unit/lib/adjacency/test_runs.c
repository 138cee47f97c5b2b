/* Tests runs.c and sort.c. Records sorted into runs: sorting, and merging in memory and from the file against a plain table, in pieces
 * too. */
#include "adjacency/runs.h"
#include "unit/kit/kit.h"

TEST(test_sorting) {
    enum { MOST = 5000 };
    static struct adjacency_update updates[MOST];
    uint64_t random = 3;
    // Few and many, ids close together and all over, many records of an entry and few.
    static const uint64_t SPREADS[] = {1, 3, 300, 100000, INT64_MAX};
    for (size_t round = 0; round < 60; round++) {
        size_t count = hash_u64(random++) % MOST;
        uint64_t owners = SPREADS[round % 5], ids = SPREADS[round / 5 % 5], kinds = round % 3 + 1;
        for (size_t i = 0; i < count; i++) {
            int64_t owner = (int64_t)(hash_u64(random++) % owners), id = (int64_t)(hash_u64(random++) % ids);
            uint8_t kind = (uint8_t)(hash_u64(random++) % kinds);
            updates[i] =
                (struct adjacency_update){.owner = owner, .kind = kind, .id = id, .offset = (int64_t)(i << 20)};
            updates[i].stamp = owner ^ id ^ updates[i].offset ^ kind;
        }
        size_t kept = adjacency_updates_tidy(updates, count);
        assert_int_equal(kept == 0, count == 0);
        if (owners <= 3 && ids <= 3) assert_true(kept <= owners * ids * kinds);
        for (size_t i = 0; i < kept; i++) {
            const struct adjacency_update *u = &updates[i], *before = &updates[i ? i - 1 : 0];
            assert_true(u->stamp == (u->owner ^ u->id ^ u->offset ^ u->kind));
            if (!i || u->owner > before->owner) continue;
            assert_true(u->owner == before->owner && u->kind >= before->kind);
            assert_true(u->kind > before->kind || u->id > before->id);
        }
        if (owners == 1 && ids == 1 && kinds == 1 && count)
            assert_true(updates[0].offset == (int64_t)((count - 1) << 20));
    }
}

/* ---- merging ---- */

enum { OWNERS = 3, KINDS = 2, IDS = 150000 };

struct expected {
    struct adjacency_update (*table)[KINDS][IDS]; /* offset -1: no record */
    size_t at, pieces;                            /* behind the last entry that was handed over, as (owner, kind, id) */
};

static struct adjacency_update *entry_at(struct expected *expected, size_t at) {
    return &expected->table[at / IDS / KINDS][at / IDS % KINDS][at % IDS];
}

static int handed(void *context, const struct adjacency_update *updates, size_t count, bool whole,
                  struct error *error) {
    struct expected *expected = context;
    size_t list = 0;
    assert_true(count > 0 && count <= ADJACENCY_PIECE);
    expected->pieces += !whole;
    for (size_t i = 0; i < count; i++) {
        while (entry_at(expected, expected->at)->offset < 0) expected->at++;
        const struct adjacency_update *wanted = entry_at(expected, expected->at), *got = &updates[i];
        list = expected->at++ / IDS;
        assert_int_equal(got->owner * KINDS + got->kind, list);
        assert_int_equal(got->id, wanted->id);
        assert_int_equal(got->offset, wanted->offset);
        assert_int_equal(got->stamp, wanted->stamp);
        assert_int_equal(got->tag, wanted->tag);
    }
    if (!whole) return 0;
    for (; expected->at < (list + 1) * IDS; expected->at++)
        assert_int_equal(entry_at(expected, expected->at)->offset, -1);
    return 0;
}

static void merge(size_t runs, size_t records, bool spill) {
    struct expected expected = {.table = mem_zero(OWNERS, sizeof *expected.table)};
    struct adjacency_runs *kept = adjacency_runs_new("/tmp", KINDS);
    FREED struct adjacency_update *updates = mem_zero(records, sizeof *updates);
    uint64_t random = runs;
    int64_t offset = 0;
    for (size_t i = 0; i < (size_t)OWNERS * KINDS * IDS; i++) entry_at(&expected, i)->offset = -1;
    for (size_t run = 0; run < runs; run++) {
        for (size_t i = 0; i < records; i++) {
            uint64_t r = hash_u64(random++);
            struct adjacency_update update = {.owner = (int64_t)(r % OWNERS),
                                              .kind = (uint8_t)(r >> 8 & 1),
                                              .id = (int64_t)((r >> 16) % IDS),
                                              .tag = (uint8_t)(r >> 40 & 63),
                                              .offset = offset++,
                                              .stamp = (int64_t)(r >> 1)};
            updates[i] = expected.table[update.owner][update.kind][update.id] = update;
        }
        adjacency_runs_add(kept, updates, records);
        if (spill && run % 2 && adjacency_runs_spill(kept, &failure)) fail_msg("%s", failure.text);
    }
    if (adjacency_runs_merge(kept, handed, &expected, &failure)) fail_msg("%s", failure.text);
    while (expected.at < (size_t)OWNERS * KINDS * IDS) assert_int_equal(entry_at(&expected, expected.at++)->offset, -1);
    if (runs * records > (size_t)OWNERS * KINDS * ADJACENCY_PIECE * 2) assert_true(expected.pieces > 0);
    adjacency_runs_free(kept);
    free(expected.table);
}

TEST(test_merging) {
    merge(1, 1, false);
    merge(9, 50, true);
    merge(12, 100000, false);
    merge(12, 100000, true);
}

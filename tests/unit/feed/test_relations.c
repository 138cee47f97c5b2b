/* Tests relations.c and lib/users/relation.c. The lists of relations, through random histories: halves are read in lots of any size,
 * some of them twice; stores are closed with halves that were not applied, reset, and opened again. After each lot every door is
 * compared with a table. */
#include "unit/feed/relation_steps.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, USERS = 45, KINDS = 6, TOPIC_MAX = 4000, HISTORIES = 5, STEPS = 150 };

struct record {
    struct relation_half half;
    int64_t time;
    bool set, marker; /* of a transaction: it has an offset, and nobody reads it */
};

struct part {
    struct record topic[TOPIC_MAX];
    int64_t size, position, taken, applied;
    bool attached, building; /* since it was read from the beginning nothing has finished it */
};

struct world {
    uint64_t seed, random;
    char *folder;
    struct relation_lists *lists;
    struct part parts[PARTITIONS];
    bool table[KINDS][USERS][USERS];
    int64_t since[KINDS][USERS][USERS];
};

static uint64_t chance(struct world *w, uint64_t of) { return hash_u64(w->random++) % of; }

static void done(struct world *w, int code, const struct error *error) {
    if (code) fail_msg("seed %" PRIu64 ": %d %s", w->seed, code, error->text);
}

static void open_lists(struct world *w) {
    char path[96];
    snprintf(path, sizeof path, "%s/follows", w->folder);
    const struct relation_lists_options options = {.path = path,
                                                   .partitions = PARTITIONS,
                                                   .memory_bytes = 4 << 20,
                                                   .chunk = 4,
                                                   .max_age_ms = INT64_C(86400000),
                                                   .cache_bytes = 1 << 13};
    done(w, relation_lists_open(&options, &w->lists, &failure), &failure);
}

static void produce(struct world *w, struct part *part) {
    int32_t partition = (int32_t)(part - w->parts);
    for (uint64_t count = chance(w, 60); count && part->size < TOPIC_MAX; count--) {
        struct record *record = &part->topic[part->size++];
        int64_t user = partition + PARTITIONS * (int64_t)chance(w, chance(w, 2) ? 2 : USERS / PARTITIONS);
        *record = (struct record){
            .half = {.user = user, .other = (int64_t)chance(w, USERS), .relation = (enum relation)(1 + chance(w, 3))},
            .time = clock_wall_ms() - (chance(w, 4) ? 0 : 3 * INT64_C(86400000)) + (int64_t)part->size,
            .set = chance(w, 3),
            .marker = !chance(w, 6)};
    }
}

static void forget(struct world *w, int32_t partition) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t user = partition; user < USERS; user += PARTITIONS)
            memset(w->table[kind][user], 0, sizeof w->table[kind][user]);
}

/* The table as of that offset. */
static void set_table(struct world *w, struct part *part, int64_t to) {
    forget(w, (int32_t)(part - w->parts));
    for (int64_t i = 0; i < to; i++) {
        const struct record *record = &part->topic[i];
        if (record->marker) continue;
        w->table[record->half.relation][record->half.user][record->half.other] = record->set;
        w->since[record->half.relation][record->half.user][record->half.other] = record->time;
    }
}

/* The time of a half of today is known; of an old one it need not be. */
static void expect_since(struct world *w, int32_t partition, const struct relation_half *half) {
    int64_t wanted = w->since[half->relation][half->user][half->other], since = -1;
    bool has = false, set = w->table[half->relation][half->user][half->other];
    done(w, relation_lists_since(w->lists, partition, half, &has, &since, &failure), &failure);
    CHECK(w, has == set);
    bool recent = clock_wall_ms() - wanted < INT64_C(86000000);
    CHECK(w, set ? since == wanted || (!recent && !since) : !since);
}

static void expect_list(struct world *w, int32_t partition, int64_t user, enum relation relation) {
    const bool *wanted = w->table[relation][user];
    struct id_list ids = {.items = NULL}, slice = {.items = NULL};
    size_t count = 0, kept = 0, slices = 0, beside = 0;
    done(w, relation_lists_all(w->lists, partition, user, relation, &ids, &failure), &failure);
    for (int64_t other = 0; other < USERS; other++) {
        bool has = !wanted[other];
        const struct relation_half half = {.user = user, .other = other, .relation = relation};
        done(w, relation_lists_has(w->lists, partition, &half, &has, other % 2 ? &beside : NULL, &failure), &failure);
        CHECK(w, has == wanted[other]);
        expect_since(w, partition, &half);
        if (wanted[other]) CHECK(w, count < ids.count && ids.items[count++] == other);
    }
    CHECK(w, count == ids.count && beside == count);
    done(w, relation_lists_count(w->lists, partition, user, relation, &kept, &failure), &failure);
    CHECK(w, kept == count);
    for (int64_t after = -1;; slices++) {
        done(w, relation_lists_slice(w->lists, partition, user, relation, after, &slice, &failure), &failure);
        if (!slice.count) break;
        for (size_t i = 0; i < slice.count; i++) {
            CHECK(w, slice.items[i] > after && slice.items[i] < USERS && wanted[slice.items[i]]);
            after = slice.items[i];
            kept--;
        }
    }
    CHECK(w, !kept);
    CHECK(w, count <= 8 || slices > 1);
    id_list_free(&ids);
    id_list_free(&slice);
}

static void expect(struct world *w, struct part *part) {
    int32_t partition = (int32_t)(part - w->parts);
    done(w, relation_lists_finish(w->lists, partition, clock_wall_ms(), &failure), &failure);
    part->building = false;
    for (int64_t user = partition; user < USERS; user += PARTITIONS)
        for (int relation = RELATION_FOLLOWING; relation <= RELATION_REQUESTING; relation++)
            expect_list(w, partition, user, (enum relation)relation);
}

/* again: it is attached already; what was taken then stays so. */
static void attach(struct world *w, struct part *part, bool again) {
    int64_t from;
    done(w, relation_lists_attach(w->lists, (int32_t)(part - w->parts), clock_wall_ms(), &from, &failure), &failure);
    part->attached = true;
    if (from == ADJACENCY_FROM_BEGINNING) {
        CHECK(w, part->building || !part->applied);
        from = 0;
    }
    CHECK(w, from == part->applied || !from);
    if (!again) part->taken = from;
    part->applied = part->position = from;
    if (!from) part->building = true;
    set_table(w, part, from);
}

static void take_next(struct world *w, struct part *part) {
    const struct record *record = &part->topic[part->position];
    if (!record->marker)
        relation_lists_take(w->lists, (int32_t)(part - w->parts), part->position, record->time, &record->half,
                            record->set);
    part->position++;
}

static void read_some(struct world *w, struct part *part) {
    // Records that were read before are read again, to carry out its effects.
    if (!chance(w, 5)) part->position -= (int64_t)chance(w, (uint64_t)part->position + 1);
    for (uint64_t count = chance(w, 200); count && part->position < part->size; count--) take_next(w, part);
    if (part->position > part->taken) part->taken = part->position;
}

static void apply(struct world *w, struct part *part) {
    int32_t partition = (int32_t)(part - w->parts);
    bool restoring = part->building && chance(w, 3);
    done(w, relation_lists_apply(w->lists, partition, part->position, clock_wall_ms(), restoring, &failure), &failure);
    if (!restoring) part->building = false;
    if (part->position > part->applied) part->applied = part->position;
    CHECK(w, relation_lists_next(w->lists, partition) == part->applied);
    set_table(w, part, part->applied);
    if (!restoring || chance(w, 2)) expect(w, part);
}

static void step(struct world *w) {
    struct part *part = &w->parts[chance(w, PARTITIONS)];
    int32_t partition = (int32_t)(part - w->parts);
    produce(w, part);
    if (!part->attached) {
        attach(w, part, false);
        return;
    }
    switch (chance(w, 18)) {
    case 0: // dies
        relation_lists_close(w->lists);
        open_lists(w);
        for (int32_t p = 0; p < PARTITIONS; p++) w->parts[p].attached = false;
        break;
    case 1:
        relation_lists_detach(w->lists, partition);
        part->attached = false;
        break;
    case 2:
        if (chance(w, 3)) break;
        done(w, relation_lists_reset(w->lists, partition, &failure), &failure);
        part->applied = part->position = part->taken = 0;
        part->building = true;
        CHECK(w, relation_lists_next(w->lists, partition) == -1);
        break;
    case 3: attach(w, part, true); break;
    case 4:
    case 5:
    case 6:
    case 7: read_some(w, part); break; // the halves wait
    default:
        do read_some(w, part);
        while (part->position < part->taken);
        apply(w, part);
        if (chance(w, 4)) break;
        part->position -= (int64_t)chance(w, (uint64_t)part->position + 1);
        while (part->position < part->applied && chance(w, 20)) take_next(w, part);
        apply(w, part); // with a lower `next`, and nothing that is new
    }
}

TEST(histories) {
    for (uint64_t seed = 0; seed < kit_histories(HISTORIES); seed++) {
        FREED struct world *w = mem_zero(1, sizeof *w);
        *w = (struct world){.seed = seed, .random = seed << 32, .folder = kit_folder()};
        open_lists(w);
        for (int i = 0; i < STEPS; i++) step(w);
        relation_lists_close(w->lists);
        kit_remove(w->folder);
    }
}

static void take_and_apply(struct world *w, int64_t offset, bool set, bool restoring) {
    const struct relation_half half = {.user = 0, .other = 7, .relation = RELATION_FOLLOWING};
    relation_lists_take(w->lists, 0, offset, clock_wall_ms(), &half, set);
    done(w, relation_lists_apply(w->lists, 0, offset + 1, clock_wall_ms(), restoring, &failure), &failure);
}

static size_t followed(struct world *w) {
    struct id_list ids = {.items = NULL};
    done(w, relation_lists_all(w->lists, 0, 0, RELATION_FOLLOWING, &ids, &failure), &failure);
    size_t count = ids.count;
    id_list_free(&ids);
    return count;
}

/* A process that was the owner, and reads on as a stand-by, is the owner again: what it has in memory from before is gone. */
TEST(lists_in_memory_follow_the_topic) {
    FREED struct world *w = mem_zero(1, sizeof *w);
    *w = (struct world){.folder = kit_folder()};
    open_lists(w);
    attach(w, &w->parts[0], false);
    uint64_t hits = relation_lists_cached(w->lists).hits;
    for (int64_t offset = 0; offset < 20; offset++) {
        take_and_apply(w, offset, offset % 2 == 0, offset % 4 > 1);
        for (int i = 0; i < 3; i++) assert_int_equal(followed(w), offset % 2 == 0);
    }
    assert_int_equal(relation_lists_cached(w->lists).hits - hits, 20 * 2);
    relation_lists_close(w->lists);
}

TEST(keys_come_back) {
    static const int64_t USERS_OF_KEYS[] = {0, 1, 255, 256, INT64_MAX};
    for (size_t i = 0; i < ARRAY_SIZE(USERS_OF_KEYS); i++) {
        for (int relation = RELATION_FOLLOWING; relation <= RELATION_REQUESTING; relation++) {
            const struct relation_half half = {
                .user = USERS_OF_KEYS[i], .other = USERS_OF_KEYS[4 - i], .relation = (enum relation)relation};
            struct relation_half read = {.user = -1};
            uint8_t key[RELATION_KEY_SIZE + 1] = {0};
            relation_key_write(key, &half);
            assert_true(relation_key_read(key, RELATION_KEY_SIZE, &read));
            assert_true(read.user == half.user && read.other == half.other && read.relation == half.relation);
            assert_false(relation_key_read(key, RELATION_KEY_SIZE - 1, &read));
            assert_false(relation_key_read(key, RELATION_KEY_SIZE + 1, &read));
        }
    }
    static const uint8_t KEY[RELATION_KEY_SIZE] = {0, 0, 0, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 0, 0, 1, 0};
    struct relation_half half;
    assert_true(relation_key_read(KEY, sizeof KEY, &half)); // as the schema of Follow says
    assert_true(half.user == 5 && half.relation == RELATION_FOLLOWER && half.other == 256);
    static const struct {
        size_t at;
        uint8_t byte;
    } WRONG[] = {{0, 0x80}, {9, 0x80}, {8, 0}, {8, 6}, {8, 255}};
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        uint8_t key[RELATION_KEY_SIZE];
        memcpy(key, KEY, sizeof key);
        key[WRONG[i].at] = WRONG[i].byte;
        assert_false(relation_key_read(key, sizeof key, &half));
        assert_true(half.user == 5 && half.other == 256);
    }
}

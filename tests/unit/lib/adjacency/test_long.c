/* Tests chunks.c. Very long lists: what one change of ten million ids reads and writes, building in pieces, and what is too many. */
#include "adjacency/private.h"
#include "unit/kit/kit.h"

enum { MILLIONS = 10000000, LIMIT = 100, FOLLOWERS = 1, LIMITED = 2, AUTHOR = 7 };

struct world {
    char *folder;
    struct adjacency *adjacency;
    int64_t offset;
    int64_t excess[64]; /* ids */
    size_t excess_count;
};

static void exceeded(void *context, struct adjacency_list list, int64_t id, int64_t stamp, int64_t offset) {
    struct world *w = context;
    assert_int_equal(list.kind, LIMITED);
    assert_true(w->excess_count < ARRAY_SIZE(w->excess));
    w->excess[w->excess_count++] = id;
}

static int64_t open_lists(struct world *w) {
    char path[96];
    int64_t from;
    snprintf(path, sizeof path, "%s/lists", w->folder);
    struct adjacency_options options = {.path = path,
                                        .name = "lists",
                                        .partitions = 1,
                                        .kinds = 3,
                                        .limits = {[LIMITED] = LIMIT},
                                        .max_age_ms = ADJACENCY_DAY_MS,
                                        .memory_bytes = 16 << 20,
                                        .context = w,
                                        .on_excess = exceeded};
    if (adjacency_open(&options, &w->adjacency, &failure)) fail_msg("%s", failure.text);
    if (adjacency_attach(w->adjacency, 0, clock_wall_ms(), &from, &failure)) fail_msg("%s", failure.text);
    return from;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->folder = kit_folder();
    assert_int_equal(open_lists(w), ADJACENCY_FROM_BEGINNING);
    return w;
}

TEAR_DOWN(struct world *w) { adjacency_close(w->adjacency); }

static struct adjacency_list list_of(int kind) {
    return (struct adjacency_list){.owner = AUTHOR, .kind = (uint8_t)kind};
}

static void add(struct world *w, int kind, int64_t id, uint8_t tag) {
    adjacency_add(w->adjacency, list_of(kind), id, tag, 0, w->offset++);
}

static void apply(struct world *w, bool restoring) {
    if (adjacency_apply(w->adjacency, 0, w->offset, clock_wall_ms(), restoring, &failure)) fail_msg("%s", failure.text);
}

static void finish(struct world *w) {
    if (adjacency_finish(w->adjacency, 0, clock_wall_ms(), &failure)) fail_msg("%s", failure.text);
}

static size_t count_of(struct world *w, int kind) {
    size_t members;
    if (adjacency_count(w->adjacency, list_of(kind), &members, &failure)) fail_msg("%s", failure.text);
    return members;
}

static uint8_t tag_of(struct world *w, int kind, int64_t id) {
    struct adjacency_entry entry;
    if (adjacency_find(w->adjacency, list_of(kind), id, &entry, NULL, &failure)) fail_msg("%s", failure.text);
    return entry.tag;
}

/* One of three of each four ids follows. */
static int64_t follower(int64_t i) { return i * 4 + (int64_t)(hash_u64((uint64_t)i) % 3); }

/* How many keys hold the list of followers, and how large the largest value is. */
static size_t keys_of_list(struct world *w, size_t *largest) {
    struct adjacency_key root = adjacency_root_key(AUTHOR, FOLLOWERS);
    struct store_cursor *cursor = store_cursor_new(w->adjacency->store, w->adjacency->parts[0].family);
    size_t keys = 0, size;
    *largest = 0;
    for (store_cursor_seek(cursor, root.bytes, root.size); store_cursor_valid(cursor); store_cursor_next(cursor)) {
        if (memcmp(store_cursor_key(cursor, &size), root.bytes, root.size)) break;
        store_cursor_value(cursor, &size);
        if (size > *largest) *largest = size;
        keys++;
    }
    store_cursor_free(cursor);
    return keys;
}

/* Ten million followers. Each change writes the root, one chunk (two where it splits, or none is left of one) and the offset;
 * all values are some kilobytes. */
TEST(test_one_of_ten_million, struct world *w) {
    size_t largest;
    for (int64_t i = 0; i < MILLIONS; i++) {
        add(w, FOLLOWERS, follower(i), ADJACENCY_MEMBER);
        if (i % 250000 == 0) apply(w, true);
    }
    apply(w, true);
    finish(w);
    assert_int_equal(count_of(w, FOLLOWERS), MILLIONS);
    size_t keys = keys_of_list(w, &largest);
    assert_true(keys > MILLIONS / ADJACENCY_CHUNK / 2 && keys < MILLIONS / ADJACENCY_CHUNK * 2);
    assert_true(largest < 8 * ADJACENCY_CHUNK);
    size_t members = MILLIONS;
    for (uint64_t i = 0; i < 200; i++) {
        int64_t number = (int64_t)(hash_u64(i) % MILLIONS), id = i % 2 ? follower(number) : number * 4 + 3;
        bool was = tag_of(w, FOLLOWERS, id) == ADJACENCY_MEMBER;
        assert_int_equal(was, i % 2);
        add(w, FOLLOWERS, id, was ? ADJACENCY_NONE : ADJACENCY_MEMBER);
        apply(w, false);
        assert_true(store_batch_count(w->adjacency->batch) <= 3);
        members += was ? (size_t)-1 : 1;
        assert_int_equal(count_of(w, FOLLOWERS), members);
        assert_int_equal(tag_of(w, FOLLOWERS, id) == ADJACENCY_MEMBER, !was);
    }
    // To add what is there, or remove what is not, writes nothing but the offset.
    add(w, FOLLOWERS, follower(9), ADJACENCY_MEMBER);
    add(w, FOLLOWERS, 43, ADJACENCY_NONE);
    apply(w, false);
    assert_true(store_batch_count(w->adjacency->batch) <= 1);

    // Thousands of neighbours come: chunks split; and go: they join.
    size_t before = keys_of_list(w, &largest);
    for (int64_t id = 3000; id < 60000; id++) add(w, FOLLOWERS, id, ADJACENCY_MEMBER);
    apply(w, true);
    assert_true(keys_of_list(w, &largest) > before + 20);
    assert_true(largest < 8 * ADJACENCY_CHUNK);
    for (int64_t id = 3000; id < 60000; id++) add(w, FOLLOWERS, id, ADJACENCY_NONE);
    apply(w, true);
    assert_true(keys_of_list(w, &largest) < before);

    // A page and a slice read what they need.
    struct adjacency_entry entries[50];
    struct id_list slice = {.items = NULL};
    size_t count;
    bool more;
    uint64_t all = ~UINT64_C(0);
    assert_int_equal(
        adjacency_page(w->adjacency, list_of(FOLLOWERS), all, 20000000, entries, 50, &count, &more, &failure), 0);
    assert_int_equal(count, 50);
    assert_true(more && entries[0].id > 20000000 && entries[49].id < 20000210);
    assert_int_equal(adjacency_slice(w->adjacency, list_of(FOLLOWERS), 20000000, &slice, &failure), 0);
    assert_true(slice.count && slice.count <= 2 * ADJACENCY_CHUNK && slice.items[0] == entries[0].id);
    id_list_free(&slice);

    assert_int_equal(adjacency_compact(w->adjacency, 0, &failure), 0);
    double bytes = (double)adjacency_used(w->adjacency).store.sst_files / MILLIONS;
    assert_true(bytes < 1.5);
}

/* Of a list with a limit that is built in pieces, the newest are told, and hold the offset. */
TEST(test_too_many_in_pieces, struct world *w) {
    for (int64_t id = 0; id < 3 * ADJACENCY_PIECE; id++)
        add(w, LIMITED, (id * 7919) % (3 * ADJACENCY_PIECE), ADJACENCY_NONE);
    for (int64_t id = 0; id < LIMIT + 3; id++) add(w, LIMITED, (id * 1000) % 190000, ADJACENCY_MEMBER);
    for (int64_t id = 5; id < 3 * ADJACENCY_PIECE; id += 1000) add(w, LIMITED, id, 2); // asides do not count
    apply(w, true);
    finish(w);
    assert_int_equal(count_of(w, LIMITED), LIMIT + 3);
    assert_int_equal(w->excess_count, 3);
    int64_t sum = 0;
    for (size_t i = 0; i < 3; i++) sum += w->excess[i];
    assert_int_equal(sum, (LIMIT + LIMIT + 1 + LIMIT + 2) * 1000);
    int64_t held = 3 * ADJACENCY_PIECE + LIMIT; // the first of them
    adjacency_close(w->adjacency);
    assert_int_equal(open_lists(w), held);
    assert_int_equal(tag_of(w, LIMITED, 5), 2);
}

/* Half a million records of one list beyond its limit, in one go: sorted, not searched again and again. */
TEST(test_too_many_at_once) {
    enum { MANY = 500000 };
    FREED struct adjacency_update *updates = mem_alloc(MANY * sizeof *updates);
    struct adjacency_excess excess = {.items = NULL};
    int64_t hold = INT64_MAX;
    for (int64_t i = 0; i < MANY; i++)
        updates[i] =
            (struct adjacency_update){.owner = 1, .id = i, .offset = (i * 7919) % MANY, .tag = ADJACENCY_MEMBER};
    adjacency_note_excess(&excess, updates, MANY, MANY / 2, &hold);
    assert_int_equal(excess.count, MANY / 2);
    assert_int_equal(hold, MANY / 2);
    for (size_t i = 0; i < excess.count; i++) assert_int_equal(excess.items[i].offset, MANY - 1 - (int64_t)i);
    free(excess.items);
}

/* A member's stamp is kept only where the options name a family for it. */
TEST(test_no_stamps, struct world *w) {
    struct adjacency_entry entry;
    adjacency_add(w->adjacency, list_of(FOLLOWERS), 5, ADJACENCY_MEMBER, clock_wall_ms(), w->offset++);
    adjacency_add(w->adjacency, list_of(FOLLOWERS), 6, 3, 12, w->offset++);
    apply(w, false);
    assert_int_equal(store_batch_count(w->adjacency->batch), 3); // root, aside, offset
    assert_int_equal(adjacency_find(w->adjacency, list_of(FOLLOWERS), 5, &entry, NULL, &failure), 0);
    assert_int_equal(entry.tag, ADJACENCY_MEMBER);
    assert_false(entry.stamped);
    assert_int_equal(adjacency_find(w->adjacency, list_of(FOLLOWERS), 6, &entry, NULL, &failure), 0);
    assert_int_equal(entry.tag, 3);
    assert_int_equal(entry.stamp, 12);
    assert_int_equal(adjacency_touch(w->adjacency, 0, clock_wall_ms(), &failure), 0);
}

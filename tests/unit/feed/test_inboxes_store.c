/* The store of inboxes: chunks and what becomes of them, who is away, writes that were torn, and damage. */
#include "base/bytes.h"
#include "feed/inboxes.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, MAX = 9, SECOND = 1024, AWAY_MS = 60 * SECOND };

struct world {
    char *folder;
    struct store *store;
    struct inboxes *inboxes;
};

/* Drops what is in memory. */
static void restart(struct world *w, int32_t partitions) {
    inboxes_free(w->inboxes);
    w->inboxes = inboxes_new(&(struct inboxes_options){
        .store = w->store, .partitions = partitions, .max = MAX, .memory_bytes = 1000, .away_ms = AWAY_MS});
}

static int64_t attach(struct world *w) {
    if (inboxes_open(w->inboxes, 0, 0, 0, &failure)) fail_msg("%s", failure.text);
    return inboxes_next(w->inboxes, 0, 0);
}

static struct world *world_new(void) {
    struct world *w = mem_zero(1, sizeof *w);
    struct store_options options = {.memory_bytes = 8 << 20, .point_lookups = true};
    w->folder = kit_folder();
    if (store_open(w->folder, &options, &w->store, &failure)) fail_msg("%s", failure.text);
    restart(w, PARTITIONS);
    assert_int_equal(attach(w), -1);
    return w;
}

static void world_free(struct world *w) {
    inboxes_free(w->inboxes);
    store_close(w->store);
    free(w);
}

static void push(struct world *w, int64_t offset, int64_t reader, int64_t id) {
    struct timeline_item item = {.kind = TIMELINE_ITEM_PUSH, .push = {.author = 4, .id = id}};
    inboxes_take(w->inboxes, 0, offset, 0, &reader, 1, &item);
    inboxes_read_to(w->inboxes, 0, offset + 1);
}

static void begin(struct world *w, int64_t offset, int64_t reader) {
    struct timeline_item item = {.kind = TIMELINE_ITEM_BEGIN};
    inboxes_take(w->inboxes, 0, offset, 0, &reader, 1, &item);
    inboxes_read_to(w->inboxes, 0, offset + 1);
}

static void write_all(struct world *w) {
    if (inboxes_write(w->inboxes, 100, &failure)) fail_msg("%s", failure.text);
}

static size_t find(struct world *w, int64_t reader, size_t newest, int *code) {
    struct inbox inbox = {.request = -1};
    *code = inboxes_find(w->inboxes, 0, reader, newest, &inbox, &failure);
    size_t count = inbox.count;
    inbox_free(&inbox);
    return count;
}

static size_t keys_of(struct world *w, uint8_t kind) {
    struct store_family *family;
    size_t size, count = 0;
    assert_int_equal(store_family(w->store, "inbox-0", &family, NULL), 0);
    struct store_cursor *cursor = store_cursor_new(w->store, family);
    for (store_cursor_seek(cursor, "", 0); store_cursor_valid(cursor); store_cursor_next(cursor))
        count += store_cursor_key(cursor, &size)[0] == kind;
    store_cursor_free(cursor);
    return count;
}

SET_UP() { return world_new(); }
TEAR_DOWN(struct world *w) { world_free(w); }

TEST(test_chunks_are_merged, struct world *w) {
    int code;
    size_t most = 0;
    begin(w, 0, 7);
    for (int64_t offset = 1; offset < 100; offset++) {
        push(w, offset, 7, offset);
        write_all(w);
        if (keys_of(w, 2) > most) most = keys_of(w, 2);
    }
    assert_true(most > 1 && most < 6);
    assert_int_equal(find(w, 7, SIZE_MAX, &code), MAX);
    assert_int_equal(keys_of(w, 1), 1);
    assert_int_equal(keys_of(w, 3), 1);
}

/* After a restart nobody knows how many chunks a reader has: a page that finds many merges them. */
TEST(test_a_page_merges_chunks, struct world *w) {
    int code;
    begin(w, 0, 7);
    for (int64_t offset = 1; offset < 4; offset++) push(w, offset, 7, 100 + offset);
    write_all(w);
    for (int64_t offset = 4; offset < 20; offset++) {
        push(w, offset, 7, 200 + offset % 5);
        write_all(w);
        restart(w, PARTITIONS);
        assert_int_equal(attach(w), offset + 1);
    }
    assert_int_equal(keys_of(w, 2), 16);
    find(w, 7, 0, &code); // a page that needs little of it merges all of it
    assert_int_equal(keys_of(w, 2), 0);
    assert_int_equal(find(w, 7, 0, &code), 0);
    assert_int_equal(find(w, 7, SIZE_MAX, &code), 8);
    assert_int_equal(code, 0);
}

TEST(test_nothing_stays_of_who_is_away, struct world *w) {
    struct timeline_item item = {.kind = TIMELINE_ITEM_PUSH, .push = {.author = 4, .id = 50}};
    int64_t reader = 7;
    int code;
    begin(w, 0, 7);
    begin(w, 1, 8);
    push(w, 2, 7, 20);
    write_all(w);
    push(w, 3, 7, 21);
    write_all(w);
    assert_int_equal(keys_of(w, 2), 1);
    inboxes_take(w->inboxes, 0, 4, AWAY_MS + SECOND, &reader, 1, &item);
    inboxes_read_to(w->inboxes, 0, 5);
    assert_int_equal(inboxes_used(w->inboxes).inboxes, 1);
    write_all(w);
    assert_int_equal(keys_of(w, 1) + keys_of(w, 2) + keys_of(w, 3), 2); // of the other one
    restart(w, PARTITIONS);
    assert_int_equal(attach(w), 5);
    assert_int_equal(inboxes_used(w->inboxes).inboxes, 1);
    assert_int_equal(find(w, 7, SIZE_MAX, &code), 0);
}

/* Nothing comes any more for many who are away: their inboxes go all the same, slowly, and nobody else's. */
TEST(test_the_sweep_finds_who_is_away, struct world *w) {
    enum { READERS = 90, FEW = 7 };
    const struct timeline_item item = {.kind = TIMELINE_ITEM_BEGIN};
    int64_t offset = 0;
    int code;
    for (int64_t reader = 0; reader < READERS; reader++) {
        inboxes_take(w->inboxes, 0, offset, reader % 3 ? 0 : 2 * AWAY_MS, &reader, 1, &item);
        inboxes_read_to(w->inboxes, 0, ++offset);
    }
    write_all(w);
    size_t before = inboxes_used(w->inboxes).inboxes, all = before, here = (READERS + 2) / 3;
    assert_int_equal(before, READERS);
    for (int turns = 0; all > here; turns++) {
        assert_true(turns < 1000);
        inboxes_sweep(w->inboxes, FEW);
        all = inboxes_used(w->inboxes).inboxes;
        assert_true(before - all <= FEW);
        before = all;
    }
    for (int turns = 0; turns < 100; turns++) inboxes_sweep(w->inboxes, FEW);
    assert_int_equal(inboxes_used(w->inboxes).inboxes, here);
    write_all(w);
    assert_int_equal(keys_of(w, 3), here);
    restart(w, PARTITIONS);
    assert_int_equal(attach(w), offset);
    inboxes_sweep(w->inboxes, 10 * READERS); // no record says yet what time it is
    assert_int_equal(inboxes_used(w->inboxes).inboxes, here);
    struct inbox inbox = {.request = -1};
    for (int64_t reader = 0; reader < READERS; reader++) {
        code = inboxes_find(w->inboxes, 0, reader, SIZE_MAX, &inbox, &failure);
        assert_int_equal(code, 0);
        assert_int_equal(inbox.request >= 0, reader % 3 == 0);
    }
    inbox_free(&inbox);
}

TEST(test_begins_are_wanted_in_time, struct world *w) {
    struct inbox inbox = {.request = -1};
    assert_true(inboxes_wants_begin(w->inboxes, &inbox, 5));
    inbox = (struct inbox){.request = 8, .opened_ms = 1000};
    assert_false(inboxes_wants_begin(w->inboxes, &inbox, 1000 + AWAY_MS / 2));
    assert_true(inboxes_wants_begin(w->inboxes, &inbox, 1001 + AWAY_MS / 2));
}

TEST(test_memory_fills, struct world *w) {
    begin(w, 0, 7);
    assert_false(inboxes_full(w->inboxes));
    for (int64_t offset = 1; offset < 200; offset++) push(w, offset, 7, offset);
    assert_true(inboxes_full(w->inboxes));
    inboxes_close(w->inboxes, 0);
    assert_false(inboxes_full(w->inboxes));
    write_all(w);
}

TEST(test_the_first_write_is_wanted, struct world *w) {
    assert_false(inboxes_unwritten(w->inboxes));
    begin(w, 0, 7);
    assert_true(inboxes_unwritten(w->inboxes));
    write_all(w);
    assert_false(inboxes_unwritten(w->inboxes));
    push(w, 1, 7, 1);
    assert_false(inboxes_unwritten(w->inboxes));
}

/* Damages one value of reader 7 under a key of that kind. */
static void damage(struct world *w, uint8_t kind) {
    struct store_batch *batch = store_batch_new();
    struct store_family *family;
    uint8_t key[13] = {kind};
    bytes_put_be64(key + 1, 7);
    assert_int_equal(store_family(w->store, "inbox-0", &family, NULL), 0);
    store_batch_put(batch, family, key, kind == 2 ? 13 : 9, "\xff", 1);
    assert_int_equal(store_write(w->store, batch, false, NULL), 0);
    store_batch_free(batch);
}

TEST(test_a_damaged_store_is_refused) {
    for (uint8_t kind = 1; kind <= 3; kind++) {
        struct world *w = world_new();
        int code;
        begin(w, 0, 7);
        write_all(w);
        push(w, 1, 7, 20);
        write_all(w);
        damage(w, kind);
        if (kind == 3) {
            restart(w, PARTITIONS);
            code = inboxes_open(w->inboxes, 0, 0, 0, &failure);
        } else {
            find(w, 7, SIZE_MAX, &code);
        }
        assert_int_equal(code, -EBADMSG);
        world_free(w);
    }
}

/* Another number of partitions: other readers belong here. */
TEST(test_other_partitions_begin_anew, struct world *w) {
    begin(w, 5, 7);
    write_all(w);
    restart(w, PARTITIONS + 1);
    assert_int_equal(attach(w), -1);
    assert_int_equal(inboxes_used(w->inboxes).inboxes, 0);
    assert_int_equal(keys_of(w, 1), 0);
}

/* Of a first write that was torn nothing is of use: nobody knows which records it reflects. */
TEST(test_a_torn_first_write_is_forgotten, struct world *w) {
    int code;
    for (int64_t reader = 5; reader < 10; reader++) begin(w, reader, reader);
    assert_int_equal(inboxes_write(w->inboxes, 3, &failure), 1);
    assert_int_equal(keys_of(w, 1), 3);
    restart(w, PARTITIONS);
    assert_int_equal(attach(w), -1);
    assert_int_equal(keys_of(w, 1), 0);
    assert_int_equal(inboxes_used(w->inboxes).inboxes, 0);
    assert_int_equal(find(w, 7, SIZE_MAX, &code), 0);
}

/* Events that a failing write had taken from memory are not in the store: no later one may move the offset past it. */
TEST(test_a_failure_stays, struct world *w) {
    int code = 0;
    begin(w, 0, 7);
    write_all(w);
    damage(w, 1);
    for (int64_t offset = 1; !code && offset < 20; offset++) { // until chunks are merged
        push(w, offset, 7, offset);
        code = inboxes_write(w->inboxes, 100, &failure);
    }
    assert_int_equal(code, -EBADMSG);
    push(w, 30, 7, 30);
    assert_int_equal(inboxes_write(w->inboxes, 100, &failure), -EBADMSG);
    restart(w, PARTITIONS);
    assert_true(attach(w) < 20);
}

/* Tests apply.c, families.c, keys.c, marks.c and read.c. Lists on disk against plain sets in memory: random changes, pages, slices,
 * restarts, rebuilding and ends in the middle, with chunks so small that they split and join all the time, and several kinds of lists. */
#include <signal.h>
#include <sys/wait.h>

#include "adjacency/private.h"
#include "unit/kit/kit.h"

enum { OWNERS = 3, KINDS = 4, IDS = 400, PARTITION = 1, PARTITIONS = 2, CHUNK = 8, LOG = 20000, HISTORIES = 12 };

struct list_record {
    int owner, kind, id;
    uint8_t tag;
    int64_t stamp;
};

struct kept_state {
    uint8_t tag;
    int64_t stamp;
};

struct world {
    char *folder;
    struct adjacency *adjacency;
    struct list_record *log;                  /* the topic */
    int64_t log_size, read;                   /* read: added so far */
    struct kept_state (*applied)[KINDS][IDS]; /* [owner][kind][id] */
    struct kept_state (*told)[KINDS][IDS];    /* who is a member, by what on_change said */
    int64_t now;
    uint64_t random;
};

static uint64_t chance(struct world *w, uint64_t of) { return hash_u64(w->random++) % of; }

static uint8_t as_member(uint8_t tag) { return adjacency_is_member(tag) ? tag : ADJACENCY_NONE; }

static void changed(void *context, struct adjacency_list list, int64_t id, uint8_t before, uint8_t now) {
    struct world *w = context;
    struct kept_state *told = &w->told[list.owner][list.kind][id];
    assert_int_equal(list.partition, PARTITION);
    assert_int_equal(as_member(told->tag), before);
    assert_int_not_equal(before, now);
    told->tag = now;
}

static void open_lists(struct world *w) {
    char path[96];
    snprintf(path, sizeof path, "%s/lists", w->folder);
    struct adjacency_options options = {.path = path,
                                        .name = "lists",
                                        .stamps = "times",
                                        .partitions = PARTITIONS,
                                        .kinds = KINDS,
                                        .chunk = CHUNK,
                                        .max_age_ms = ADJACENCY_DAY_MS,
                                        .memory_bytes = 4 << 20,
                                        .context = w,
                                        .on_change = changed};
    if (adjacency_open(&options, &w->adjacency, &failure)) fail_msg("%s", failure.text);
}

static struct world *world_new(uint64_t seed) {
    struct world *w = mem_zero(1, sizeof *w);
    w->folder = kit_folder();
    w->log = mem_zero(LOG, sizeof *w->log);
    w->applied = mem_zero(OWNERS, sizeof *w->applied);
    w->told = mem_zero(OWNERS, sizeof *w->told);
    w->now = clock_wall_ms();
    w->random = seed << 32;
    return w;
}

static void world_free(struct world *w) {
    adjacency_close(w->adjacency);
    kit_remove(w->folder);
    free(w->log);
    free(w->applied);
    free(w->told);
    free(w);
}

static struct adjacency_list list_of(int owner, int kind) {
    return (struct adjacency_list){.owner = owner, .partition = PARTITION, .kind = (uint8_t)kind};
}

/* Sets the model to what the topic says up to an offset. */
static void replay(struct world *w, int64_t to) {
    memset(w->applied, 0, OWNERS * sizeof *w->applied);
    for (int64_t i = 0; i < to; i++) {
        const struct list_record *r = &w->log[i];
        w->applied[r->owner][r->kind][r->id] = (struct kept_state){r->tag, r->tag ? r->stamp : 0};
    }
    memcpy(w->told, w->applied, OWNERS * sizeof *w->told);
}

static void attach(struct world *w) {
    int64_t from;
    if (adjacency_attach(w->adjacency, PARTITION, w->now, &from, &failure)) fail_msg("%s", failure.text);
    w->read = from < 0 ? 0 : from;
    assert_true(w->read <= w->log_size);
    replay(w, w->read);
}

/* Lists in a new folder that are empty and can be written to. */
static struct world *world_attached(uint64_t seed) {
    struct world *w = world_new(seed);
    open_lists(w);
    attach(w);
    return w;
}

/* Neighbouring ids come and go together, so that whole chunks fill and empty. */
static void produce(struct world *w) {
    int owner = (int)chance(w, OWNERS), kind = (int)chance(w, KINDS), from = (int)chance(w, IDS);
    int count = (int)(chance(w, 3) ? 1 + chance(w, 3) : chance(w, IDS / 2));
    uint8_t tag = chance(w, 2) ? ADJACENCY_MEMBER : chance(w, 3) ? ADJACENCY_NONE : (uint8_t)(1 + chance(w, 3));
    if (chance(w, 4) == 0) tag = (uint8_t)(ADJACENCY_MARKED + chance(w, 3));
    for (int id = from; id < IDS && id < from + count && w->log_size < LOG; id++) {
        if (chance(w, 5) == 0) continue;
        w->log[w->log_size] = (struct list_record){owner, kind, id, tag, w->now - w->log_size};
        w->log_size++;
    }
}

static void read_some(struct world *w, uint64_t most) {
    for (uint64_t left = chance(w, most + 1); left && w->read < w->log_size; left--) {
        const struct list_record *r = &w->log[w->read];
        adjacency_add(w->adjacency, list_of(r->owner, r->kind), r->id, r->tag, r->stamp, w->read);
        w->read++;
    }
}

/* ---- what is read against the sets ---- */

static bool is_wanted(const struct kept_state *state, uint64_t tags) {
    uint8_t tag = adjacency_is_member(state->tag) ? ADJACENCY_MEMBER : state->tag;
    return tag && tags & UINT64_C(1) << tag;
}

static void expect_page(struct world *w, int owner, int kind, uint64_t tags) {
    const struct kept_state *wanted = w->applied[owner][kind];
    struct adjacency_entry entries[64];
    size_t count, limit = 1 + chance(w, 64);
    bool more = true;
    int id = 0;
    for (int64_t after = -1; more;) {
        if (adjacency_page(w->adjacency, list_of(owner, kind), tags, after, entries, limit, &count, &more, &failure))
            fail_msg("%s", failure.text);
        assert_true(count == limit || !more);
        for (size_t i = 0; i < count; i++, id++) {
            while (!is_wanted(&wanted[id], tags)) assert_true(++id < IDS);
            assert_int_equal(entries[i].id, id);
            assert_int_equal(entries[i].tag, wanted[id].tag);
            assert_int_equal(entries[i].stamp, wanted[id].stamp);
        }
        if (count) after = entries[count - 1].id;
    }
    for (; id < IDS; id++) assert_false(is_wanted(&wanted[id], tags));
}

static void expect_slices(struct world *w, int owner, int kind) {
    const struct kept_state *wanted = w->applied[owner][kind];
    FREED_BY(id_list_free) struct id_list slice = {.items = NULL};
    int id = 0;
    for (int64_t after = -1;; after = slice.items[slice.count - 1]) {
        if (adjacency_slice(w->adjacency, list_of(owner, kind), after, &slice, &failure)) fail_msg("%s", failure.text);
        if (!slice.count) break;
        assert_true(slice.count <= 2 * CHUNK);
        for (size_t i = 0; i < slice.count; i++, id++) {
            while (!adjacency_is_member(wanted[id].tag)) assert_true(++id < IDS);
            assert_int_equal(slice.items[i], id);
        }
    }
    for (; id < IDS; id++) assert_false(adjacency_is_member(wanted[id].tag));
}

static void expect_entries(struct world *w, int owner, int kind, const struct id_list *list) {
    const struct kept_state *wanted = w->applied[owner][kind];
    struct adjacency_entry entry;
    size_t members;
    for (int id = (int)chance(w, 10); id < IDS; id += 1 + (int)chance(w, 20)) {
        if (adjacency_find(w->adjacency, list_of(owner, kind), id, &entry, &members, &failure))
            fail_msg("%s", failure.text);
        assert_int_equal(entry.tag, wanted[id].tag);
        assert_int_equal(entry.stamp, wanted[id].stamp);
        assert_int_equal(members, list->count);
        if (adjacency_find_beside(w->adjacency, list_of(owner, kind), list, id, true, &entry, &failure))
            fail_msg("%s", failure.text);
        assert_int_equal(entry.tag, wanted[id].tag);
        assert_int_equal(entry.stamp, wanted[id].stamp);
    }
}

/* Expects on the disk one value, or chunks within their bounds. */
static void expect_chunks(struct world *w, int owner, int kind, size_t members) {
    struct adjacency *adjacency = w->adjacency;
    struct adjacency_key prefix = adjacency_chunk_key(owner, (uint8_t)kind, 0),
                         root = adjacency_root_key(owner, (uint8_t)kind);
    struct store_cursor *cursor = store_cursor_new(adjacency->store, adjacency->parts[PARTITION].family);
    struct store_pin pin = {.handle = NULL};
    struct adjacency_root decoded;
    FREED_BY(id_list_free) struct id_list ids = {.items = NULL};
    size_t chunks = 0, key_size, size, small = 0;
    assert_true(store_get_pinned(adjacency->store, adjacency->parts[PARTITION].family, root.bytes, root.size, &pin,
                                 &failure) >= 0);
    assert_true(adjacency_root_decode(&pin, &decoded));
    store_pin_release(&pin);
    for (store_cursor_seek(cursor, prefix.bytes, prefix.size); store_cursor_valid(cursor); store_cursor_next(cursor)) {
        const uint8_t *key = store_cursor_key(cursor, &key_size);
        if (key_size != prefix.size || memcmp(key, prefix.bytes, prefix.size - 8)) break;
        const uint8_t *value = store_cursor_value(cursor, &size);
        assert_int_equal(id_list_decode(&ids, value, size), 0);
        assert_true(ids.count <= 2 * CHUNK);
        small += ids.count < CHUNK / 4;
        chunks++;
    }
    assert_int_equal(decoded.chunked, chunks > 0);
    assert_true(small <= 1); // the last one
    if (!chunks) assert_true(members <= 2 * CHUNK);
    if (chunks) assert_true(members >= CHUNK);
    store_cursor_free(cursor);
}

static void expect_list(struct world *w, int owner, int kind, const struct id_list *list) {
    const struct kept_state *wanted = w->applied[owner][kind];
    struct adjacency_entries marked = {.items = NULL};
    size_t count = 0, asides = 0, marks = 0, kept;
    if (adjacency_marked(w->adjacency, list_of(owner, kind), list, &marked, &failure)) fail_msg("%s", failure.text);
    for (int id = 0; id < IDS; id++) {
        asides += wanted[id].tag && !adjacency_is_member(wanted[id].tag);
        if (!adjacency_is_member(wanted[id].tag)) continue;
        if (wanted[id].tag != ADJACENCY_MEMBER) {
            assert_true(marks < marked.count);
            assert_int_equal(marked.items[marks].id, id);
            assert_int_equal(marked.items[marks].tag, wanted[id].tag);
            assert_int_equal(marked.items[marks++].stamp, wanted[id].stamp);
        }
        assert_true(count < list->count);
        assert_int_equal(list->items[count++], id);
    }
    assert_int_equal(count, list->count);
    assert_int_equal(asides, list->others);
    assert_int_equal(marks, list->marked);
    assert_int_equal(marks, marked.count);
    adjacency_entries_free(&marked);
    assert_int_equal(adjacency_count(w->adjacency, list_of(owner, kind), &kept, &failure), 0);
    assert_int_equal(kept, count);
    expect_chunks(w, owner, kind, count);
    expect_entries(w, owner, kind, list);
    expect_slices(w, owner, kind);
    expect_page(w, owner, kind, ~UINT64_C(0));
    expect_page(w, owner, kind, UINT64_C(1) << (chance(w, 2) ? ADJACENCY_MEMBER : 2));
}

static void expect_all(struct world *w) {
    struct id_list lists[OWNERS] = {{.items = NULL}}, list = {.items = NULL};
    const int64_t owners[OWNERS] = {0, 1, 2};
    for (int kind = 0; kind < KINDS; kind++) {
        if (adjacency_members_many(w->adjacency, PARTITION, (uint8_t)kind, owners, OWNERS, lists, &failure))
            fail_msg("%s", failure.text);
        for (int owner = 0; owner < OWNERS; owner++) {
            expect_list(w, owner, kind, &lists[owner]);
            assert_int_equal(adjacency_members(w->adjacency, list_of(owner, kind), &list, &failure), 0);
            assert_int_equal(list.count, lists[owner].count);
            if (list.count) assert_memory_equal(list.items, lists[owner].items, list.count * sizeof *list.items);
        }
    }
    for (int owner = 0; owner < OWNERS; owner++) id_list_free(&lists[owner]);
    id_list_free(&list);
}

static void expect_told(const struct world *w) {
    for (int i = 0; i < OWNERS * KINDS * IDS; i++) {
        int owner = i / IDS / KINDS, kind = i / IDS % KINDS, id = i % IDS;
        assert_int_equal(as_member(w->told[owner][kind][id].tag), as_member(w->applied[owner][kind][id].tag));
    }
}

/* ---- histories ---- */

/* restoring: nobody is told, and who is a member then counts as known. */
static void apply(struct world *w, bool restoring) {
    if (adjacency_apply(w->adjacency, PARTITION, w->read, w->now, restoring, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(adjacency_next(w->adjacency, PARTITION), w->read);
    struct kept_state(*told)[KINDS][IDS] = mem_alloc(OWNERS * sizeof *told);
    memcpy(told, w->told, OWNERS * sizeof *told);
    replay(w, w->read);
    if (!restoring) memcpy(w->told, told, OWNERS * sizeof *told);
    expect_told(w);
    free(told);
}

static void step(struct world *w) {
    for (uint64_t count = chance(w, 6); count; count--) produce(w);
    switch (chance(w, 16)) {
    case 0:
        adjacency_detach(w->adjacency, PARTITION);
        attach(w);
        break;
    case 1:
        adjacency_close(w->adjacency);
        open_lists(w);
        attach(w);
        break;
    case 2:
        if (adjacency_rebuild(w->adjacency, PARTITION, &failure)) fail_msg("%s", failure.text);
        w->read = 0;
        replay(w, 0);
        break;
    case 3:
        if (adjacency_finish(w->adjacency, PARTITION, w->now, &failure)) fail_msg("%s", failure.text);
        break;
    case 4:
        if (adjacency_touch(w->adjacency, PARTITION, w->now, &failure)) fail_msg("%s", failure.text);
        break;
    default: read_some(w, chance(w, 4) ? 40 : 2000); apply(w, chance(w, 2));
    }
}

TEST(test_histories) {
    for (uint64_t seed = 0; seed < kit_histories(HISTORIES); seed++) {
        struct world *w = world_attached(seed);
        for (int i = 0; i < 60; i++) {
            step(w);
            if (chance(w, 4) == 0) { // reading finishes what is being built
                apply(w, true);
                expect_all(w);
            }
        }
        while (w->read < w->log_size) read_some(w, 5000);
        apply(w, seed % 2);
        expect_all(w);
        world_free(w);
    }
}

/* Applies what the topic holds, again and again from where the store is, until it is killed. */
static void go_on(struct world *w, uint64_t seed) {
    w->random = seed << 32;
    open_lists(w);
    attach(w);
    for (;;) {
        read_some(w, chance(w, 4) ? 40 : 2000);
        if (adjacency_apply(w->adjacency, PARTITION, w->read, w->now, true, &failure)) abort();
        if (chance(w, 3) == 0 && adjacency_finish(w->adjacency, PARTITION, w->now, &failure)) abort();
        if (w->read < w->log_size) continue;
        if (adjacency_rebuild(w->adjacency, PARTITION, &failure)) abort();
        w->read = 0;
    }
}

TEST(test_kills) {
    struct world *w = world_new(77);
    int64_t most = 0;
    while (w->log_size < LOG) produce(w);
    for (uint64_t round = 0; round < 12 || !most; round++) { // the longer the slower the machine is
        uint64_t after_us = 20000 + chance(w, 100000 * (round + 1) / 4);
        pid_t child = fork();
        if (child == 0) go_on(w, round);
        usleep((useconds_t)after_us);
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        open_lists(w);
        attach(w);
        expect_all(w);
        if (w->read > most) most = w->read;
        adjacency_close(w->adjacency);
    }
    open_lists(w);
    world_free(w);
}

/* ---- damage ---- */

/* A page of the whole list, which fits. */
static int whole_page(struct world *w, struct adjacency_list list, struct adjacency_entry entries[IDS], size_t *count) {
    bool more;
    int code = adjacency_page(w->adjacency, list, ~UINT64_C(0), -1, entries, IDS, count, &more, &failure);
    if (!code) assert_false(more);
    return code;
}

static void put(struct world *w, struct adjacency_key key, const void *value, size_t size) {
    struct adjacency *adjacency = w->adjacency;
    store_batch_clear(adjacency->batch);
    if (value)
        store_batch_put(adjacency->batch, adjacency->parts[PARTITION].family, key.bytes, key.size, value, size);
    else
        store_batch_delete(adjacency->batch, adjacency->parts[PARTITION].family, key.bytes, key.size);
    if (store_write(adjacency->store, adjacency->batch, false, &failure)) fail_msg("%s", failure.text);
}

static void members(struct world *w, int owner, int kind, int count) {
    for (int id = 0; id < count; id++) {
        w->log[w->log_size] = (struct list_record){owner, kind, id, ADJACENCY_MEMBER, w->now};
        w->log_size++;
    }
    read_some(w, 1 << 20);
    while (w->read < w->log_size) read_some(w, 1 << 20);
    apply(w, true);
}

/* A list that is damaged says so, whatever asks; its family is built anew from the topic, and the other lists stay. */
TEST(test_damage) {
    static const uint8_t ROOTS[][4] = {{0x80, 0x80, 0x80, 0x80}, {0, 5, 1, 0}, {0x80, 0, 0, 40}, {0x80, 0, 0, 0x80}};
    static const uint8_t CHUNKS[][4] = {{0x80, 0x80, 0x80, 0x80}, {1, 1, 0, 1}, {0xff, 0xff, 0xff, 0x7f}};
    struct world *w = world_attached(5);
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    struct adjacency_entry entries[IDS];
    size_t count;
    members(w, 0, 1, 5);
    members(w, 1, 1, 100);
    expect_all(w);
    struct store_cursor *cursor = store_cursor_new(w->adjacency->store, w->adjacency->parts[PARTITION].family);
    struct adjacency_key chunk = adjacency_chunk_key(1, 1, 50);
    size_t size;
    store_cursor_seek(cursor, chunk.bytes, chunk.size);
    memcpy(chunk.bytes, store_cursor_key(cursor, &size), chunk.size);
    store_cursor_free(cursor);
    for (size_t i = 0; i < ARRAY_SIZE(ROOTS) + ARRAY_SIZE(CHUNKS) + 1; i++) {
        if (i < ARRAY_SIZE(ROOTS))
            put(w, adjacency_root_key(1, 1), ROOTS[i], 4);
        else if (i < ARRAY_SIZE(ROOTS) + ARRAY_SIZE(CHUNKS))
            put(w, chunk, CHUNKS[i - ARRAY_SIZE(ROOTS)], 4);
        else
            put(w, adjacency_chunk_key(1, 1, INT64_MAX), NULL, 0); // the last chunk is lost
        struct adjacency_list damaged = list_of(1, 1);
        assert_int_equal(adjacency_members(w->adjacency, damaged, &list, &failure), -EBADMSG);
        assert_int_equal(list.count, 0);
        assert_int_equal(whole_page(w, damaged, entries, &count), -EBADMSG);
        adjacency_add(w->adjacency, damaged, 50, ADJACENCY_NONE, 0, w->read);
        adjacency_add(w->adjacency, damaged, 99, ADJACENCY_NONE, 0, w->read);
        assert_int_equal(adjacency_apply(w->adjacency, PARTITION, w->read + 1, w->now, true, &failure), -EBADMSG);
        assert_int_equal(adjacency_next(w->adjacency, PARTITION), w->read);
        assert_int_equal(adjacency_members(w->adjacency, list_of(0, 1), &list, &failure), 0);
        assert_int_equal(list.count, 5);
        if (adjacency_rebuild(w->adjacency, PARTITION, &failure)) fail_msg("%s", failure.text);
        w->read = 0;
        while (w->read < w->log_size) read_some(w, 1000);
        apply(w, true);
        expect_all(w);
    }
    world_free(w);
}

/* How many blocks a page of all members reads, each of whose stamps is of another day or source. */
TEST(test_a_page_reads_little) {
    struct world *w = world_attached(6);
    struct adjacency_entry entries[IDS];
    size_t count;
    members(w, 0, 0, IDS); // built: stamps in the family itself
    assert_int_equal(adjacency_finish(w->adjacency, PARTITION, w->now, &failure), 0);
    for (int id = 0; id < IDS; id += 3)
        adjacency_add(w->adjacency, list_of(0, 0), id, ADJACENCY_MEMBER, w->now + id, w->read + id);
    int code = adjacency_apply(w->adjacency, PARTITION, w->read + IDS, w->now, false, &failure);
    for (int id = 1; id < IDS; id += 3)
        adjacency_add(w->adjacency, list_of(0, 0), id, ADJACENCY_NONE, 0, w->read + IDS + id);
    code |= adjacency_apply(w->adjacency, PARTITION, w->read + 2 * IDS, w->now, false, &failure);
    code |=
        adjacency_compact(w->adjacency, PARTITION, &failure) | store_compact(w->adjacency->store, w->adjacency->stamps);
    assert_int_equal(code, 0);
    struct store_usage before = adjacency_used(w->adjacency).store;
    code = whole_page(w, list_of(0, 0), entries, &count);
    struct store_usage after = adjacency_used(w->adjacency).store;
    assert_int_equal(code, 0);
    assert_int_equal(count, IDS - IDS / 3);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(entries[i].stamp, w->now + (entries[i].id % 3 == 0 ? entries[i].id : 0));
    uint64_t blocks = after.cache_hits - before.cache_hits + after.cache_misses - before.cache_misses;
    assert_true(blocks > 0 && blocks < 60); // look-ups, one for each member and day, would be thousands
    world_free(w);
}

/* Tests posts.c, posts_read.c, posts_records.c and posts_texts.c. Posts and their texts through random histories: records are taken in
 * lots of any size, some of them twice; stores are closed with records that were not written, reset, and opened again. Every door is
 * compared with a table. And damaged stores. */
#include "feed/posts.h"
#include "ids/ids.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, AUTHORS = 4, KEYS = 5, TOPIC_MAX = 1500, POSTS_MAX = 600, HISTORIES = 10, STEPS = 130 };
enum what { MARKER, TOMBSTONE, LIVE, DELETED };

/* A record of either topic; of `posts` key 0 is none. */
struct record {
    int64_t author, id, deleted;
    int key, text;
    enum what what;
};

/* One of the two topics of a partition. Everything before `taken` was taken, before `written` written. */
struct log {
    struct record records[TOPIC_MAX];
    int64_t size, position, taken, written;
};

struct post_row {
    int64_t author, id, deleted;
    int key, text; /* text 0: none */
    enum what what;
};

/* The posts of a partition, by the order in which they were made. */
struct rows {
    struct post_row items[POSTS_MAX];
    size_t count;
};

struct part {
    struct log index, texts;
    struct rows now, stored; /* at the ends of the logs, and as written */
    int64_t tick, clock, read_tick;
    bool attached;
};

struct world {
    uint64_t seed, random;
    char *folder;
    struct store *store;
    struct posts *posts;
    struct part parts[PARTITIONS];
};

static uint64_t chance(struct world *w, uint64_t of) { return hash_u64(w->random++) % of; }

static void done(struct world *w, int code, const struct error *error) {
    if (code < 0) fail_msg("seed %" PRIu64 ": %d %s", w->seed, code, error->text);
}

static int32_t number_of(const struct world *w, const struct part *part) { return (int32_t)(part - w->parts); }

/* Authors are 5, 5 + 256, ..., so that their keys share bytes; the highest is next to the indices' keys. */
static int64_t author_of(uint64_t i) { return i == AUTHORS - 1 ? INT64_MAX : 5 + 256 * (int64_t)i; }

/* A client's key: some are beginnings of others. */
static struct event_text key_of(int key) {
    static const char *const TEXTS[KEYS] = {"", "a", "ab", "a\xff",
                                            "0123456789012345678901234567890123456789012345678901234567890123"};
    return (struct event_text){TEXTS[key], strlen(TEXTS[key])};
}

static size_t text_of(char *text, int number) { return (size_t)sprintf(text, "text %d", number); }

static void open_store(struct world *w) {
    char path[96];
    snprintf(path, sizeof path, "%s/posts", w->folder);
    const struct store_options options = {.cache_bytes = 4 << 20, .memtable_bytes = 4 << 20, .point_lookups = true};
    done(w, store_open(path, &options, &w->store, &failure), &failure);
    w->posts = posts_new(w->store, PARTITIONS, chance(w, 4) ? INT64_C(1) << 50 : 0); // 0: all is old
}

/* ---- what the topics say ---- */

static struct post_row *row_of(struct rows *rows, int64_t author, int64_t id) {
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].id == id && rows->items[i].author == author) return &rows->items[i];
    assert_true(rows->count < POSTS_MAX);
    rows->items[rows->count] = (struct post_row){.author = author, .id = id, .what = TOMBSTONE};
    return &rows->items[rows->count++];
}

static void apply_index(struct rows *rows, const struct record *record) {
    if (record->what == MARKER) return;
    struct post_row *row = row_of(rows, record->author, record->id);
    row->what = record->what;
    row->key = record->what == TOMBSTONE ? 0 : record->key;
    row->deleted = record->what == DELETED ? record->deleted : 0;
}

static void apply_text(struct rows *rows, const struct record *record) {
    if (record->what != MARKER) row_of(rows, record->author, record->id)->text = record->text;
}

static void produce(struct log *log, const struct record *record) {
    assert_true(log->size + 2 < TOPIC_MAX);
    log->records[log->size++] = *record;
}

/* A key that no post of the author has; 0 if there is none. */
static int free_key(struct world *w, struct part *part, int64_t author) {
    int key = (int)chance(w, KEYS);
    for (size_t i = 0; i < part->now.count; i++)
        if (part->now.items[i].author == author && part->now.items[i].key == key) return 0;
    return key;
}

static void command(struct world *w, struct part *part) {
    struct record index = {.what = LIVE}, text = {.what = LIVE};
    uint64_t kind = chance(w, 20);
    if (kind < 9 || !part->now.count) { // a new post
        part->tick += 1 + (int64_t)(chance(w, 2) ? chance(w, 10000) : 0);
        index.author = author_of(chance(w, AUTHORS));
        index.id = ids_make(part->tick, number_of(w, part));
        index.key = free_key(w, part, index.author);
        text.text = 1 + (int)chance(w, 1000);
    } else {
        const struct post_row *row = &part->now.items[chance(w, part->now.count)];
        index.author = row->author;
        index.id = row->id;
        index.key = row->key;
        if (kind < 15) { // deleted, or deleted again
            index.what = DELETED;
            part->clock += (int64_t)chance(w, 3);
            index.deleted = part->clock;
        } else if (kind < 19 || row->what == TOMBSTONE) { // forgotten, or never heard of
            index.what = TOMBSTONE;
        } else { // of the same key or another, whatever it was
            int key = free_key(w, part, index.author);
            if (key) index.key = key;
        }
        text.what = index.what == LIVE ? LIVE : TOMBSTONE;
        text.text = index.what == LIVE ? 1 + (int)chance(w, 1000) : 0;
    }
    text.author = index.author;
    text.id = index.id;
    produce(&part->index, &index);
    produce(&part->texts, &text);
    apply_index(&part->now, &index);
    apply_text(&part->now, &text);
    if (!chance(w, 8)) produce(chance(w, 2) ? &part->index : &part->texts, &(struct record){.what = MARKER});
}

/* ---- what is stored, door by door ---- */

static void expect_row(struct world *w, int32_t p, const struct post_row *row) {
    struct post_found found = {.author = -7};
    FREED_BUFFER text = {.data = NULL}, key = {.data = NULL};
    char wanted[32];
    size_t size = text_of(wanted, row->text);
    done(w, posts_find(w->posts, p, row->id, &found, &failure), &failure);
    CHECK(w, found.found == (row->what != TOMBSTONE));
    if (found.found) {
        CHECK(w, found.author == row->author && found.id == row->id && found.deleted == row->deleted);
        CHECK(w, !found.deleted == (row->what == LIVE));
    }
    int code = posts_client_key(w->posts, p, row->author, row->id, &key, &failure);
    done(w, code, &failure);
    CHECK(w, code == (row->what != TOMBSTONE));
    if (code) {
        struct event_text is = key_of(row->key);
        CHECK(w, key.size == is.size && (!is.size || !memcmp(key.data, is.data, is.size)));
    }
    code = posts_text(w->posts, p, row->author, row->id, &text, &failure);
    done(w, code, &failure);
    CHECK(w, code == (row->text != 0));
    if (code) CHECK(w, text.size == size && !memcmp(text.data, wanted, size));
}

static void expect_keys(struct world *w, int32_t p, const struct rows *rows, int64_t author) {
    for (int key = 0; key < KEYS; key++) {
        const struct post_row *wanted = NULL;
        struct event_text text = key_of(key);
        struct post_found found = {.author = -7};
        for (size_t i = 0; key && i < rows->count; i++)
            if (rows->items[i].author == author && rows->items[i].key == key) wanted = &rows->items[i];
        done(w, posts_find_key(w->posts, p, author, text.data, text.size, &found, &failure), &failure);
        CHECK(w, found.found == (wanted != NULL));
        if (wanted) CHECK(w, found.id == wanted->id && found.author == author && found.deleted == wanted->deleted);
    }
}

static int falling(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* A limit: of any post, or beside it, or of none. */
static int64_t some_limit(struct world *w, const struct rows *rows) {
    static const int64_t ENDS[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    if (!rows->count || !chance(w, 4)) return ENDS[chance(w, ARRAY_SIZE(ENDS))];
    return rows->items[chance(w, rows->count)].id + (int64_t)chance(w, 3) - 1;
}

static void expect_author(struct world *w, int32_t p, const struct rows *rows, int64_t author) {
    int64_t live[POSTS_MAX], got[POSTS_MAX] = {0}, count = -7;
    size_t live_count = 0, in_range = 0, got_count = 99999, max = chance(w, 2) ? chance(w, 4) : POSTS_MAX;
    int64_t above = chance(w, 2) ? 0 : some_limit(w, rows), before = chance(w, 2) ? INT64_MAX : some_limit(w, rows);
    int64_t more = -7;
    size_t pass = POSTS_MAX;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].author == author && rows->items[i].what == LIVE) live[live_count++] = rows->items[i].id;
    if (live_count) qsort(live, live_count, sizeof *live, falling);
    done(w, posts_count(w->posts, p, author, &count, &failure), &failure);
    CHECK(w, count == (int64_t)live_count);
    done(w, posts_of(w->posts, p, author, above, before, false, &pass, got, max, &got_count, &more, &failure),
         &failure);
    for (size_t i = 0; i < live_count; i++) {
        if (live[i] <= above || live[i] >= before) continue;
        if (in_range < max) CHECK(w, in_range < got_count && got[in_range] == live[i]);
        in_range++;
    }
    CHECK(w, got_count == (in_range < max ? in_range : max));
    CHECK(w, !more == (in_range <= max) && (!more || !max || (more > 0 && more <= got[max - 1])));
    expect_keys(w, p, rows, author);
}

static int longest_deleted_first(const void *a, const void *b) {
    const struct post_row *x = a, *y = b;
    if (x->deleted != y->deleted) return x->deleted < y->deleted ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void expect_forgettable(struct world *w, const struct part *part) {
    static struct rows gone;
    struct post_found found[POSTS_MAX];
    size_t count = 99999, max = chance(w, 2) ? 1 + chance(w, 5) : POSTS_MAX, wanted = 0;
    int64_t before = part->clock - (int64_t)chance(w, 20) + 1;
    gone.count = 0;
    for (size_t i = 0; i < part->stored.count; i++)
        if (part->stored.items[i].what == DELETED) gone.items[gone.count++] = part->stored.items[i];
    if (gone.count) qsort(gone.items, gone.count, sizeof *gone.items, longest_deleted_first);
    while (wanted < gone.count && wanted < max && gone.items[wanted].deleted < before) wanted++;
    done(w, posts_forgettable(w->posts, number_of(w, part), before, found, max, &count, &failure), &failure);
    CHECK(w, count == wanted);
    for (size_t i = 0; i < count; i++) {
        const struct post_row *row = &gone.items[i];
        CHECK(w, found[i].found && found[i].id == row->id && found[i].author == row->author &&
                     found[i].deleted == row->deleted);
    }
}

static void expect(struct world *w, struct part *part) {
    int32_t p = number_of(w, part);
    struct post_found found = {.found = true};
    struct buffer none = {.data = NULL};
    CHECK(w, posts_next(w->posts, p, 0) == (part->index.written ? part->index.written : -1));
    CHECK(w, posts_next(w->posts, p, 1) == (part->texts.written ? part->texts.written : -1));
    CHECK(w, posts_last_tick(w->posts, p) == part->read_tick);
    for (size_t i = 0; i < part->stored.count; i++) expect_row(w, p, &part->stored.items[i]);
    for (uint64_t i = 0; i < AUTHORS; i++) expect_author(w, p, &part->stored, author_of(i));
    expect_author(w, p, &part->stored, 0);
    expect_forgettable(w, part);
    done(w, posts_find(w->posts, p, 1, &found, &failure), &failure);
    CHECK(w, !found.found);
    CHECK(w, posts_text(w->posts, p, 5, 1, &none, &failure) == 0 &&
                 posts_client_key(w->posts, p, 5, 1, &none, &failure) == 0);
}

/* ---- what happens to a partition ---- */

static void take_one(struct world *w, struct part *part, bool texts, int64_t offset) {
    const struct log *log = texts ? &part->texts : &part->index;
    const struct record *record = &log->records[offset];
    const struct post post = {.state = record->what == LIVE ? POST_LIVE : POST_DELETED,
                              .key = key_of(record->key),
                              .deleted = record->what == LIVE ? 0 : record->deleted};
    char text[32];
    size_t size = text_of(text, record->text);
    if (record->what == MARKER) return;
    if (texts) {
        posts_take_text(w->posts, number_of(w, part), offset, record->author, record->id,
                        record->what == TOMBSTONE ? NULL : text, size);
        return;
    }
    if (ids_tick_of(record->id) > part->read_tick) part->read_tick = ids_tick_of(record->id);
    posts_take_index(w->posts, number_of(w, part), offset, record->author, record->id,
                     record->what == TOMBSTONE ? NULL : &post);
    if (log->taken <= offset) part->index.taken = offset + 1;
}

static void take_some(struct world *w, struct part *part, bool texts) {
    struct log *log = texts ? &part->texts : &part->index;
    if (!chance(w, 5)) log->position -= (int64_t)chance(w, (uint64_t)log->position + 1); // to carry out effects again
    for (uint64_t count = chance(w, chance(w, 2) ? 10 : 100); count && log->position < log->size; count--) {
        take_one(w, part, texts, log->position);
        if (log->records[log->position].what != MARKER && log->taken <= log->position) log->taken = log->position + 1;
        log->position++;
    }
}

static void write_all(struct world *w) {
    done(w, posts_write(w->posts, &failure), &failure);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        struct part *part = &w->parts[p];
        for (; part->index.written < part->index.taken; part->index.written++)
            apply_index(&part->stored, &part->index.records[part->index.written]);
        for (; part->texts.written < part->texts.taken; part->texts.written++)
            apply_text(&part->stored, &part->texts.records[part->texts.written]);
    }
}

static void forget_taken(struct part *part) {
    part->index.position = part->index.taken = part->index.written;
    part->texts.position = part->texts.taken = part->texts.written;
    part->read_tick = -1;
    for (int64_t i = 0; i < part->index.written; i++) {
        const struct record *record = &part->index.records[i];
        if (record->what != MARKER && ids_tick_of(record->id) > part->read_tick)
            part->read_tick = ids_tick_of(record->id);
    }
}

static void attach(struct world *w, struct part *part) {
    done(w, posts_open(w->posts, number_of(w, part), 0, 0, &failure), &failure);
    int64_t index = posts_next(w->posts, number_of(w, part), 0);
    int64_t texts = posts_next(w->posts, number_of(w, part), 1);
    CHECK(w, index == (part->index.written ? part->index.written : -1));
    CHECK(w, texts == (part->texts.written ? part->texts.written : -1));
    part->attached = true;
}

static void reset(struct world *w, struct part *part) {
    done(w, posts_reset(w->posts, number_of(w, part), 0, &failure), &failure);
    part->index.written = part->texts.written = 0;
    part->stored.count = 0;
    forget_taken(part);
}

/* Some texts become old. Nobody who reads them notices. */
static void cool(struct world *w, struct part *part) {
    int64_t below = ids_make(1000 + (int64_t)chance(w, (uint64_t)(part->tick - 998)), 0);
    int code = posts_cool(w->posts, number_of(w, part), below, 1 + chance(w, 6), &failure);
    done(w, code < 0 ? code : 0, &failure);
    expect(w, part);
}

static void step(struct world *w) {
    struct part *part = &w->parts[chance(w, PARTITIONS)];
    for (uint64_t count = chance(w, 12); count && part->now.count < POSTS_MAX - 1; count--) command(w, part);
    if (!part->attached) {
        attach(w, part);
        expect(w, part);
        return;
    }
    switch (chance(w, 20)) {
    case 0: // dies
        posts_free(w->posts);
        store_close(w->store);
        open_store(w);
        for (int32_t p = 0; p < PARTITIONS; p++) {
            w->parts[p].attached = false;
            forget_taken(&w->parts[p]);
        }
        break;
    case 1:
        posts_close(w->posts, number_of(w, part));
        part->attached = false;
        forget_taken(part);
        break;
    case 2:
        if (!chance(w, 3)) reset(w, part);
        break;
    case 8:
    case 9: cool(w, part); break;
    case 3: attach(w, part); break; // again: what was taken stays so
    case 4:
    case 5:
    case 6:
    case 7:
        take_some(w, part, chance(w, 2));
        expect(w, part); // only what was written shows
        break;
    default:
        take_some(w, part, false);
        take_some(w, part, true);
        if (chance(w, 2)) take_some(w, part, false);
        write_all(w);
        expect(w, part);
    }
}

static struct world *world_new(uint64_t seed) {
    struct world *w = mem_zero(1, sizeof *w);
    *w = (struct world){.seed = seed, .random = seed << 32, .folder = kit_folder()};
    for (int32_t p = 0; p < PARTITIONS; p++) {
        w->parts[p].read_tick = -1;
        w->parts[p].tick = w->parts[p].clock = 1000;
    }
    open_store(w);
    return w;
}

static void world_free(struct world *w) {
    posts_free(w->posts);
    store_close(w->store);
    kit_remove(w->folder);
    free(w);
}

TEST(histories) {
    for (uint64_t seed = 0; seed < kit_histories(HISTORIES); seed++) {
        struct world *w = world_new(seed);
        for (int i = 0; i < STEPS; i++) step(w);
        for (int32_t p = 0; p < PARTITIONS; p++) { // and to the end
            struct part *part = &w->parts[p];
            if (!part->attached) attach(w, part);
            while (part->index.position < part->index.size) take_some(w, part, false);
            while (part->texts.position < part->texts.size) take_some(w, part, true);
        }
        write_all(w);
        for (int32_t p = 0; p < PARTITIONS; p++) expect(w, &w->parts[p]);
        world_free(w);
    }
}

/* ---- by hand ---- */

static void take_post(struct world *w, int64_t offset, int64_t author, int64_t id, enum post_state state,
                      int64_t deleted, const char *key) {
    const struct post post = {.state = state, .key = {key, strlen(key)}, .deleted = deleted};
    posts_take_index(w->posts, 0, offset, author, id, &post);
}

static struct world *world_of_one(void) {
    struct world *w = world_new(0);
    attach(w, &w->parts[0]);
    return w;
}

static size_t texts_in(struct world *w, const char *name) {
    struct store_family *family;
    size_t size, count = 0;
    done(w, store_family(w->store, name, &family, &failure), &failure);
    struct store_cursor *cursor = store_cursor_new(w->store, family);
    for (store_cursor_seek(cursor, "", 0); store_cursor_valid(cursor); store_cursor_next(cursor)) {
        store_cursor_key(cursor, &size);
        count += size == POST_KEY_SIZE;
    }
    store_cursor_free(cursor);
    return count;
}

/* Each step moves a few, a restart goes on behind the last one, and a deletion finds a text where it is. */
TEST(old_texts_are_moved) {
    enum { TEXTS = 25, OLD = 15, STEP = 4 };
    struct world *w = world_of_one();
    FREED_BUFFER text = {.size = 0};
    int steps = 0;
    posts_free(w->posts);
    w->posts = posts_new(w->store, PARTITIONS, INT64_C(1) << 50);
    done(w, posts_open(w->posts, 0, 0, 0, &failure), &failure);
    for (int64_t i = 0; i < TEXTS; i++) {
        take_post(w, i, i % 3, 1000 + i, POST_LIVE, 0, "");
        posts_take_text(w->posts, 0, i, i % 3, 1000 + i, "text", 4);
    }
    done(w, posts_write(w->posts, &failure), &failure);
    assert_int_equal(posts_cool(w->posts, 0, 1000, STEP, &failure), 0);
    assert_int_equal(texts_in(w, "texts-0"), TEXTS);
    while (posts_cool(w->posts, 0, 1000 + OLD, STEP, &failure) == 1) {
        assert_int_equal(texts_in(w, "cold-texts-0"), ++steps * STEP);
        posts_close(w->posts, 0);
        done(w, posts_open(w->posts, 0, 0, 0, &failure), &failure);
    }
    assert_int_equal(steps, OLD / STEP);
    assert_int_equal(texts_in(w, "cold-texts-0"), OLD);
    assert_int_equal(texts_in(w, "texts-0"), TEXTS - OLD);
    for (int64_t i = 0; i < TEXTS; i++) {
        assert_int_equal(posts_text(w->posts, 0, i % 3, 1000 + i, &text, &failure), 1);
        assert_int_equal(text.size, 4);
    }
    for (int64_t i = 0; i < TEXTS; i++) posts_take_text(w->posts, 0, TEXTS + i, i % 3, 1000 + i, NULL, 0);
    done(w, posts_write(w->posts, &failure), &failure);
    assert_int_equal(texts_in(w, "cold-texts-0") + texts_in(w, "texts-0"), 0);
    world_free(w);
}

/* A tombstone frees the key for a new post within one write, whichever of the two comes first in the store's order. */
TEST(a_key_goes_over_to_a_new_post) {
    enum { BETWEEN = 100 }; // posts, so that the two are read from the store at different times
    struct world *w = world_of_one();
    struct post_found found;
    int64_t offset = 0, count;
    take_post(w, offset++, 5, 1000, POST_LIVE, 0, "k");
    done(w, posts_write(w->posts, &failure), &failure);
    posts_take_index(w->posts, 0, offset++, 5, 1000, NULL);
    for (int64_t i = 0; i < BETWEEN; i++) take_post(w, offset++, 5, 1001 + i, POST_LIVE, 0, "");
    take_post(w, offset++, 5, 2000, POST_LIVE, 0, "k");
    done(w, posts_write(w->posts, &failure), &failure);
    done(w, posts_find_key(w->posts, 0, 5, "k", 1, &found, &failure), &failure);
    assert_true(found.found && found.id == 2000);
    done(w, posts_count(w->posts, 0, 5, &count, &failure), &failure);
    assert_int_equal(count, BETWEEN + 1);
    world_free(w);
}

/* Compaction leaves a tombstone of the partition's highest id, for a while. */
TEST(a_tombstone_counts_for_the_highest_tick) {
    struct world *w = world_of_one();
    take_post(w, 0, 5, ids_make(2000, 0), POST_LIVE, 0, "");
    posts_take_index(w->posts, 0, 1, 5, ids_make(3000, 0), NULL);
    posts_take_index(w->posts, 0, 2, 5, ids_make(2500, 0), NULL);
    assert_int_equal(posts_last_tick(w->posts, 0), 3000);
    done(w, posts_write(w->posts, &failure), &failure);
    posts_free(w->posts);
    store_close(w->store);
    open_store(w);
    w->parts[0].index.written = 3;
    attach(w, &w->parts[0]);
    assert_int_equal(posts_last_tick(w->posts, 0), 3000);
    world_free(w);
}

/* deleted 0 means live to those who ask: a deleted post without a time shows some. */
TEST(a_deleted_post_without_a_time_is_deleted) {
    struct world *w = world_of_one();
    struct post_found found;
    take_post(w, 0, 5, 1000, POST_DELETED, 0, "");
    take_post(w, 1, 5, 1001, POST_LIVE, 77, "");
    done(w, posts_write(w->posts, &failure), &failure);
    done(w, posts_find(w->posts, 0, 1000, &found, &failure), &failure);
    assert_true(found.found && found.deleted > 0);
    done(w, posts_find(w->posts, 0, 1001, &found, &failure), &failure);
    assert_true(found.found && !found.deleted);
    world_free(w);
}

TEST(moderators_hide_a_post_and_show_it_again) {
    struct world *w = world_of_one();
    static const struct post STATES[] = {{.state = POST_LIVE, .key = {"k", 1}},
                                         {.state = POST_HIDDEN, .key = {"k", 1}, .moderated = 1},
                                         {.state = POST_LIVE, .key = {"k", 1}, .moderated = 2},
                                         {.state = POST_HIDDEN, .key = {"k", 1}, .moderated = 3},
                                         {.state = POST_HELD, .key = {"k", 1}, .moderated = 4},
                                         {.state = POST_DELETED, .key = {"k", 1}, .deleted = 9, .moderated = 5}};
    int64_t ids[2], count, more;
    size_t listed;
    for (size_t i = 0; i < ARRAY_SIZE(STATES); i++) {
        const struct post *post = &STATES[i];
        struct post_found found;
        bool shown = post->state == POST_LIVE, hidden = !shown;
        posts_take_index(w->posts, 0, (int64_t)i, 5, 77, post);
        assert_int_equal(posts_write(w->posts, &failure), 0);
        assert_int_equal(posts_find_key(w->posts, 0, 5, "k", 1, &found, &failure), 0);
        assert_true(found.found && found.hidden == hidden && post_is_shown(&found) == shown);
        assert_int_equal(found.held, post->state == POST_HELD);
        assert_int_equal(found.deleted, post->deleted);
        if (!found.deleted) assert_int_equal(found.moderated, post->moderated);
        assert_int_equal(posts_count(w->posts, 0, 5, &count, &failure), 0);
        assert_int_equal(count, shown);
        for (int also = 0; also <= 1; also++) {
            size_t pass = 1;
            assert_int_equal(posts_of(w->posts, 0, 5, 0, INT64_MAX, also, &pass, ids, 2, &listed, &more, &failure), 0);
            assert_int_equal(pass, listed);
            assert_int_equal(listed, shown || (also && !post->deleted));
        }
    }
    world_free(w);
}

TEST(a_list_passes_over_no_more_posts_than_it_may) {
    struct world *w = world_of_one();
    int64_t ids[2], more, before = INT64_MAX;
    size_t listed, pass;
    for (int64_t id = 1; id <= 9; id++) {
        const struct post post = {.state = id % 4 == 1 ? POST_LIVE : id % 4 ? POST_HELD : POST_HIDDEN, .moderated = 1};
        posts_take_index(w->posts, 0, id, 5, id, &post);
    }
    assert_int_equal(posts_write(w->posts, &failure), 0);
    static const struct {
        size_t pass, max, listed, left;
        int64_t newest, more;
    } LISTS[] = {{0, 2, 1, 0, 9, 9}, {2, 2, 0, 0, 0, 7}, {2, 1, 1, 0, 5, 4}, {1, 1, 0, 0, 0, 3}, {2, 1, 1, 1, 1, 0}};
    for (size_t i = 0; i < ARRAY_SIZE(LISTS); i++, before = more) {
        pass = LISTS[i].pass;
        assert_int_equal(posts_of(w->posts, 0, 5, 0, before, false, &pass, ids, LISTS[i].max, &listed, &more, &failure),
                         0);
        assert_int_equal(listed, LISTS[i].listed);
        if (listed) assert_int_equal(ids[0], LISTS[i].newest);
        assert_int_equal(pass, LISTS[i].left);
        assert_int_equal(more, LISTS[i].more);
    }
    pass = 3;
    assert_int_equal(posts_of(w->posts, 0, 5, 0, INT64_MAX, true, &pass, ids, 2, &listed, &more, &failure), 0);
    assert_true(listed == 2 && ids[1] == 8 && pass == 3 && more == 8);
    world_free(w);
}

TEST(only_attached_partitions_are_read) {
    struct world *w = world_of_one();
    struct post_found found;
    struct buffer text = {.data = NULL};
    int64_t count, ids[1], more;
    size_t listed, pass = 0;
    const struct post post = {.state = POST_LIVE};
    assert_fails(posts_find(w->posts, 1, 5, &found, &failure), -ESTALE, "partition 1");
    assert_int_equal(posts_find_key(w->posts, 1, 5, "k", 1, &found, &failure), -ESTALE);
    assert_int_equal(posts_client_key(w->posts, 1, 5, 5, &text, &failure), -ESTALE);
    assert_int_equal(posts_count(w->posts, 1, 5, &count, &failure), -ESTALE);
    assert_int_equal(posts_of(w->posts, 1, 5, 0, INT64_MAX, false, &pass, ids, 1, &listed, &more, &failure), -ESTALE);
    assert_int_equal(posts_text(w->posts, 1, 5, 5, &text, &failure), -ESTALE);
    assert_int_equal(posts_forgettable(w->posts, 1, 5, &found, 1, &listed, &failure), -ESTALE);
    assert_int_equal(posts_next(w->posts, 1, 0), -1);
    assert_int_equal(posts_next(w->posts, 1, 1), -1);
    assert_int_equal(posts_last_tick(w->posts, 1), -1);
    posts_take_index(w->posts, 1, 0, 5, 5, &post); // of nobody
    posts_take_text(w->posts, 1, 0, 5, 5, "x", 1);
    assert_int_equal(posts_write(w->posts, &failure), 0);
    world_free(w);
}

static bool has_former(struct world *w, int64_t version, const char *wanted) {
    FREED_BUFFER text = {.data = NULL};
    struct error error;
    int code = posts_former(w->posts, 0, 5, 1000, version, &text, &error);
    done(w, code, &error);
    return code == 1 && text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

TEST(former_texts_lie_beside_the_newest) {
    struct world *w = world_of_one();
    FREED_BUFFER text = {.data = NULL};
    struct error error;
    posts_take_text(w->posts, 0, 0, 5, 1000, "one", 3);
    posts_take_former(w->posts, 0, 1, 5, 1000, 1, "one", 3);
    posts_take_text(w->posts, 0, 2, 5, 1000, "two!", 4);
    posts_take_former(w->posts, 0, 3, 5, 1000, 2, "two!", 4);
    posts_take_text(w->posts, 0, 4, 5, 1000, "three", 5);
    done(w, posts_write(w->posts, &error), &error);
    assert_int_equal(posts_text(w->posts, 0, 5, 1000, &text, &error), 1);
    assert_memory_equal(text.data, "three", 5);
    assert_true(has_former(w, 1, "one") && has_former(w, 2, "two!") && !has_former(w, 3, "three"));
    // They stay where they are when the newest one is cold, and go by their own tombstones.
    take_post(w, 0, 5, 1000, POST_LIVE, 0, "k");
    done(w, posts_write(w->posts, &error), &error);
    done(w, posts_cool(w->posts, 0, 2000, 10, &error), &error);
    assert_true(has_former(w, 1, "one") && has_former(w, 2, "two!"));
    posts_take_former(w->posts, 0, 5, 5, 1000, 1, NULL, 0);
    posts_take_text(w->posts, 0, 6, 5, 1000, NULL, 0);
    done(w, posts_write(w->posts, &error), &error);
    assert_true(!has_former(w, 1, "one") && has_former(w, 2, "two!"));
    assert_int_equal(posts_text(w->posts, 0, 5, 1000, &text, &error), 0);
    world_free(w);
}

/* A damaged value is refused; a write that fails leaves the offset where it was, and nothing half done. */
TEST(damage_is_found) {
    static const struct {
        uint8_t key[24];
        size_t key_size, value_size;
        uint8_t value[8];
    } DAMAGE[] = {
        {{[7] = 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc, 0x17}, 16, 0, {0}},    // post 1000: nothing
        {{[7] = 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc, 0x17}, 16, 1, {2}},    // another state
        {{[7] = 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc, 0x17}, 16, 1, {1}},    // no time
        {{[7] = 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc, 0x17}, 16, 2, {1, 1}}, // a time of -1
        {{0x84, [8] = 5}, 9, 3, {1, 2, 3}},                                         // the count
    };
    for (size_t i = 0; i < ARRAY_SIZE(DAMAGE); i++) {
        struct world *w = world_of_one();
        struct store_batch *batch = store_batch_new();
        struct store_family *family;
        struct post_found found = {.author = -7};
        struct error error = {.text = ""};
        int64_t count = -7;
        take_post(w, 0, 5, 1000, POST_LIVE, 0, "k");
        done(w, posts_write(w->posts, &error), &error);
        done(w, store_family(w->store, "posts-0", &family, &error), &error);
        store_batch_put(batch, family, DAMAGE[i].key, DAMAGE[i].key_size, DAMAGE[i].value, DAMAGE[i].value_size);
        done(w, store_write(w->store, batch, false, &error), &error);
        store_batch_free(batch);
        bool of_count = DAMAGE[i].key_size == 9;
        if (of_count)
            assert_int_equal(posts_count(w->posts, 0, 5, &count, &error), -EBADMSG);
        else
            assert_int_equal(posts_find(w->posts, 0, 1000, &found, &error), -EBADMSG);
        assert_true(count == -7 && found.author == -7 && error.text[0]);
        if (!of_count) assert_int_equal(posts_find_key(w->posts, 0, 5, "k", 1, &found, &error), -EBADMSG);
        take_post(w, 1, 6, 1001, POST_LIVE, 0, ""); // of somebody else, and lost with the others
        take_post(w, 2, 5, 1000, POST_DELETED, 9, "k");
        assert_int_equal(posts_write(w->posts, &error), -EBADMSG);
        assert_int_equal(posts_next(w->posts, 0, 0), 1);
        done(w, posts_count(w->posts, 0, 6, &count, &error), &error);
        assert_int_equal(count, 0);
        take_post(w, 1, 6, 1001, POST_LIVE, 0, ""); // taken once more
        done(w, posts_write(w->posts, &error), &error);
        done(w, posts_count(w->posts, 0, 6, &count, &error), &error);
        assert_int_equal(count, 1);
        done(w, posts_reset(w->posts, 0, 0, &error), &error); // which mends it
        done(w, posts_open(w->posts, 0, 0, 0, &error), &error);
        assert_true(posts_next(w->posts, 0, 0) == -1 && posts_next(w->posts, 0, 1) == -1);
        take_post(w, 0, 5, 1000, POST_LIVE, 0, "k");
        done(w, posts_write(w->posts, &error), &error);
        done(w, posts_find(w->posts, 0, 1000, &found, &error), &error);
        assert_true(found.found);
        world_free(w);
    }
}

TEST(keys_come_back) {
    uint8_t key[POST_KEY_SIZE];
    int64_t author = -7, id = -7;
    static const uint8_t EXPECTED[] = {0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 1, 2};
    post_key_write(key, 5, 258);
    assert_memory_equal(key, EXPECTED, sizeof key);
    assert_true(post_key_read(key, sizeof key, &author, &id));
    assert_true(author == 5 && id == 258);
    assert_false(post_key_read(key, 15, &author, &id));
    assert_false(post_key_read(key, 17, &author, &id));
    post_key_write(key, INT64_MAX, INT64_MAX);
    assert_true(post_key_read(key, sizeof key, &author, &id));
    assert_true(author == INT64_MAX && id == INT64_MAX);
    static const int64_t WRONG[][2] = {{-1, 5}, {5, -1}, {5, 0}, {INT64_MIN, 5}};
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        post_key_write(key, WRONG[i][0], WRONG[i][1]);
        assert_false(post_key_read(key, sizeof key, &author, &id));
    }
}

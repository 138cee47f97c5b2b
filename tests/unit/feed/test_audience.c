/* Tests audience.c and visibility.c. Who may see an author's posts, on the real stores, against brute force: random follows, requests, blocks and changes of visibility. */
#include "base/chance.h"
#include "base/bytes.h"
#include "feed/audience.h"
#include "unit/feed/relation_steps.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, USERS = 6, STEPS = 3000, BLOCKS = 12000, NEW = 100 };

struct world {
    char *folder;
    struct store *store;
    struct audience audience;
    struct chance chance;
    int64_t offset;
    bool follows[USERS][USERS], blocked[USERS][USERS], for_followers[USERS]; /* author, reader */
    struct id_list but, scratch;
};

static int32_t home_of(int64_t user) { return hash_user_partition(user, PARTITIONS); }

static void lists_failed(void *context, int32_t partition, int code, const struct error *error) {
    fail_msg("%s", error->text);
}

static const char *no_take(void *context, struct table_store *table, const struct kafka_record *record,
                           struct error *error) {
    return NULL;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    int64_t from;
    w->folder = kit_folder();
    w->chance.state = 5;
    FREED char *lists = mem_format("%s/lists", w->folder);
    FREED char *rows = mem_format("%s/rows", w->folder);
    assert_int_equal(store_open(rows, &(struct store_options){.memory_bytes = 0}, &w->store, &failure), 0);
    w->audience = (struct audience){.store = w->store,
                                    .blocks = blocks_new(w->store, PARTITIONS, no_take, NULL),
                                    .visibility = visibility_store_new(w->store, PARTITIONS)};
    assert_int_equal(relation_lists_open(&(struct relation_lists_options){.path = lists,
                                                                          .partitions = PARTITIONS,
                                                                          .memory_bytes = 8 << 20,
                                                                          .max_age_ms = INT64_C(1) << 50,
                                                                          .failed = lists_failed},
                                         &w->audience.relations, &failure),
                     0);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        assert_int_equal(table_store_open(w->audience.blocks, p, 0, 0, &failure), 0);
        assert_int_equal(table_store_open(visibility_table(w->audience.visibility), p, 0, 0, &failure), 0);
        assert_int_equal(relation_lists_attach(w->audience.relations, p, 0, &from, &failure), 0);
        assert_int_equal(relation_lists_finish(w->audience.relations, p, 0, &failure), 0);
    }
    return w;
}

TEAR_DOWN(struct world *w) {
    relation_lists_close(w->audience.relations);
    table_store_free(w->audience.blocks);
    visibility_store_free(w->audience.visibility);
    store_close(w->store);
    id_list_free(&w->but);
    id_list_free(&w->scratch);
}

/* ---- records ---- */

static void half(struct world *w, int64_t user, int64_t other, enum relation relation, bool set) {
    const struct relation_half half = {user, other, relation};
    relation_lists_take(w->audience.relations, home_of(user), w->offset++, 0, &half, set);
    assert_int_equal(relation_lists_apply(w->audience.relations, home_of(user), w->offset, 0, false, &failure), 0);
}

static void block(struct world *w, int64_t user, int64_t other, bool set) {
    blocks_take(w->audience.blocks, home_of(user), w->offset++, user, other, set);
    assert_int_equal(table_store_write(w->audience.blocks, &failure), 0);
}

/* The complaint of the store about a record of the topic. */
static const char *see(struct world *w, int32_t partition, const void *key, size_t key_size, const void *value,
                       size_t size) {
    struct table_store *table = visibility_table(w->audience.visibility);
    const char *reason = NULL;
    const struct kafka_record record = {.partition = partition,
                                        .offset = w->offset++,
                                        .key = key,
                                        .key_size = key_size,
                                        .value = value,
                                        .value_size = size};
    assert_int_equal(TABLE_STORE_KIND.take(table, 0, &record, &reason, &failure), 0);
    assert_int_equal(table_store_write(table, &failure), 0);
    return reason;
}

static void visibility(struct world *w, int64_t author, bool for_followers) {
    uint8_t key[VISIBILITY_KEY_SIZE];
    FREED_BUFFER value = {.size = 0};
    bytes_put_be64(key, (uint64_t)author);
    event_encode_visibility(&value, &(struct visibility){.posts = VISIBILITY_FOLLOWERS, .since = 5});
    assert_null(see(w, home_of(author), key, sizeof key, for_followers ? value.data : NULL, value.size));
}

static void step(struct world *w) {
    int64_t author = chance_next(&w->chance) % USERS, reader = chance_next(&w->chance) % USERS;
    bool set = chance_next(&w->chance) % 2;
    if (author == reader) return;
    switch (chance_next(&w->chance) % 4) {
    case 0:
        half(w, author, reader, RELATION_FOLLOWER, set);
        half(w, reader, author, RELATION_FOLLOWING, set);
        w->follows[author][reader] = set;
        break;
    case 1: // a request, or a mute, is no follow
        half(w, author, reader, RELATION_REQUESTED, set);
        half(w, reader, author, RELATION_REQUESTING, set);
        half(w, author, reader, RELATION_MUTED, set);
        break;
    case 2:
        block(w, author, reader, set);
        w->blocked[author][reader] = set;
        break;
    default: visibility(w, author, set); w->for_followers[author] = set;
    }
}

/* ---- brute force ---- */

static void check(struct world *w, int64_t author, int64_t reader) {
    bool may, open, expected = false;
    size_t at;
    if (author == reader)
        expected = true;
    else if (!w->blocked[author][reader])
        expected = !w->for_followers[author] || w->follows[author][reader];
    assert_int_equal(audience_may_see(&w->audience, home_of(author), author, reader, &may, &failure), 0);
    assert_int_equal(may, expected);
    assert_int_equal(audience_is_open(&w->audience, home_of(author), author, &open, &w->but, &failure), 0);
    assert_int_equal(open, !w->for_followers[author]);
    if (open && author != reader) assert_int_equal(id_list_find(&w->but, reader, &at), w->blocked[author][reader]);
}

TEST(it_is_what_brute_force_says, struct world *w) {
    for (int i = 0; i < STEPS; i++) {
        step(w);
        check(w, chance_next(&w->chance) % USERS, chance_next(&w->chance) % USERS);
    }
    for (int64_t author = 0; author < USERS; author++)
        for (int64_t reader = 0; reader < USERS; reader++) check(w, author, reader);
}

TEST(records_that_are_none, struct world *w) {
    static const uint8_t KEY[VISIBILITY_KEY_SIZE] = {0, 0, 0, 0, 0, 0, 0, 1}, NEGATIVE[VISIBILITY_KEY_SIZE] = {0xff};
    int32_t home = home_of(1);
    assert_string_equal(see(w, home, NULL, 0, NULL, 0), "the key must be a user");
    assert_string_equal(see(w, home, KEY, 7, NULL, 0), "the key must be a user");
    assert_string_equal(see(w, home, NEGATIVE, 8, NULL, 0), "the key must be a user");
    assert_string_equal(see(w, (home + 1) % PARTITIONS, KEY, 8, NULL, 0), "not in the partition of its author");
    assert_non_null(see(w, home, KEY, 8, "no value", 8));
    assert_null(see(w, home, KEY, 8, NULL, 0));
}

/* With very many blocks readers are asked about one by one. */
TEST(blocks_have_a_bound, struct world *w) {
    int32_t home = home_of(1);
    struct id_list ids = {.count = 0};
    bool open, may;
    visibility(w, 1, false);
    for (int64_t other = 0; other < BLOCKS; other++)
        blocks_take(w->audience.blocks, home, w->offset++, 1, NEW + 2 * other, true);
    assert_int_equal(table_store_write(w->audience.blocks, &failure), 0);
    assert_int_equal(audience_is_open(&w->audience, home, 1, &open, &w->but, &failure), 0);
    assert_false(open);
    for (int64_t other = BLOCKS - 5; other < BLOCKS; other++) {
        for (int64_t odd = 0; odd < 2; odd++) {
            int64_t reader = NEW + 2 * other + odd;
            id_list_reserve(&ids, ids.count + 1);
            ids.items[ids.count++] = reader;
            assert_int_equal(audience_may_see(&w->audience, home, 1, reader, &may, &failure), 0);
            assert_int_equal(may, odd);
        }
    }
    assert_int_equal(blocks_leave_out(w->store, w->audience.blocks, home, 1, &ids, &w->scratch, &failure), 0);
    assert_int_equal(ids.count, 5);
    for (size_t i = 0; i < ids.count; i++) assert_int_equal(ids.items[i] % 2, (NEW + 1) % 2);
    id_list_free(&ids);
}

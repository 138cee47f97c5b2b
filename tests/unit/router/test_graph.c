/* Friend lists on disk: random records against a table in memory, restarts, age, paging, the cap's excess and its hold. */
#include "adjacency/private.h"
#include "router/graph_private.h"
#include "unit/kit/kit.h"

enum { USERS = 12, CAP = 8, PARTITION = 1, DAY_MS = 86400000 };

struct heard {
    int64_t user, other;
    bool made;
};

struct world {
    char *folder;
    struct graph *graph;
    struct heard changes[4096];
    size_t change_count;
    struct {
        int64_t user, other, since, offset;
    } excess[256];
    size_t excess_count;
    size_t damaged; /* how often a damaged list was told */
};

static void damaged(void *context, int32_t partition, const struct error *error) {
    struct world *w = context;
    assert_int_equal(partition, PARTITION);
    assert_non_null(strstr(error->text, "damaged"));
    w->damaged++;
}

static void changed(void *context, const struct graph_change *change) {
    struct world *w = context;
    assert_true(w->change_count < ARRAY_SIZE(w->changes));
    w->changes[w->change_count++] = (struct heard){change->user, change->other, change->made};
}

static void exceeded(void *context, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset) {
    struct world *w = context;
    assert_int_equal(partition, PARTITION);
    assert_true(w->excess_count < ARRAY_SIZE(w->excess));
    w->excess[w->excess_count].user = user;
    w->excess[w->excess_count].other = other;
    w->excess[w->excess_count].since = since;
    w->excess[w->excess_count++].offset = offset;
}

static void open_graph(struct world *w, int32_t partitions) {
    char path[80];
    snprintf(path, sizeof path, "%s/friends", w->folder);
    struct graph_options options = {.path = path,
                                    .partitions = partitions,
                                    .cap = CAP,
                                    .max_age_ms = DAY_MS * 3,
                                    .memory_bytes = 4 << 20,
                                    .context = w,
                                    .on_change = changed,
                                    .on_excess = exceeded,
                                    .on_damaged = damaged};
    if (graph_open(&options, &w->graph, &failure)) fail_msg("%s", failure.text);
}

static int64_t attach(struct world *w, int64_t now_ms) {
    int64_t from;
    if (adjacency_attach(graph_lists(w->graph), PARTITION, now_ms, &from, &failure)) fail_msg("%s", failure.text);
    return from;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->folder = kit_folder();
    open_graph(w, 4);
    assert_int_equal(attach(w, clock_wall_ms()), GRAPH_FROM_BEGINNING);
    return w;
}

TEAR_DOWN(struct world *w) { graph_close(w->graph); }

static struct friendship half(enum friendship_state state, bool by_me, bool by_them, int64_t since) {
    return (struct friendship){.state = state, .blocked_by_me = by_me, .blocked_by_them = by_them, .since = since};
}

static void add(struct world *w, int64_t offset, int64_t user, int64_t other, struct friendship h) {
    graph_add(w->graph, PARTITION, offset, user, other, &h);
}

static void apply(struct world *w, int64_t next, bool restoring) {
    if (adjacency_apply(graph_lists(w->graph), PARTITION, next, clock_wall_ms(), restoring, &failure))
        fail_msg("%s", failure.text);
}

static void expect_half(struct world *w, int64_t user, int64_t other, struct friendship wanted, size_t friends) {
    struct friendship got;
    size_t count;
    assert_int_equal(graph_half(w->graph, PARTITION, user, other, &got, &count, &failure), 0);
    if (!friendship_equal(&got, &wanted))
        fail_msg("%lld, %lld: state %d blocked %d %d since %lld, not state %d blocked %d %d since %lld",
                 (long long)user, (long long)other, (int)got.state, got.blocked_by_me, got.blocked_by_them,
                 (long long)got.since, (int)wanted.state, wanted.blocked_by_me, wanted.blocked_by_them,
                 (long long)wanted.since);
    assert_int_equal(count, friends);
}

TEST(test_lists_against_a_table, struct world *w) {
    static struct friendship table[USERS][USERS], told[USERS][USERS];
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    uint64_t random = 7;
    int64_t offset = 0, now = clock_wall_ms();
    memset(table, 0, sizeof table);
    memset(told, 0, sizeof told);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 20; i++) {
            uint64_t r = hash_u64(random++);
            int a = (int)(r % USERS), b = (int)(r >> 8) % USERS;
            if (b < 0 || a == b || (a + b) % 3 == 0) continue; // no user comes beyond the cap
            struct friendship h =
                half((enum friendship_state)(r >> 20 & 3), !(r >> 24 & 7), !(r >> 28 & 7), now + round);
            if (friendship_empty(&h)) h.since = 0;
            table[a][b] = h;
            add(w, offset++, a, b, h);
        }
        w->change_count = 0;
        apply(w, offset, false);
        if (round % 50 == 49) {
            graph_close(w->graph);
            open_graph(w, 4);
            assert_int_equal(attach(w, now), offset);
        }
        for (size_t i = 0; i < w->change_count; i++) {
            const struct heard *c = &w->changes[i];
            struct friendship *t = &told[c->user][c->other];
            assert_int_not_equal(friendship_made(t), c->made);
            *t = table[c->user][c->other];
        }
        for (int a = 0; a < USERS; a++) {
            size_t count = 0;
            assert_int_equal(graph_friends(w->graph, PARTITION, a, &list, &failure), 0);
            for (int b = 0; b < USERS; b++) {
                assert_int_equal(friendship_made(&told[a][b]), friendship_made(&table[a][b]));
                if (!friendship_made(&table[a][b])) continue;
                assert_true(count < list.count);
                assert_int_equal(list.items[count++], b);
            }
            assert_int_equal(count, list.count);
            size_t others = 0;
            for (int b = 0; b < USERS; b++) others += !friendship_made(&table[a][b]) && !friendship_empty(&table[a][b]);
            assert_int_equal(others, list.others);
            for (int b = 0; b < USERS; b++)
                if (a != b) expect_half(w, a, b, table[a][b], count);
        }
    }
}

TEST(test_large_ids, struct world *w) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    const int64_t ids[] = {0, 1, 127, 128, 1 << 20, INT64_C(1) << 40, INT64_MAX - 1, INT64_MAX};
    for (size_t i = ARRAY_SIZE(ids); i-- > 0;) add(w, (int64_t)i, 5, ids[i], half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 20, false);
    assert_int_equal(graph_friends(w->graph, PARTITION, 5, &list, &failure), 0);
    assert_int_equal(list.count, ARRAY_SIZE(ids));
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) assert_true(list.items[i] == ids[i]);
}

TEST(test_the_last_record_of_a_batch_counts, struct world *w) {
    apply(w, 0, false); // nothing is queued: only the offset is written
    assert_int_equal(adjacency_next(graph_lists(w->graph), PARTITION), 0);
    add(w, 0, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 1));
    add(w, 1, 5, 6, half(FRIENDSHIP_NONE, false, false, 0));
    add(w, 2, 5, 7, half(FRIENDSHIP_NONE, false, false, 0));
    add(w, 3, 5, 7, half(FRIENDSHIP_FRIENDS, false, false, 9));
    apply(w, 4, false);
    expect_half(w, 5, 6, half(FRIENDSHIP_NONE, false, false, 0), 1);
    expect_half(w, 5, 7, half(FRIENDSHIP_FRIENDS, false, false, 9), 1);
    assert_int_equal(w->change_count, 1);
    add(w, 4, 5, 7, half(FRIENDSHIP_NONE, false, false, 0));
    apply(w, 5, true); // restoring: nobody is told
    assert_int_equal(w->change_count, 1);
    expect_half(w, 5, 7, half(FRIENDSHIP_NONE, false, false, 0), 0);
}

TEST(test_an_old_store_is_dropped, struct world *w) {
    int64_t now = clock_wall_ms();
    add(w, 0, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 1, false);
    adjacency_detach(graph_lists(w->graph), PARTITION);
    assert_int_equal(attach(w, now + 2 * DAY_MS), 1);
    assert_int_equal(adjacency_touch(graph_lists(w->graph), PARTITION, now + 2 * DAY_MS, &failure),
                     0); // up to date then
    adjacency_detach(graph_lists(w->graph), PARTITION);
    assert_int_equal(attach(w, now + 4 * DAY_MS), 1);
    expect_half(w, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 0), 1); // `since` is dropped after a day
    adjacency_detach(graph_lists(w->graph), PARTITION);
    assert_int_equal(attach(w, now + 6 * DAY_MS), GRAPH_FROM_BEGINNING);
    expect_half(w, 5, 6, half(FRIENDSHIP_NONE, false, false, 0), 0);
}

TEST(test_another_number_of_partitions_is_another_store, struct world *w) {
    add(w, 0, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 1, false);
    graph_close(w->graph);
    open_graph(w, 8);
    assert_int_equal(attach(w, clock_wall_ms()), GRAPH_FROM_BEGINNING);
}

TEST(test_another_layout_is_another_store, struct world *w) {
    const uint8_t key = ADJACENCY_META_KEY;
    uint8_t value[ADJACENCY_META_SIZE];
    struct adjacency *lists = w->graph->lists;
    add(w, 0, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 1, false);
    adjacency_meta_encode(lists, value, 1, clock_wall_ms());
    value[0]--; // as an older version of the router has left it
    store_batch_clear(lists->batch);
    store_batch_put(lists->batch, lists->parts[PARTITION].family, &key, 1, value, sizeof value);
    if (store_write(lists->store, lists->batch, false, &failure)) fail_msg("%s", failure.text);
    graph_close(w->graph);
    open_graph(w, 4);
    assert_int_equal(attach(w, clock_wall_ms()), GRAPH_FROM_BEGINNING);
    expect_half(w, 5, 6, half(FRIENDSHIP_NONE, false, false, 0), 0);
}

/* Records read again behind the stored offset, after a crash that lost it, change nothing: nor do they the count of halves. */
TEST(test_what_is_applied_twice_counts_once, struct world *w) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    for (int round = 0; round < 2; round++) {
        add(w, 0, 5, 6, half(FRIENDSHIP_INVITED, false, false, 1));
        add(w, 1, 5, 7, half(FRIENDSHIP_INVITED, false, false, 1));
        apply(w, 2, false);
        add(w, 2, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 2));
        add(w, 3, 5, 8, half(FRIENDSHIP_NONE, false, false, 0)); // of nobody
        add(w, 4, 5, 7, half(FRIENDSHIP_REQUESTED, false, false, 3));
        apply(w, 5, false);
        assert_int_equal(graph_friends(w->graph, PARTITION, 5, &list, &failure), 0);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.others, 1);
    }
    add(w, 5, 5, 7, half(FRIENDSHIP_NONE, false, false, 0));
    apply(w, 6, false);
    assert_int_equal(graph_friends(w->graph, PARTITION, 5, &list, &failure), 0);
    assert_int_equal(list.others, 0);
}

/* `since` of a friend is looked for only where it is wanted; whoever is none is found beside the list. */
TEST(test_halves_beside_a_list_at_hand, struct world *w) {
    FREED_BY(id_list_free) struct id_list list = {.items = NULL};
    struct friendship got, invited = half(FRIENDSHIP_INVITED, false, true, 8);
    add(w, 0, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 7));
    add(w, 1, 5, 9, invited);
    apply(w, 2, false);
    assert_int_equal(graph_friends(w->graph, PARTITION, 5, &list, &failure), 0);
    for (int with_since = 0; with_since < 2; with_since++) {
        struct friendship friend = half(FRIENDSHIP_FRIENDS, false, false, with_since ? 7 : 0);
        assert_int_equal(graph_half_beside(w->graph, PARTITION, 5, &list, 6, with_since, &got, &failure), 0);
        assert_true(friendship_equal(&got, &friend));
        assert_int_equal(graph_half_beside(w->graph, PARTITION, 5, &list, 9, with_since, &got, &failure), 0);
        assert_true(friendship_equal(&got, &invited));
        assert_int_equal(graph_half_beside(w->graph, PARTITION, 5, &list, 7, with_since, &got, &failure), 0);
        assert_true(friendship_empty(&got));
    }
}

/* A lot that waits: what is taken away with it is read again, and told then. */
TEST(test_what_was_queued_is_read_again, struct world *w) {
    add(w, 0, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 1, false);
    for (int end = 0; end < 2; end++) {
        w->change_count = 0;
        add(w, 1, 5, 7, half(FRIENDSHIP_FRIENDS, false, false, 1));
        add(w, 2, 5, 7, half(FRIENDSHIP_NONE, false, false, 0));
        add(w, 3, 5, 8, half(FRIENDSHIP_FRIENDS, false, false, 1));
        assert_int_equal(adjacency_queued(graph_lists(w->graph), PARTITION), 3);
        if (end) {
            graph_close(w->graph); // a crash leaves no more
            open_graph(w, 4);
        } else {
            adjacency_detach(graph_lists(w->graph), PARTITION);
        }
        assert_int_equal(attach(w, clock_wall_ms()), 1);
        assert_int_equal(adjacency_queued(graph_lists(w->graph), PARTITION), 0);
        assert_int_equal(w->change_count, 0);
        expect_half(w, 5, 8, half(FRIENDSHIP_NONE, false, false, 0), 1);
    }
    add(w, 1, 5, 7, half(FRIENDSHIP_FRIENDS, false, false, 1));
    add(w, 2, 5, 7, half(FRIENDSHIP_NONE, false, false, 0));
    add(w, 3, 5, 8, half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 4, false);
    assert_int_equal(w->change_count, 1); // what came and went within a lot was never there
    assert_int_equal(w->changes[0].other, 8);
    assert_true(w->changes[0].made);
    add(w, 4, 5, 8, half(FRIENDSHIP_NONE, false, false, 0));
    apply(w, 5, false);
    assert_int_equal(w->change_count, 2);
    assert_false(w->changes[1].made);
}

/* A friendship that is made anew within a day: the last one's `since` counts, of whichever lot. */
TEST(test_since_of_several_lots, struct world *w) {
    int64_t now = clock_wall_ms();
    for (int lot = 0; lot < 5; lot++) {
        for (int other = 0; other <= lot; other++)
            add(w, lot * 10 + other, 5, 100 + other, half(FRIENDSHIP_FRIENDS, false, false, now + lot));
        apply(w, lot * 10 + 10, false);
        for (int other = 0; other <= lot; other++)
            expect_half(w, 5, 100 + other, half(FRIENDSHIP_FRIENDS, false, false, now + lot), (size_t)lot + 1);
    }
}

/* The things kept of all partitions together go with the one that they belong to. */
TEST(test_a_rebuilt_family_has_no_since_from_before, struct world *w) {
    enum { OTHER = PARTITION + 1 };
    struct friendship got, friend = half(FRIENDSHIP_FRIENDS, false, false, clock_wall_ms());
    int64_t from;
    assert_int_equal(adjacency_attach(graph_lists(w->graph), OTHER, clock_wall_ms(), &from, &failure), 0);
    add(w, 0, 5, 6, friend);
    apply(w, 1, false);
    graph_add(w->graph, OTHER, 0, 7, 8, &friend);
    assert_int_equal(adjacency_apply(graph_lists(w->graph), OTHER, 1, clock_wall_ms(), false, &failure), 0);
    expect_half(w, 5, 6, friend, 1);
    assert_int_equal(adjacency_rebuild(graph_lists(w->graph), PARTITION, &failure), 0);
    add(w, 0, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 1)); // made anew in 1970: nobody keeps that
    apply(w, 1, true);
    expect_half(w, 5, 6, half(FRIENDSHIP_FRIENDS, false, false, 0), 1);
    assert_int_equal(graph_half(w->graph, OTHER, 7, 8, &got, NULL, &failure), 0);
    assert_true(friendship_equal(&got, &friend));

    // Of one that was built of recent records, what comes later counts.
    assert_int_equal(adjacency_rebuild(graph_lists(w->graph), PARTITION, &failure), 0);
    add(w, 0, 5, 6, friend);
    apply(w, 1, true);
    expect_half(w, 5, 6, friend, 1);
    friend.since++;
    add(w, 1, 5, 6, friend);
    apply(w, 2, false);
    expect_half(w, 5, 6, friend, 1);
}

static void page(struct world *w, unsigned views, int64_t after, size_t limit, const int64_t *wanted, size_t count,
                 bool more) {
    struct graph_entry entries[16];
    struct error error;
    size_t got;
    bool beyond;
    assert_int_equal(graph_page(w->graph, PARTITION, 5, views, after, entries, limit, &got, &beyond, &error), 0);
    assert_int_equal(got, count);
    assert_int_equal(beyond, more);
    for (size_t i = 0; i < count; i++) assert_true(entries[i].other == wanted[i]);
}

TEST(test_pages, struct world *w) {
    add(w, 0, 5, 10, half(FRIENDSHIP_FRIENDS, false, false, 1));
    add(w, 1, 5, 30, half(FRIENDSHIP_FRIENDS, false, false, 1));
    add(w, 2, 5, 20, half(FRIENDSHIP_REQUESTED, false, true, 1));
    add(w, 3, 5, 25, half(FRIENDSHIP_INVITED, false, false, 1));
    add(w, 4, 5, 26, half(FRIENDSHIP_INVITED, true, false, 1)); // hidden: shows as blocked
    add(w, 5, 5, 40, half(FRIENDSHIP_NONE, false, true, 1));    // never shown
    add(w, 6, 6, 1, half(FRIENDSHIP_INVITED, false, false, 1)); // somebody else's
    apply(w, 7, false);
    unsigned all = ~(1u << FRIENDSHIP_VIEW_NONE);
    page(w, all, -1, 10, (int64_t[]){10, 20, 25, 26, 30}, 5, false);
    page(w, all, -1, 2, (int64_t[]){10, 20}, 2, true);
    page(w, all, 20, 2, (int64_t[]){25, 26}, 2, true);
    page(w, all, 26, 2, (int64_t[]){30}, 1, false);
    page(w, all, INT64_MAX, 2, NULL, 0, false);
    page(w, 1u << FRIENDSHIP_VIEW_FRIENDS, -1, 2, (int64_t[]){10, 30}, 2, false);
    page(w, 1u << FRIENDSHIP_VIEW_INVITED, -1, 2, (int64_t[]){25}, 1, false);
    page(w, 1u << FRIENDSHIP_VIEW_BLOCKED, -1, 2, (int64_t[]){26}, 1, false);
}

TEST(test_excess_holds_the_offset, struct world *w) {
    for (int i = 0; i < CAP; i++) add(w, i, 5, 100 + i, half(FRIENDSHIP_FRIENDS, false, false, 50 + i));
    apply(w, CAP, false);
    assert_int_equal(w->excess_count, 0);
    add(w, CAP, 5, 50, half(FRIENDSHIP_FRIENDS, false, false, 77));
    add(w, CAP + 1, 5, 51, half(FRIENDSHIP_FRIENDS, false, false, 78));
    add(w, CAP + 2, 5, 100, half(FRIENDSHIP_NONE, false, false, 0));
    apply(w, CAP + 3, false);
    assert_int_equal(w->excess_count, 1); // the later of the two
    assert_int_equal(w->excess[0].other, 51);
    assert_int_equal(w->excess[0].since, 78);
    assert_int_equal(w->excess[0].offset, CAP + 1);

    // A crash now: the record is read, and noticed, again.
    graph_close(w->graph);
    open_graph(w, 4);
    assert_int_equal(attach(w, clock_wall_ms()), CAP + 1);
    w->excess_count = 0;
    add(w, CAP + 1, 5, 51, half(FRIENDSHIP_FRIENDS, false, false, 78));
    add(w, CAP + 2, 5, 100, half(FRIENDSHIP_NONE, false, false, 0));
    apply(w, CAP + 3, true);
    assert_int_equal(w->excess_count, 1);
    assert_int_equal(w->excess[0].other, 51);

    adjacency_release(graph_lists(w->graph), PARTITION, INT64_MAX);
    add(w, CAP + 3, 5, 51, half(FRIENDSHIP_NONE, false, false, 0));
    apply(w, CAP + 4, false);
    graph_close(w->graph);
    open_graph(w, 4);
    assert_int_equal(attach(w, clock_wall_ms()), CAP + 4);
}

/* One damaged list among many fails them all, and nothing stays pinned: the store can be closed, and the others be read. */
TEST(test_a_damaged_list_among_many, struct world *w) {
    static const uint8_t DAMAGED[][3] = {{0x80, 0x80, 0x80}, {0, 5, 0x80}, {1, 5, 0}};
    struct id_list lists[3] = {{.items = NULL}};
    struct adjacency *kept = w->graph->lists;
    struct adjacency_key key = adjacency_root_key(6, 0);
    for (int64_t user = 5; user < 8; user++) add(w, user, user, 100, half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 9, false);
    for (size_t i = 0; i < ARRAY_SIZE(DAMAGED); i++) {
        store_batch_clear(kept->batch);
        store_batch_put(kept->batch, kept->parts[PARTITION].family, key.bytes, key.size, DAMAGED[i], 3);
        assert_int_equal(store_write(kept->store, kept->batch, false, &failure), 0);
        assert_int_equal(graph_friends_many(w->graph, PARTITION, (int64_t[]){5, 6, 7}, 3, lists, &failure), -EBADMSG);
        assert_int_equal(graph_friends_many(w->graph, PARTITION, (int64_t[]){4, 5, 7}, 3, lists, &failure), 0);
        assert_int_equal(lists[0].count, 0);
        assert_int_equal(lists[1].count, 1);
        assert_int_equal(lists[2].count, 1);
        add(w, 10, 6, 101, half(FRIENDSHIP_FRIENDS, false, false, 1));
        assert_int_equal(adjacency_apply(graph_lists(w->graph), PARTITION, 11, clock_wall_ms(), false, &failure),
                         -EBADMSG);
        assert_int_equal(adjacency_next(graph_lists(w->graph), PARTITION), 9);
        assert_int_equal(w->damaged, i + 1); // what is applied fails for who applies it
    }
    // All else that reads the list tells of it, too; anew from the topic, it is whole.
    struct graph_entry entries[4];
    struct friendship got;
    size_t count;
    bool more;
    key = adjacency_root_key(6, 0);
    store_batch_clear(kept->batch);
    store_batch_put(kept->batch, kept->parts[PARTITION].family, key.bytes, key.size, DAMAGED[0], 3);
    assert_int_equal(store_write(kept->store, kept->batch, false, &failure), 0);
    w->damaged = 0;
    assert_int_equal(graph_friends(w->graph, PARTITION, 6, &lists[0], &failure), -EBADMSG);
    assert_int_equal(graph_half(w->graph, PARTITION, 6, 100, &got, NULL, &failure), -EBADMSG);
    assert_int_equal(graph_page(w->graph, PARTITION, 6, ~0u, -1, entries, 4, &count, &more, &failure), -EBADMSG);
    assert_int_equal(w->damaged, 3);
    assert_int_equal(adjacency_rebuild(graph_lists(w->graph), PARTITION, &failure), 0);
    for (int64_t user = 5; user < 8; user++) add(w, user, user, 100, half(FRIENDSHIP_FRIENDS, false, false, 1));
    apply(w, 9, true);
    for (int64_t user = 5; user < 8; user++) expect_half(w, user, 100, half(FRIENDSHIP_FRIENDS, false, false, 0), 1);
    assert_int_equal(w->damaged, 3);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) id_list_free(&lists[i]);
}

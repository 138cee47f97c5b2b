/* Hot posts against a plain list of them, and the table beneath against base/map.h: random histories. */
#include "base/map.h"
#include "feed/edited.h"
#include "feed/hot.h"
#include "feed/id_table.h"
#include "unit/feed/items.h"
#include "unit/kit/kit.h"

enum { AUTHORS = 40, IDS = 300, HISTORIES = 400, STEPS = 600 };

struct world {
    struct feed_chance chance;
    struct hot *hot;
    bool has[AUTHORS][IDS], gone[AUTHORS][IDS]; /* by the number of the post */
    int64_t horizon;                            /* a number */
};

/* Authors far apart: all parts of the table are used. */
static int64_t author_at(size_t i) { return (int64_t)(i * i * i * UINT64_C(0x9e3779b97f4a7c15) >> 1); }

/* No two authors have posts of the same id. */
static int64_t id_of(size_t author, int64_t number) { return number * AUTHORS + (int64_t)author; }
static int64_t last_of(int64_t number) { return id_of(AUTHORS - 1, number); }

/* As hot_before gives them, one after the other. */
static size_t ids_of(const struct world *w, int64_t author, int64_t above, int64_t before, int64_t *ids, size_t max) {
    const struct hot_author *found = hot_find(w->hot, author);
    size_t count = 0;
    while (found && count < max && (ids[count] = hot_before(w->hot, found, above, count ? ids[count - 1] : before)))
        count++;
    if (found) hot_prefetch_older(found);
    return count;
}

static void check_author(struct world *w, uint64_t seed, size_t author) {
    int64_t above = (int64_t)feed_chance(&w->chance, IDS) - 20, before = (int64_t)feed_chance(&w->chance, IDS + 40);
    int64_t ids[IDS];
    size_t max = feed_chance(&w->chance, 20), count = 0, got;
    if (!feed_chance(&w->chance, 3)) before = INT64_MAX;
    if (!feed_chance(&w->chance, 3)) above = 0;
    got = ids_of(w, author_at(author), last_of(above), before == INT64_MAX ? before : id_of(0, before), ids, max);
    int64_t newest = 0;
    for (int64_t id = IDS - 1; id > w->horizon; id--) {
        if (hot_has(w->hot, author_at(author), id_of(author, id)) != w->has[author][id] ||
            hot_is_gone(w->hot, id_of(author, id)) != w->gone[author][id])
            fail_msg("seed %llu: post %d", (unsigned long long)seed, (int)id);
        if (!w->has[author][id]) continue;
        if (!newest) newest = id_of(author, id);
        if (id <= above || id >= before || count == max) continue;
        if (count == got || ids[count] != id_of(author, id))
            fail_msg("seed %llu: id %d", (unsigned long long)seed, (int)id);
        count++;
    }
    if (count != got) fail_msg("seed %llu: %zu ids too many", (unsigned long long)seed, got - count);
    if (hot_newest(w->hot, author_at(author)) != newest) fail_msg("seed %llu: newest", (unsigned long long)seed);
}

static void check_usage(struct world *w, uint64_t seed) {
    size_t ids = 0, authors = 0, gone = 0;
    for (size_t a = 0; a < AUTHORS; a++) {
        size_t before = ids;
        for (int64_t id = w->horizon + 1; id < IDS; id++) {
            ids += w->has[a][id];
            gone += w->gone[a][id];
        }
        authors += ids > before;
    }
    hot_expire(w->hot, last_of(w->horizon), SIZE_MAX); // to the end of the round, and then a whole one
    hot_expire(w->hot, last_of(w->horizon), SIZE_MAX);
    struct hot_usage usage = hot_used(w->hot);
    if (usage.ids != ids || usage.authors != authors || usage.gone != gone)
        fail_msg("seed %llu: counts", (unsigned long long)seed);
}

TEST(test_histories) {
    FREED struct world *w = mem_alloc(sizeof *w);
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        *w = (struct world){.chance = {seed << 32}, .hot = hot_new()};
        for (int i = 0; i < STEPS; i++) {
            size_t author = feed_chance(&w->chance, AUTHORS);
            int64_t id = 1 + (int64_t)feed_chance(&w->chance, IDS - 1);
            if (author % 3 == 0) id = 7; // those have one post only
            uint64_t what = feed_chance(&w->chance, 100);
            if (what < 70) {
                hot_put(w->hot, author_at(author), id_of(author, id));
                if (id > w->horizon && !w->gone[author][id]) w->has[author][id] = true;
            } else if (what < 80) {
                hot_remove(w->hot, author_at(author), id_of(author, id));
                if (w->has[author][id] && id > w->horizon) w->gone[author][id] = true;
                w->has[author][id] = false;
            } else if (what < 84) {
                if (feed_chance(&w->chance, 3)) w->horizon += (int64_t)feed_chance(&w->chance, 20);
                hot_expire(w->hot, last_of(w->horizon), feed_chance(&w->chance, 300));
                hot_expire(w->hot, last_of(w->horizon - 5), 1); // it only rises
                assert_int_equal(hot_horizon(w->hot), last_of(w->horizon));
            } else {
                hot_prefetch(w->hot, author_at(author));
                check_author(w, seed, author);
            }
        }
        check_usage(w, seed);
        for (size_t a = 0; a < AUTHORS; a++) check_author(w, seed, a);
        assert_int_equal(hot_newest(w->hot, 12345), 0);
        assert_int_equal(hot_newest(w->hot, -1), 0);
        hot_remove(w->hot, -1, 7);
        hot_free(w->hot);
    }
}

/* Each author's bound is never below his newest id's, and most are not much above: through weeks, so that the base moves. */
TEST(test_bounds) {
    enum { MANY = 3000, LAST = 60 * MANY };
    struct feed_chance chance = {.state = 5};
    struct hot *hot = hot_new();
    const struct hot_bounds *bounds = hot_all_bounds(hot);
    int64_t newest[MANY] = {0};
    size_t loose = 0, early = 0;
    for (int64_t step = 1; step < LAST; step++) {
        size_t author = feed_chance(&chance, MANY / 2);
        int64_t id = (step << HOT_BOUND_SHIFT) + (int64_t)feed_chance(&chance, 1000);
        hot_put(hot, author_at(author), id);
        newest[author] = id;
        if (step % MANY) continue;
        for (size_t i = 0; i < MANY; i++) {
            if (newest[i] && hot_bound_of(bounds, author_at(i)) < hot_bound(bounds, newest[i]))
                fail_msg("author %zu has a newer post", i);
            early += newest[i] && hot_bound(bounds, newest[i]) == 1 && step < 3 * MANY;
        }
    }
    for (size_t i = 0; i < MANY; i++)
        loose += newest[i] && hot_bound_of(bounds, author_at(i)) > hot_bound(bounds, newest[i]);
    assert_true(loose < MANY / 4); // those share a number with others
    assert_int_equal(early, 0);    // no base before it is needed
    hot_free(hot);
}

/* Five million authors with ten posts on average, to the scale of one in fifty: most have one. */
TEST(test_an_id_takes_sixteen_bytes_at_most) {
    struct feed_chance chance = {.state = 3};
    struct hot *hot = hot_new();
    for (int64_t author = 0, id = 1; author < 100000; author++) {
        size_t posts = author % 5 < 3 ? 1 : 1 + feed_chance(&chance, 46);
        while (posts--) hot_put(hot, author, id += 1000);
    }
    struct hot_usage usage = hot_used(hot);
    assert_true(usage.ids > 900000);
    assert_true(usage.bytes < usage.ids * 14);
    hot_expire(hot, INT64_MAX - 1, SIZE_MAX);
    usage = hot_used(hot);
    assert_int_equal(usage.ids, 0);
    assert_int_equal(usage.authors, 0);
    hot_free(hot);
}

struct __attribute__((packed)) entry {
    uint64_t key;
    uint32_t value;
    uint8_t more;
};

static void check_table(const struct id_table *table, const struct map *map, uint64_t seed) {
    size_t at = 0, count = 0, last = 0;
    struct entry *entry;
    while ((entry = id_table_next(table, &at))) {
        const uint64_t *value = map_find(map, (uint64_t)id_table_id(entry));
        size_t home = id_table_home(table, entry->key);
        if (!value || *value != entry->value || entry->more != (uint8_t)*value || home < last || home >= at)
            fail_msg("seed %llu: slot %zu", (unsigned long long)seed, at - 1);
        last = home;
        count++;
    }
    if (count != map_count(map) || count != table->count) fail_msg("seed %llu: count", (unsigned long long)seed);
}

TEST(test_table) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct feed_chance chance = {.state = seed << 32};
        struct id_table table = {.size = sizeof(struct entry)};
        struct map *map = map_new();
        uint64_t ids = 1 + feed_chance(&chance, 3000), steps = feed_chance(&chance, 6000);
        assert_null(id_table_find(&table, 5));
        for (uint64_t i = 0; i < steps; i++) {
            int64_t id = (int64_t)(feed_chance(&chance, ids) * (seed % 2 ? 1 : UINT64_C(1) << 40));
            struct entry *entry = id_table_find(&table, id);
            if ((entry != NULL) != (map_find(map, (uint64_t)id) != NULL))
                fail_msg("seed %llu: id %lld", (unsigned long long)seed, (long long)id);
            if (feed_chance(&chance, 3)) {
                bool created;
                struct entry *put = id_table_put(&table, id, &created);
                assert_int_equal(created, !entry);
                if (created) assert_int_equal(put->value + put->more, 0);
                put->value = (uint32_t)i;
                put->more = (uint8_t)i;
                *map_put(map, (uint64_t)id, NULL) = (uint32_t)i;
            } else if (entry) {
                id_table_remove(&table, entry);
                map_remove(map, (uint64_t)id, NULL);
            }
            if (!feed_chance(&chance, 200)) check_table(&table, map, seed);
        }
        check_table(&table, map, seed);
        if (table.count > 100) assert_true(table.count * 3 > table.homes || steps > ids);
        id_table_free(&table);
        assert_null(id_table_find(&table, 5));
        map_free(map);
    }
}

TEST(test_edits_are_known_for_an_hour) {
    enum { HOUR = EDITED_KEPT_MS };
    const int64_t begin = INT64_C(1780000000000);
    struct edited *edited = edited_new();
    assert_int_equal(edited_version(edited, 5), 1);
    assert_true(edited_put(edited, 5, 2, begin, begin));
    assert_false(edited_put(edited, 5, 2, begin, begin)); // once more
    assert_true(edited_put(edited, 5, 4, begin, begin));
    assert_false(edited_put(edited, 5, 3, begin, begin)); // late
    assert_int_equal(edited_version(edited, 5), 4);
    assert_false(edited_put(edited, 6, 2, begin - HOUR - 1, begin)); // long ago
    assert_true(edited_put(edited, 7, 2, begin + HOUR, begin + HOUR));
    assert_int_equal(edited_version(edited, 5), 4);
    assert_true(edited_put(edited, 8, 2, begin + 2 * HOUR, begin + 2 * HOUR));
    assert_int_equal(edited_version(edited, 5), 1);
    assert_int_equal(edited_version(edited, 7), 2);
    assert_int_equal(edited_count(edited), 2);
    edited_free(edited);
    edited_free(NULL);
}

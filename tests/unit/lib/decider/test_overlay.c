/* The overlay holds what was written and not read back: by hand, and any history against an overlay that is a plain array. */
#include "decider/overlay.h"
#include "unit/kit/kit.h"

static void put(struct overlay *overlay, int32_t partition, uint64_t group, const char *key, const char *value) {
    overlay_put(overlay, partition, group, key, strlen(key), value, strlen(value) + 1);
}

static const char *find(const struct overlay *overlay, const char *key) {
    return overlay_find(overlay, key, strlen(key), NULL);
}

TEST(an_entry_lives_until_it_is_read_back) {
    struct overlay *overlay = overlay_new(8, 8);
    put(overlay, 0, 1, "12", "a");
    put(overlay, 1, 5, "56", "a");
    overlay_read_back(overlay, 0, 1000); // the transaction is open: nothing of it can have been read
    assert_int_equal(overlay_count(overlay), 2);
    overlay_commit(overlay, (int64_t[]){11, 21});
    overlay_read_back(overlay, 0, 10);
    assert_string_equal(find(overlay, "12"), "a");
    put(overlay, 0, 1, "12", "b"); // decided again before it was read back
    overlay_read_back(overlay, 0, 11);
    assert_string_equal(find(overlay, "12"), "b");
    overlay_commit(overlay, (int64_t[]){12, 21});
    overlay_read_back(overlay, 0, 12);
    assert_null(find(overlay, "12"));
    assert_string_equal(find(overlay, "56"), "a");
    overlay_read_back(overlay, 1, 21);
    assert_int_equal(overlay_count(overlay), 0);
    overlay_free(overlay);
    overlay_free(NULL);
}

TEST(keys_are_bytes_of_any_length) {
    struct overlay *overlay = overlay_new(20, 20);
    size_t size = 0;
    put(overlay, 0, 1, "", "empty");
    put(overlay, 0, 1, "12345678", "eight");
    put(overlay, 0, 1, "1234567", "seven");
    put(overlay, 0, 1, "12345678901234567890", "twenty characters..");
    overlay_put(overlay, 0, 1, "1234567", 8, "with a zero", 11);
    assert_int_equal(overlay_count(overlay), 5);
    assert_string_equal(find(overlay, ""), "empty");
    assert_string_equal(find(overlay, "1234567"), "seven");
    assert_string_equal(find(overlay, "12345678901234567890"), "twenty characters..");
    assert_memory_equal(overlay_find(overlay, "1234567", 8, &size), "with a zero", 11);
    assert_int_equal(size, 11);
    overlay_put(overlay, 0, 1, "", 0, NULL, 0);
    assert_non_null(overlay_find(overlay, "", 0, &size));
    assert_int_equal(size, 0);
    overlay_free(overlay);
}

/* ---- any history ---- */

enum { PARTITIONS = 3, GROUPS = 7, KEYS = 60, STEPS = 30000 };

/* Key k is of group k % GROUPS and partition k % PARTITIONS. */
struct model {
    bool there;
    int value;
    int64_t end; /* INT64_MAX: its transaction is open */
};

static size_t key_of(int number, char *key) { return (size_t)sprintf(key, "%0*d", 1 + number % 19, number); }

static void assert_same(const struct overlay *overlay, const struct model *models) {
    size_t count = 0, waiting[GROUPS] = {0};
    char key[32];
    for (int k = 0; k < KEYS; k++) {
        size_t size = 0, key_size = key_of(k, key);
        const int *value = overlay_find(overlay, key, key_size, &size);
        assert_int_equal(value != NULL, models[k].there);
        if (!value) continue;
        assert_int_equal(*value, models[k].value);
        assert_int_equal((uintptr_t)value % 8, 0);
        assert_int_equal(size, sizeof(int));
        count++;
        waiting[k % GROUPS]++;
    }
    assert_int_equal(overlay_count(overlay), count);
    for (uint64_t group = 0; group < GROUPS; group++) {
        bool seen[KEYS] = {false};
        assert_int_equal(overlay_waiting(overlay, group), waiting[group]);
        for (struct overlay_entry e = overlay_first(overlay, group); e.key; overlay_next(&e)) {
            snprintf(key, sizeof key, "%.*s", (int)e.key_size, (const char *)e.key);
            int k = atoi(key);
            assert_int_equal((uint64_t)(k % GROUPS), group);
            assert_false(seen[k]);
            seen[k] = true;
            assert_int_equal(*(const int *)e.value, models[k].value);
            waiting[group]--;
        }
        assert_int_equal(waiting[group], 0);
    }
    assert_null(overlay_first(overlay, GROUPS).key);
}

TEST(any_history_is_as_a_plain_array_has_it) {
    struct overlay *overlay = overlay_new(20, sizeof(int));
    struct model models[KEYS] = {{false}};
    int64_t ends[PARTITIONS] = {0};
    unsigned seed = 1;
    for (int step = 0; step < STEPS; step++) {
        int dice = rand_r(&seed) % 100, k = rand_r(&seed) % KEYS, p = rand_r(&seed) % PARTITIONS;
        char key[32];
        if (dice < 70) {
            size_t size = key_of(k, key);
            models[k] = (struct model){.there = true, .value = step, .end = INT64_MAX};
            overlay_put(overlay, k % PARTITIONS, (uint64_t)(k % GROUPS), key, size, &step, sizeof step);
        } else if (dice < 80) {
            for (int i = 0; i < PARTITIONS; i++) ends[i] += rand_r(&seed) % 10;
            for (int i = 0; i < KEYS; i++)
                if (models[i].end == INT64_MAX) models[i].end = ends[i % PARTITIONS];
            overlay_commit(overlay, ends);
        } else if (dice < 99) {
            int64_t next = ends[p] - rand_r(&seed) % 12;
            for (int i = p; i < KEYS; i += PARTITIONS)
                if (models[i].end <= next) models[i].there = false;
            overlay_read_back(overlay, p, next);
        } else {
            memset(models, 0, sizeof models);
            overlay_clear(overlay);
        }
        if (step % 10 == 0) assert_same(overlay, models);
    }
    overlay_free(overlay);
}

TEST(many_entries_come_and_go) {
    enum { MANY = 200000 };
    struct overlay *overlay = overlay_new(sizeof(int), sizeof(int));
    for (int i = 0; i < MANY; i++) overlay_put(overlay, i % PARTITIONS, (uint64_t)i / 50, &i, sizeof i, &i, sizeof i);
    assert_int_equal(overlay_count(overlay), MANY);
    overlay_commit(overlay, (int64_t[]){5, 6, 7});
    for (int32_t p = 0; p < PARTITIONS; p++) {
        overlay_read_back(overlay, p, 5);
        for (int i = 0; i < MANY; i += 997)
            assert_int_equal(overlay_find(overlay, &i, sizeof i, NULL) != NULL, i % PARTITIONS > 0);
    }
    for (int32_t p = 0; p < PARTITIONS; p++) overlay_read_back(overlay, p, 7);
    assert_int_equal(overlay_count(overlay), 0);
    overlay_free(overlay);
}

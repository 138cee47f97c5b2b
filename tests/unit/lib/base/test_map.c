/* The map, against a plain array. */
#include "base/map.h"
#include "unit/kit/kit.h"

TEST(empty_map) {
    struct map *map = map_new();
    size_t cursor = 0;
    uint64_t key, value;
    assert_int_equal(map_count(map), 0);
    assert_null(map_find(map, 0));
    assert_null(map_find(map, 1));
    assert_null(map_pointer(map, 1));
    assert_false(map_remove(map, 0, NULL));
    assert_false(map_remove(map, 1, &value));
    assert_false(map_next(map, &cursor, &key, &value));
    map_free(map);
    map_free(NULL);
}

TEST(any_key_is_allowed) {
    static const uint64_t KEYS[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63};
    struct map *map = map_new();
    bool created;
    for (size_t i = 0; i < 5; i++) {
        uint64_t *value = map_put(map, KEYS[i], &created);
        assert_true(created);
        assert_true(*value == 0);
        *value = i + 10;
    }
    assert_int_equal(map_count(map), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_true(*map_find(map, KEYS[i]) == i + 10);
        assert_true(*map_put(map, KEYS[i], &created) == i + 10);
        assert_false(created);
    }
    uint64_t value;
    for (size_t i = 0; i < 5; i++) {
        assert_true(map_remove(map, KEYS[i], &value));
        assert_true(value == i + 10);
        assert_false(map_remove(map, KEYS[i], NULL));
        assert_true(*map_put(map, KEYS[i], NULL) == 0); // nothing of the old entry is left
    }
    map_free(map);
}

TEST(pointers_as_values) {
    struct map *map = map_new();
    int thing;
    *map_put(map, 5, NULL) = (uint64_t)(uintptr_t)&thing;
    assert_ptr_equal(map_pointer(map, 5), &thing);
    map_free(map);
}

/* The oracle: all keys of a small universe, which the table's runs collide and wrap around in. */
enum { UNIVERSE = 4096 };

struct oracle {
    bool there[UNIVERSE];
    uint64_t value[UNIVERSE];
    size_t count;
};

static void compare(const struct map *map, const struct oracle *oracle, const uint64_t *keys) {
    assert_int_equal(map_count(map), oracle->count);
    for (size_t i = 0; i < UNIVERSE; i++) {
        const uint64_t *found = map_find(map, keys[i]);
        assert_true((found != NULL) == oracle->there[i]);
        if (found) assert_true(*found == oracle->value[i]);
    }
    size_t cursor = 0, walked = 0;
    uint64_t key, value;
    while (map_next(map, &cursor, &key, &value)) {
        assert_true(*map_find(map, key) == value);
        walked++;
    }
    assert_int_equal(walked, oracle->count); // each once: all are found, and they are as many
    assert_false(map_next(map, &cursor, &key, &value));
}

static void change(struct map *map, struct oracle *oracle, const uint64_t *keys, size_t i, bool put) {
    uint64_t value = 0;
    if (put) {
        bool created;
        uint64_t *at = map_put(map, keys[i], &created);
        assert_true(created == !oracle->there[i]);
        assert_true(*at == (created ? 0 : oracle->value[i]));
        oracle->count += created;
        oracle->there[i] = true;
        *at = oracle->value[i] = (uint64_t)rand();
    } else {
        assert_true(map_remove(map, keys[i], &value) == oracle->there[i]);
        if (oracle->there[i]) assert_true(value == oracle->value[i]);
        oracle->count -= oracle->there[i];
        oracle->there[i] = false;
    }
}

TEST(like_brute_force) {
    FREED uint64_t *keys = calloc(UNIVERSE, sizeof *keys);
    for (unsigned seed = 1; seed <= 20; seed++) {
        srand(seed);
        for (size_t i = 0; i < UNIVERSE; i++)
            keys[i] = seed % 2 ? i : hash_u64(i * seed) & ~(uint64_t)1; // dense ids with 0; far apart ones
        FREED struct oracle *oracle = calloc(1, sizeof *oracle);
        struct map *map = map_new();
        for (int round = 0; round < 40; round++) {
            // Now growing, now shrinking, over a part of the universe, so that the load goes up to the limit and down.
            int puts = rand() % 100;
            size_t span = 1 + (size_t)rand() % UNIVERSE;
            for (int i = 0; i < 2000; i++) change(map, oracle, keys, (size_t)rand() % span, rand() % 100 < puts);
            compare(map, oracle, keys);
        }
        map_free(map);
    }
}

/* Keys whose home is the same slot, whatever the table's size up to 2^16: the longest runs there can be. */
TEST(one_long_run) {
    enum { COUNT = 200 };
    uint64_t keys[COUNT];
    size_t count = 0;
    for (uint64_t key = 1; count < COUNT; key++)
        if ((hash_u64(key) & 0xfff) == 0xffe) keys[count++] = key; // near the end, so that it wraps around
    struct map *map = map_new();
    for (size_t i = 0; i < COUNT; i++) *map_put(map, keys[i], NULL) = i;
    srand(3);
    for (size_t left = COUNT; left > 0; left--) {
        size_t gone = (size_t)rand() % left;
        assert_true(map_remove(map, keys[gone], NULL));
        keys[gone] = keys[left - 1];
        for (size_t i = 0; i < left - 1; i++) assert_non_null(map_find(map, keys[i]));
    }
    assert_int_equal(map_count(map), 0);
    map_free(map);
}

TEST(memory_is_16_bytes_a_slot_at_up_to_seven_eighths) {
    struct map *map = map_new();
    size_t empty = map_bytes(map);
    for (uint64_t key = 1; key <= 7 * 8192; key++) map_put(map, key, NULL);
    assert_int_equal(map_bytes(map) - empty, 65536 * 16);
    map_put(map, 7 * 8192 + 1, NULL);
    assert_int_equal(map_bytes(map) - empty, 2 * 65536 * 16);
    map_free(map);
}

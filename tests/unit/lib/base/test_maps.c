/* A map in parts against a map: any keys, those included that differ only in their low or their high bits. */
#include "base/maps.h"
#include "unit/kit/kit.h"

TEST(test_against_a_map) {
    for (unsigned bits = 1; bits <= 10; bits += 3) {
        struct maps *maps = maps_new(bits);
        struct map *plain = map_new();
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t key = i % 3 == 0 ? i % 500 : i % 3 == 1 ? i << 44 : hash_u64(i);
            bool created, wanted;
            uint64_t *value = maps_put(maps, key, &created), *same = map_put(plain, key, &wanted);
            assert_int_equal(created, wanted);
            assert_int_equal(*value, *same);
            *value = *same = i + 1;
            assert_int_equal(maps_count(maps), map_count(plain));
        }
        size_t cursor = 0;
        uint64_t key, value;
        while (map_next(plain, &cursor, &key, &value)) assert_int_equal(*maps_find(maps, key), value);
        assert_null(maps_find(maps, UINT64_MAX));
        assert_non_null(maps_put(maps, UINT64_MAX, NULL));
        assert_int_equal(*maps_find(maps, UINT64_MAX), 0);
        maps_free(maps);
        map_free(plain);
    }
    maps_free(NULL);
}

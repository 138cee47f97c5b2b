/* State that was put aside for too long is not gone on with. */
#include "state/ages.h"
#include "unit/kit/kit.h"

TEST(test_a_partition_is_as_old_as_its_last_touch) {
    char *folder = kit_folder();
    struct store *store;
    struct ages *ages;
    FREED char *path = mem_format("%s/store", folder);
    struct store_options options = {.cache_bytes = 1 << 20, .memtable_bytes = 1 << 20};
    assert_int_equal(store_open(path, &options, &store, &failure), 0);
    assert_int_equal(ages_open(store, &ages, &failure), 0);
    assert_int_equal(ages_too_old(ages, 3, 500, &failure), 0); // it is new
    assert_int_equal(ages_touch(ages, 3, 400, true, &failure), 0);
    assert_int_equal(ages_too_old(ages, 3, 500, &failure), 1);
    assert_int_equal(ages_touch(ages, 3, 900, true, &failure), 0); // not the first
    assert_int_equal(ages_too_old(ages, 3, 500, &failure), 1);
    assert_int_equal(ages_touch(ages, 3, 900, false, &failure), 0);
    assert_int_equal(ages_too_old(ages, 3, 500, &failure), 0);
    assert_int_equal(ages_too_old(ages, 4, 500, &failure), 0); // another partition
    ages_close(ages);
    store_close(store);
    assert_int_equal(store_open(path, &options, &store, &failure), 0);
    assert_int_equal(ages_open(store, &ages, &failure), 0);
    assert_int_equal(ages_too_old(ages, 3, 901, &failure), 1);
    ages_close(ages);
    store_close(store);
}

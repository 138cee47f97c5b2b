/* State that was put aside for too long is not gone on with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "state/ages.h"

static void test_a_partition_is_as_old_as_its_last_touch(void **state) {
    char folder[] = "/tmp/starling-ages-XXXXXX";
    struct store *store;
    struct ages *ages;
    struct error error;
    assert_non_null(mkdtemp(folder));
    char *path = mem_format("%s/store", folder);
    struct store_options options = {.cache_bytes = 1 << 20, .memtable_bytes = 1 << 20};
    assert_int_equal(store_open(path, &options, &store, &error), 0);
    assert_int_equal(ages_open(store, &ages, &error), 0);
    assert_int_equal(ages_too_old(ages, 3, 500, &error), 0); // it is new
    assert_int_equal(ages_touch(ages, 3, 400, true, &error), 0);
    assert_int_equal(ages_too_old(ages, 3, 500, &error), 1);
    assert_int_equal(ages_touch(ages, 3, 900, true, &error), 0); // not the first
    assert_int_equal(ages_too_old(ages, 3, 500, &error), 1);
    assert_int_equal(ages_touch(ages, 3, 900, false, &error), 0);
    assert_int_equal(ages_too_old(ages, 3, 500, &error), 0);
    assert_int_equal(ages_too_old(ages, 4, 500, &error), 0); // another partition
    ages_close(ages);
    store_close(store);
    assert_int_equal(store_open(path, &options, &store, &error), 0);
    assert_int_equal(ages_open(store, &ages, &error), 0);
    assert_int_equal(ages_too_old(ages, 3, 901, &error), 1);
    ages_close(ages);
    store_close(store);
    assert_int_equal(store_remove(path, &error), 0);
    assert_int_equal(rmdir(folder), 0);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_partition_is_as_old_as_its_last_touch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

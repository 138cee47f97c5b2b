/* Old files go, of both trees, and never what decides where a partition goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "history-sink/retention.h"
#include "unit/history-sink/world.h"

enum { HOUR = 492541, PARTITION = 2, OTHER = 3 };

static int64_t remove_before(const char *folder, int64_t before, int64_t newest) {
    struct storage *storage = history_storage(folder);
    const struct retention_partition partitions[] = {{.partition = PARTITION, .newest = newest}};
    int64_t removed = 0;
    assert_int_equal(retention_remove(storage, before, partitions, 1, &removed, NULL), 0);
    storage_close(storage);
    return removed;
}

static void test_old_hours_go(void **state) {
    struct chain_end chain, other;
    for (int i = 0; i < 30; i++) {
        chain = history_publish(*state, PARTITION, i ? &chain : NULL, 10 * i + 9, HOUR + i).chain;
        other = history_publish(*state, OTHER, i ? &other : NULL, 10 * i + 9, HOUR + i).chain;
    }
    char *command = mem_format("cd %s && mkdir -p hours/date=2026-03-10/hour=14 && cp date=2026-03-10/hour=14/00002* "
                               "hours/date=2026-03-10/hour=14/00002-0000000000000000010-0000000000000000020.avro",
                               (char *)*state);
    assert_int_equal(system(command), 0);
    assert_int_equal(remove_before(*state, HOUR, HOUR + 29), 0);
    assert_int_equal(remove_before(*state, HOUR + 12, HOUR + 29), 13); // over midnight, a merged file among them
    assert_int_equal(history_count_files(*state, ".avro"), 30 + 18);
    assert_int_equal(remove_before(*state, HOUR + 1000, HOUR + 29), 17); // all but the newest
    struct storage *storage = history_storage(*state);
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    assert_int_equal(archive_scan(storage, &wanted, 1, false, NULL), 0);
    assert_int_equal(wanted.found.count, 1);
    assert_int_equal(wanted.found.files[0].first, 290);
    archive_list_clear(&wanted.found);
    storage_close(storage);
    free(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_old_hours_go, history_make_folder, history_remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

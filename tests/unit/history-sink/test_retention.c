/* Old files go, of both trees, and never what decides where a partition goes on. */
#include "history-sink/retention.h"
#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

enum { HOUR = 492541, PARTITION = 2, OTHER = 3 };

static int64_t remove_before(const char *folder, int64_t before, int64_t newest) {
    struct storage *storage = history_storage(folder);
    const struct retention_partition partitions[] = {{.partition = PARTITION, .newest = newest}};
    int64_t removed = 0;
    assert_int_equal(retention_remove(storage, before, partitions, 1, &removed, NULL), 0);
    storage_close(storage);
    return removed;
}

SET_UP() { return kit_folder(); }

TEST(test_old_hours_go, const char *folder) {
    struct chain_end chain, other;
    for (int i = 0; i < 30; i++) {
        chain = history_publish(folder, PARTITION, i ? &chain : NULL, 10 * i + 9, HOUR + i).chain;
        other = history_publish(folder, OTHER, i ? &other : NULL, 10 * i + 9, HOUR + i).chain;
    }
    FREED char *command =
        mem_format("cd %s && mkdir -p hours/date=2026-03-10/hour=14 && cp date=2026-03-10/hour=14/00002* "
                   "hours/date=2026-03-10/hour=14/00002-0000000000000000010-0000000000000000020.avro",
                   folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(remove_before(folder, HOUR, HOUR + 29), 0);
    assert_int_equal(remove_before(folder, HOUR + 12, HOUR + 29), 13); // over midnight, a merged file among them
    assert_int_equal(history_count_files(folder, ".avro"), 30 + 18);
    assert_int_equal(remove_before(folder, HOUR + 1000, HOUR + 29), 17); // all but the newest
    struct storage *storage = history_storage(folder);
    struct archive_wanted wanted = {.partition = PARTITION, .from = 0};
    assert_int_equal(archive_scan(storage, &wanted, 1, false, NULL), 0);
    assert_int_equal(wanted.found.count, 1);
    assert_int_equal(wanted.found.files[0].first, 290);
    archive_list_clear(&wanted.found);
    storage_close(storage);
}

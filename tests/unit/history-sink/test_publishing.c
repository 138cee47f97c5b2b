/* Tests publishing.c and partition.c. Files on their way: published in their order by a worker, and none on top of one that failed. */
#include "history-sink/partition.h"
#include "history-sink/publishing.h"
#include "unit/history-sink/world.h"
#include "unit/kit/kit.h"

enum { PARTITION = 1, HOUR = 492541, TOLD_MAX = 8 };

struct heard {
    uv_loop_t loop;
    struct worker *worker;
    struct storage *storage;
    int codes[TOLD_MAX];
    int64_t firsts[TOLD_MAX];
    size_t count;
};

static void told(void *context, const struct publish_line *line, int32_t partition, int code, int64_t rows,
                 const struct segment_published *file, const char *reason) {
    struct heard *heard = context;
    assert_int_equal(partition, PARTITION);
    assert_true(code == 0 || *reason);
    assert_true(code ? rows > 0 : rows == file->rows);
    heard->firsts[heard->count] = code ? -1 : file->chain.file.first;
    heard->codes[heard->count++] = code;
}

/* A file of rows up to that offset, on top of the one before. */
static struct history_segment *gathered(const struct chain_end *before, int64_t last) {
    struct history_segment *segment = NULL;
    for (int64_t offset = before->end; offset <= last; offset++) {
        struct history_row row = history_row_at(PARTITION, offset, HOUR * (int64_t)HISTORY_HOUR_MS);
        if (!segment) segment = segment_new(before, &row);
        segment_append(segment, &row);
    }
    return segment;
}

static void heard_begin(struct heard *heard, const char *folder) {
    *heard = (struct heard){.count = 0};
    uv_loop_init(&heard->loop);
    heard->worker = worker_new(&heard->loop);
    heard->storage = history_storage(folder);
}

static void heard_end(struct heard *heard) {
    worker_free(heard->worker);
    storage_close(heard->storage);
    kit_loop_end(&heard->loop);
}

SET_UP() { return kit_folder(); }

TEST(test_in_their_order, const char *folder) {
    FREED_BY(heard_end) struct heard heard;
    struct publish_line *line = publish_line_new();
    heard_begin(&heard, folder);
    struct history_segment *a = gathered(&(struct chain_end){.some = false}, 9);
    struct chain_end first = segment_end(a);
    struct history_segment *b = gathered(&first, 19);
    publish_line_add(line, heard.worker, heard.storage, a, told, &heard);
    publish_line_add(line, heard.worker, heard.storage, b, told, &heard);
    publish_line_free(line); // they are published all the same
    uv_run(&heard.loop, UV_RUN_DEFAULT);
    assert_int_equal(heard.count, 2);
    assert_int_equal(heard.codes[0], 0);
    assert_int_equal(heard.codes[1], 0);
    assert_int_equal(heard.firsts[1], 10);
    assert_int_equal(history_count_files(folder, ".avro"), 2);
}

/* Another sink publishes a file of the same name that reaches further. On top of it our second one would repeat rows. */
TEST(test_none_on_top_of_one_that_failed, const char *folder) {
    FREED_BY(heard_end) struct heard heard;
    struct publish_line *line = publish_line_new();
    heard_begin(&heard, folder);
    struct chain_end before = history_publish(folder, PARTITION, NULL, 9, HOUR).chain;
    struct history_segment *a = gathered(&before, 30);
    struct chain_end ours = segment_end(a);
    struct history_segment *b = gathered(&ours, 60);
    ours = segment_end(b);
    struct history_segment *c = gathered(&ours, 70);
    history_publish(folder, PARTITION, &before, 50, HOUR);
    publish_line_add(line, heard.worker, heard.storage, a, told, &heard);
    publish_line_add(line, heard.worker, heard.storage, b, told, &heard);
    publish_line_add(line, heard.worker, heard.storage, c, told, &heard);
    uv_run(&heard.loop, UV_RUN_DEFAULT);
    assert_int_equal(heard.count, 3);
    assert_int_equal(heard.codes[0], -EEXIST);
    assert_int_equal(heard.codes[1], -ECANCELED);
    assert_int_equal(heard.codes[2], -ECANCELED);
    assert_int_equal(history_count_files(folder, ".avro"), 2);
    assert_int_equal(history_count_files(folder, ".tmp"), 0);
    publish_line_free(line);
}

/* How old is what waits: of the open file, of those on their way, or since the partition does not work. */
TEST(test_the_oldest_that_waits) {
    struct sink_partition partition = sink_partition_assigned(PARTITION, NULL);
    int64_t now = clock_wall_ms() + 1000, received = HOUR * (int64_t)HISTORY_HOUR_MS;
    assert_true(sink_partition_oldest(&partition, now) < now); // it does not work yet
    partition.waits_since = 0;
    assert_int_equal(sink_partition_oldest(&partition, now), now);
    struct history_row row = history_row_at(PARTITION, 0, received);
    partition.open = segment_new(&partition.chain, &row);
    assert_int_equal(sink_partition_oldest(&partition, now), received);
    partition.on_their_way = 1;
    partition.oldest_on_way = received - 5;
    assert_int_equal(sink_partition_oldest(&partition, now), received - 5);
    // Dropped: what was open waits in Kafka, as long as the partition is refused.
    sink_partition_reset(&partition, 0);
    assert_null(partition.open);
    assert_int_equal(sink_partition_oldest(&partition, now), received - 5);
    sink_partition_clear(&partition);
}

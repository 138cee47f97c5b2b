#include "unit/history-sink/world.h"

#include "json/details.h"
#include "unit/kit/kit.h"

#include <ftw.h>

struct history_row history_row_at(int32_t partition, int64_t offset, int64_t received_ms) {
    return (struct history_row){
        .user = offset % 97,
        .lat = (int32_t)(offset * 7),
        .lng = -(int32_t)offset,
        .time = received_ms - 100,
        .accuracy = -1,
        DETAILS_NONE,
        .received = received_ms,
        .partition = partition,
        .offset = offset,
    };
}

/* nftw has no context. */
static const char *counted_ending;
static size_t counted;

static int count_one(const char *path, const struct stat *status, int type, struct FTW *at) {
    size_t size = strlen(path), ending = strlen(counted_ending);
    if (type == FTW_F && size >= ending && strcmp(path + size - ending, counted_ending) == 0) counted++;
    return 0;
}

size_t history_count_files(const char *folder, const char *ending) {
    counted_ending = ending;
    counted = 0;
    nftw(folder, count_one, 16, FTW_PHYS);
    return counted;
}

struct storage *history_storage(const char *folder) {
    struct storage *storage;
    assert_int_equal(storage_open(&(struct storage_options){.place = folder}, &storage, NULL), 0);
    return storage;
}

struct chain_end history_behind(struct archive_file file, int64_t end) {
    return (struct chain_end){.some = true, .file = file, .end = end};
}

struct segment_published history_publish(const char *folder, int32_t partition, const struct chain_end *before,
                                         int64_t last, int64_t hour) {
    const struct chain_end none = {.some = false};
    struct history_segment *segment = NULL;
    struct segment_published published;
    struct error error = {.text = ""};
    if (!before) before = &none;
    for (int64_t offset = before->end; offset <= last; offset++) {
        struct history_row row = history_row_at(partition, offset, hour * HISTORY_HOUR_MS + offset % 1000);
        if (!segment) segment = segment_new(before, &row);
        segment_append(segment, &row);
    }
    struct storage *storage = history_storage(folder);
    int code = segment_publish(segment, storage, &published, &error);
    storage_close(storage);
    if (code) print_error("%s\n", error.text);
    assert_int_equal(code, 0);
    return published;
}

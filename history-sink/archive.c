#include "history-sink/archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

enum { SECONDS_AN_HOUR = 3600, DATE_SIZE = 64 };

void archive_list_add(struct archive_list *list, struct archive_file file) {
    if ((list->count & (list->count - 1)) == 0) // full, at every power of two
        list->files = mem_resize(list->files, list->count ? 2 * list->count : 1, sizeof *list->files);
    list->files[list->count++] = file;
}

void archive_list_clear(struct archive_list *list) {
    free(list->files);
    *list = (struct archive_list){.files = NULL, .count = 0};
}

/* ---- names ---- */

static void date_name(char name[DATE_SIZE], int64_t hour) {
    time_t seconds = (time_t)(hour * SECONDS_AN_HOUR);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(name, DATE_SIZE, "date=%Y-%m-%d", &utc);
}

char *archive_date_path(enum archive_tree tree, const char *date) {
    const char *above = tree == ARCHIVE_MERGED ? "hours" : "";
    return mem_format("%s%s%s", above, *above && *date ? "/" : "", date);
}

char *archive_hour_path(enum archive_tree tree, int64_t hour) {
    char date[DATE_SIZE];
    date_name(date, hour);
    char *above = archive_date_path(tree, date), *path = mem_format("%s/hour=%02d", above, (int)(hour % 24));
    free(above);
    return path;
}

static char *file_name(int32_t partition, struct archive_file file) {
    return file.end ? mem_format("%05" PRId32 "-%019" PRId64 "-%019" PRId64 ".avro", partition, file.first, file.end)
                    : mem_format("%05" PRId32 "-%019" PRId64 ".avro", partition, file.first);
}

char *archive_path(int32_t partition, struct archive_file file) {
    char *folder = archive_hour_path(file.end ? ARCHIVE_MERGED : ARCHIVE_SMALL, file.hour);
    char *name = file_name(partition, file), *path = mem_format("%s/%s", folder, name);
    free(folder);
    free(name);
    return path;
}

int64_t archive_parse_date(const char *name) {
    struct tm utc = {.tm_year = 0};
    char again[DATE_SIZE];
    int end = 0;
    if (sscanf(name, "date=%4d-%2d-%2d%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &end) != 3 || name[end]) return -1;
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    int64_t hour = timegm(&utc) / SECONDS_AN_HOUR;
    if (hour < 0) return -1;
    date_name(again, hour);
    return strcmp(name, again) ? -1 : hour;
}

int64_t archive_parse_hour(const char *name) {
    int hour = -1, end = 0;
    if (sscanf(name, "hour=%2d%n", &hour, &end) != 1 || end != 7 || name[end] || hour < 0 || hour > 23) return -1;
    return hour;
}

bool archive_parse(enum archive_tree tree, const char *name, int32_t *partition, struct archive_file *file) {
    bool merged = tree == ARCHIVE_MERGED;
    struct archive_file parsed = {.hour = 0};
    int fields = sscanf(name, "%" SCNd32 "-%" SCNd64 "-%" SCNd64, partition, &parsed.first, &parsed.end);
    if (fields != (merged ? 3 : 2) || *partition < 0 || parsed.first < 0) return false;
    if (merged && parsed.end <= parsed.first) return false;
    char *again = file_name(*partition, parsed);
    bool same = strcmp(name, again) == 0;
    free(again);
    if (same) *file = parsed;
    return same;
}

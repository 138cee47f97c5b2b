#include "history-sink/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum { SECONDS_AN_HOUR = 3600, DATE_SIZE = 64 };

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

static char *date_path(const char *dir, int64_t hour) {
    char date[DATE_SIZE];
    date_name(date, hour);
    return mem_format("%s/%s", dir, date);
}

static char *hour_path(const char *dir, int64_t hour) {
    char date[DATE_SIZE];
    date_name(date, hour);
    return mem_format("%s/%s/hour=%02d", dir, date, (int)(hour % 24));
}

static char *file_name(int32_t partition, int64_t first) {
    return mem_format("%05" PRId32 "-%019" PRId64 ".avro", partition, first);
}

char *archive_path(const char *dir, int32_t partition, struct archive_file file) {
    char *folder = hour_path(dir, file.hour), *name = file_name(partition, file.first);
    char *path = mem_format("%s/%s", folder, name);
    free(folder);
    free(name);
    return path;
}

char *archive_temporary_path(const char *dir, int32_t partition, struct archive_file file) {
    uint64_t unique = 0;
    char *folder = hour_path(dir, file.hour);
    if (getrandom(&unique, sizeof unique, 0) != sizeof unique) abort(); // never short for eight bytes
    char *path =
        mem_format("%s/.%05" PRId32 "-%019" PRId64 "-%016" PRIx64 ".tmp", folder, partition, file.first, unique);
    free(folder);
    return path;
}

/* The day that a folder's name says, in hours since the epoch; -1 for what is none of ours. */
static int64_t date_of(const char *name) {
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

static int64_t hour_of(const char *name) {
    int hour = -1, end = 0;
    if (sscanf(name, "hour=%2d%n", &hour, &end) != 1 || end != 7 || name[end] || hour < 0 || hour > 23) return -1;
    return hour;
}

static bool is_file(const char *name, int32_t *partition, int64_t *first) {
    if (sscanf(name, "%" SCNd32 "-%" SCNd64, partition, first) != 2 || *partition < 0 || *first < 0) return false;
    char *again = file_name(*partition, *first);
    bool same = strcmp(name, again) == 0;
    free(again);
    return same;
}

static bool is_temporary(const char *name, int32_t *partition) {
    size_t size = strlen(name);
    return name[0] == '.' && size > 4 && strcmp(name + size - 4, ".tmp") == 0 &&
           sscanf(name + 1, "%" SCNd32 "-", partition) == 1;
}

/* ---- folders ---- */

static int failed(struct error *error, const char *path) {
    int code = -errno;
    return error_set(error, code, "%s: %s", path, strerror(-code));
}

static int sync_folder(const char *path, struct error *error) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;
    if (fd < 0) return failed(error, path);
    if (fsync(fd)) code = failed(error, path);
    close(fd);
    return code;
}

static int make_folder(const char *path, struct error *error) {
    return mkdir(path, 0777) && errno != EEXIST ? failed(error, path) : 0;
}

/* The names in the folders of an hour are on disk: those folders may be new themselves. */
static int sync_folders(const char *dir, int64_t hour, struct error *error) {
    char *date = date_path(dir, hour), *path = hour_path(dir, hour);
    int code = sync_folder(path, error);
    if (code == 0) code = sync_folder(date, error);
    if (code == 0) code = sync_folder(dir, error);
    free(date);
    free(path);
    return code;
}

int archive_create_hour(const char *dir, int64_t hour, struct error *error) {
    char *date = date_path(dir, hour), *path = hour_path(dir, hour);
    int code = make_folder(date, error);
    if (code == 0) code = make_folder(path, error);
    free(date);
    free(path);
    return code;
}

struct file_names {
    char **items;
    size_t count;
};

static void names_clear(struct file_names *names) {
    for (size_t i = 0; i < names->count; i++) free(names->items[i]);
    free(names->items);
    *names = (struct file_names){.items = NULL, .count = 0};
}

static int descending(const void *a, const void *b) {
    return -strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What is in a folder, the greatest name first. A folder that is gone is empty, unless it must be there. */
static int names_read(const char *path, bool must, struct file_names *names, struct error *error) {
    size_t room = 0;
    DIR *folder = opendir(path);
    *names = (struct file_names){.items = NULL, .count = 0};
    if (!folder) return errno == ENOENT && !must ? 0 : failed(error, path);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) break;
        if (names->count == room) {
            room = room ? 2 * room : 64;
            names->items = mem_resize(names->items, room, sizeof *names->items);
        }
        names->items[names->count++] = mem_string(entry->d_name);
    }
    int code = errno ? failed(error, path) : 0;
    closedir(folder);
    if (code)
        names_clear(names);
    else if (names->count)
        qsort(names->items, names->count, sizeof *names->items, descending);
    return code;
}

/* ---- scanning ---- */

struct scan {
    const char *dir;
    struct archive_wanted *wanted;
    size_t count;
    size_t *by_partition; /* partition -> index in wanted + 1; 0: not wanted */
    int32_t partitions;
    bool *done; /* by index in wanted */
    size_t left;
    bool sweep;
};

static struct archive_wanted *scan_wanted(const struct scan *scan, int32_t partition, size_t *index) {
    if (partition < 0 || partition >= scan->partitions || !scan->by_partition[partition]) return NULL;
    *index = scan->by_partition[partition] - 1;
    return scan->done[*index] ? NULL : &scan->wanted[*index];
}

static void list_add(struct archive_list *list, struct archive_file file) {
    if ((list->count & (list->count - 1)) == 0) // full, at every power of two
        list->files = mem_resize(list->files, list->count ? 2 * list->count : 1, sizeof *list->files);
    list->files[list->count++] = file;
}

static void scan_name(struct scan *scan, const char *folder, int64_t hour, const char *name) {
    int32_t partition;
    int64_t first;
    size_t index;
    if (is_file(name, &partition, &first)) {
        struct archive_wanted *wanted = scan_wanted(scan, partition, &index);
        if (wanted) list_add(&wanted->found, (struct archive_file){.hour = hour, .first = first});
    } else if (scan->sweep && is_temporary(name, &partition) && scan_wanted(scan, partition, &index)) {
        char *path = mem_format("%s/%s", folder, name);
        unlink(path);
        free(path);
    }
}

static int scan_hour(struct scan *scan, const char *folder, int64_t hour, struct error *error) {
    struct file_names names;
    int code = names_read(folder, false, &names, error);
    if (code) return code;
    for (size_t i = 0; i < names.count; i++) scan_name(scan, folder, hour, names.items[i]);
    names_clear(&names);
    // Names of one hour come in an order of their own, so only a whole hour tells whether it went back far enough.
    for (size_t i = 0; i < scan->count; i++) {
        const struct archive_list *found = &scan->wanted[i].found;
        bool enough = false;
        for (size_t j = 0; j < found->count && !enough; j++) enough = found->files[j].first <= scan->wanted[i].from;
        if (!enough || scan->done[i]) continue;
        scan->done[i] = true;
        scan->left--;
    }
    return 0;
}

static int scan_date(struct scan *scan, const char *name, int64_t date, struct error *error) {
    struct file_names hours;
    char *path = mem_format("%s/%s", scan->dir, name);
    int code = names_read(path, false, &hours, error);
    for (size_t i = 0; code == 0 && scan->left && i < hours.count; i++) {
        int64_t hour = hour_of(hours.items[i]);
        if (hour < 0) continue;
        char *folder = mem_format("%s/%s", path, hours.items[i]);
        code = scan_hour(scan, folder, date + hour, error);
        free(folder);
    }
    names_clear(&hours);
    free(path);
    return code;
}

static int by_first(const void *a, const void *b) {
    const struct archive_file *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Ascending, without what lies before the wanted offset. */
static void list_finish(struct archive_list *list, int64_t from) {
    size_t skip = 0;
    if (list->count) qsort(list->files, list->count, sizeof *list->files, by_first);
    while (skip + 1 < list->count && list->files[skip + 1].first <= from) skip++;
    list->count -= skip;
    if (skip) memmove(list->files, list->files + skip, list->count * sizeof *list->files);
}

int archive_scan(const char *dir, struct archive_wanted *wanted, size_t count, bool sweep, struct error *error) {
    struct scan scan = {.dir = dir, .wanted = wanted, .count = count, .left = count, .sweep = sweep};
    struct file_names dates;
    for (size_t i = 0; i < count; i++)
        if (wanted[i].partition >= scan.partitions) scan.partitions = wanted[i].partition + 1;
    int code = names_read(dir, true, &dates, error);
    if (code) return code;
    scan.by_partition = mem_zero((size_t)scan.partitions + 1, sizeof *scan.by_partition);
    scan.done = mem_zero(count + 1, sizeof *scan.done);
    for (size_t i = 0; i < count; i++) scan.by_partition[wanted[i].partition] = i + 1;
    for (size_t i = 0; code == 0 && scan.left && i < dates.count; i++) {
        int64_t date = date_of(dates.items[i]);
        if (date >= 0) code = scan_date(&scan, dates.items[i], date, error);
    }
    for (size_t i = 0; i < count; i++) list_finish(&wanted[i].found, wanted[i].from);
    names_clear(&dates);
    free(scan.by_partition);
    free(scan.done);
    return code;
}

/* ---- publishing ---- */

/* Has the chain gone on (or been cut) since? What link decides is decided under the same name only; this look also refuses
 * an owner that slept until Kafka dropped records that it has read, and so may disagree about the hour. */
static int check_newest(const char *dir, int32_t partition, const struct archive_file *before, struct error *error) {
    struct archive_wanted wanted = {.partition = partition, .from = INT64_MAX};
    int code = archive_scan(dir, &wanted, 1, false, error);
    if (code == 0) {
        const struct archive_file *newest = wanted.found.count ? &wanted.found.files[0] : NULL;
        bool same = newest && before ? newest->first == before->first : !newest && !before;
        if (!same) code = error_set(error, -EEXIST, "partition %d: another file is the newest now", partition);
    }
    archive_list_clear(&wanted.found);
    return code;
}

/* NFS may answer EEXIST to a link that it made: a lost reply makes it ask twice. */
static bool is_linked(const char *temporary) {
    struct stat status;
    return stat(temporary, &status) == 0 && status.st_nlink == 2;
}

int archive_publish(const char *dir, int32_t partition, const struct archive_file *before, struct archive_file file,
                    const char *temporary, struct error *error) {
    char *path = archive_path(dir, partition, file);
    int code = check_newest(dir, partition, before, error);
    if (code == 0 && link(temporary, path) && !is_linked(temporary)) {
        code = failed(error, path);
        // Somebody who has taken over swept it away.
        if (code == -ENOENT) code = error_set(error, -EEXIST, "%s is gone", temporary);
    }
    unlink(temporary);
    if (code == 0) code = sync_folders(dir, file.hour, error);
    free(path);
    return code;
}

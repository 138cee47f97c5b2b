#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "history-sink/archive.h"

/* ---- the names in a folder ---- */

struct named_entry {
    char *name;
    int64_t changed_ms;
};

struct named_entries {
    struct named_entry *items;
    size_t count;
};

static void entries_clear(struct named_entries *entries) {
    for (size_t i = 0; i < entries->count; i++) free(entries->items[i].name);
    free(entries->items);
    *entries = (struct named_entries){.items = NULL, .count = 0};
}

static void entries_add(void *context, const struct storage_entry *entry) {
    struct named_entries *entries = context;
    if ((entries->count & (entries->count - 1)) == 0) // full, at every power of two
        entries->items = mem_resize(entries->items, entries->count ? 2 * entries->count : 1, sizeof *entries->items);
    entries->items[entries->count++] =
        (struct named_entry){.name = mem_string(entry->name), .changed_ms = entry->changed_ms};
}

static int descending(const void *a, const void *b) {
    return -strcmp(((const struct named_entry *)a)->name, ((const struct named_entry *)b)->name);
}

/* Reads the entries of a folder, the greatest name first. */
static int entries_read(struct storage *storage, const char *path, struct named_entries *entries, struct error *error) {
    *entries = (struct named_entries){.items = NULL, .count = 0};
    int code = storage_list(storage, path, entries_add, entries, error);
    if (code)
        entries_clear(entries);
    else if (entries->count)
        qsort(entries->items, entries->count, sizeof *entries->items, descending);
    return code;
}

/* ---- one tree ---- */

struct tree_scan {
    struct storage *storage;
    enum archive_tree tree;
    struct archive_wanted *wanted;
    size_t count;
    size_t *by_partition; /* partition -> index in wanted + 1; 0: not wanted */
    int32_t partitions;
    bool *done; /* by index in wanted */
    size_t left;
    bool sweep;
    int64_t before; /* only hours before this one */
};

static struct tree_scan scan_begin(struct storage *storage, enum archive_tree tree, struct archive_wanted *wanted,
                                   size_t count) {
    struct tree_scan scan = {
        .storage = storage, .tree = tree, .wanted = wanted, .count = count, .left = count, .before = INT64_MAX};
    for (size_t i = 0; i < count; i++)
        if (wanted[i].partition >= scan.partitions) scan.partitions = wanted[i].partition + 1;
    scan.by_partition = mem_zero((size_t)scan.partitions + 1, sizeof *scan.by_partition);
    scan.done = mem_zero(count + 1, sizeof *scan.done);
    for (size_t i = 0; i < count; i++) scan.by_partition[wanted[i].partition] = i + 1;
    return scan;
}

static void scan_end(struct tree_scan *scan) {
    free(scan->by_partition);
    free(scan->done);
}

static struct archive_wanted *scan_wanted(const struct tree_scan *scan, int32_t partition) {
    if (partition < 0 || partition >= scan->partitions || !scan->by_partition[partition]) return NULL;
    size_t index = scan->by_partition[partition] - 1;
    return scan->done[index] ? NULL : &scan->wanted[index];
}

static void scan_entry(const struct tree_scan *scan, int64_t hour, const struct named_entry *entry) {
    int32_t partition;
    struct archive_file file;
    if (!archive_parse(scan->tree, entry->name, &partition, &file)) return;
    struct archive_wanted *wanted = scan_wanted(scan, partition);
    file.hour = hour;
    file.changed_ms = entry->changed_ms;
    if (wanted) archive_list_add(&wanted->found, file);
}

static bool is_swept(void *context, const char *name) {
    int32_t partition;
    return sscanf(name, "%" SCNd32 "-", &partition) == 1 && scan_wanted(context, partition);
}

static int scan_hour(struct tree_scan *scan, const char *folder, int64_t hour, struct error *error) {
    struct named_entries names;
    int code = entries_read(scan->storage, folder, &names, error);
    if (code) return code;
    for (size_t i = 0; i < names.count; i++) scan_entry(scan, hour, &names.items[i]);
    entries_clear(&names);
    if (scan->sweep) code = storage_sweep(scan->storage, folder, is_swept, scan, error);
    if (code > 0) code = 0; // what lies below was swept, too
    // Names of one hour come in an order of their own, so only a whole hour tells whether it went back far enough.
    for (size_t i = 0; i < scan->count; i++) {
        const struct archive_list *found = &scan->wanted[i].found;
        bool enough = false;
        for (size_t j = 0; j < found->count && !enough; j++) enough = found->files[j].first <= scan->wanted[i].from;
        if (!enough || scan->done[i]) continue;
        scan->done[i] = true;
        scan->left--;
    }
    return code;
}

static int scan_date(struct tree_scan *scan, const char *name, int64_t date, struct error *error) {
    struct named_entries hours;
    char *path = archive_date_path(scan->tree, name);
    int code = entries_read(scan->storage, path, &hours, error);
    for (size_t i = 0; code == 0 && scan->left && i < hours.count; i++) {
        int64_t hour = archive_parse_hour(hours.items[i].name);
        if (hour < 0 || date + hour >= scan->before) continue;
        char *folder = mem_format("%s/%s", path, hours.items[i].name);
        code = scan_hour(scan, folder, date + hour, error);
        free(folder);
    }
    entries_clear(&hours);
    free(path);
    return code;
}

/* Removes hidden files of what is wanted wherever that is one question. 1; 0: folder by folder, as they are scanned; negative. */
static int sweep_all(struct storage *storage, struct archive_wanted *wanted, size_t count, struct error *error) {
    struct tree_scan scan = scan_begin(storage, ARCHIVE_SMALL, wanted, count);
    int code = storage_sweep(storage, "", is_swept, &scan, error);
    scan_end(&scan);
    return code;
}

/* Newest hours first, no further back than needed. */
static int scan_tree(struct storage *storage, enum archive_tree tree, struct archive_wanted *wanted, size_t count,
                     int64_t before, bool sweep, struct error *error) {
    struct named_entries dates;
    char *path = archive_date_path(tree, "");
    int code = entries_read(storage, path, &dates, error);
    free(path);
    if (code) return code;
    struct tree_scan scan = scan_begin(storage, tree, wanted, count);
    scan.sweep = sweep;
    scan.before = before;
    for (size_t i = 0; code == 0 && scan.left && i < dates.count; i++) {
        int64_t date = archive_parse_date(dates.items[i].name);
        if (date >= 0 && date < before) code = scan_date(&scan, dates.items[i].name, date, error);
    }
    scan_end(&scan);
    entries_clear(&dates);
    return code;
}

/* ---- both trees ---- */

static int by_first(const void *a, const void *b) {
    const struct archive_file *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->hour > y->hour) - (x->hour < y->hour);
}

static void list_sort(struct archive_list *list) {
    if (list->count) qsort(list->files, list->count, sizeof *list->files, by_first);
}

/* Ascending, without small files that are covered and without what lies before the wanted offset. */
static void chain_make(struct archive_list *small, const struct archive_list *merged, int64_t from) {
    size_t kept = 0, skip = 0;
    for (size_t i = 0; i < small->count; i++) {
        bool covered = false;
        for (size_t j = 0; j < merged->count && !covered; j++)
            covered = archive_covers(&merged->files[j], &small->files[i]);
        if (!covered) small->files[kept++] = small->files[i];
    }
    small->count = 0;
    struct archive_list chain = {.files = NULL, .count = 0};
    for (size_t i = 0; i < kept; i++) archive_list_add(&chain, small->files[i]);
    for (size_t i = 0; i < merged->count; i++) archive_list_add(&chain, merged->files[i]);
    archive_list_clear(small);
    list_sort(&chain);
    while (skip + 1 < chain.count && chain.files[skip + 1].first <= from) skip++;
    chain.count -= skip;
    if (skip) memmove(chain.files, chain.files + skip, chain.count * sizeof *chain.files);
    *small = chain;
}

int archive_scan(struct storage *storage, struct archive_wanted *wanted, size_t count, bool sweep,
                 struct error *error) {
    struct archive_wanted *merged = mem_zero(count + 1, sizeof *merged);
    for (size_t i = 0; i < count; i++)
        merged[i] = (struct archive_wanted){.partition = wanted[i].partition, .from = wanted[i].from};
    int code = sweep ? sweep_all(storage, wanted, count, error) : 0;
    if (code > 0) sweep = false;
    // In this order: a small file that is gone by now has been merged before.
    if (code >= 0) code = scan_tree(storage, ARCHIVE_SMALL, wanted, count, INT64_MAX, sweep, error);
    if (code == 0) code = scan_tree(storage, ARCHIVE_MERGED, merged, count, INT64_MAX, sweep, error);
    for (size_t i = 0; i < count; i++) {
        if (code == 0) chain_make(&wanted[i].found, &merged[i].found, wanted[i].from);
        archive_list_clear(&merged[i].found);
    }
    free(merged);
    return code;
}

int archive_scan_small(struct storage *storage, struct archive_wanted *wanted, size_t count, struct error *error) {
    for (size_t i = 0; i < count; i++) wanted[i].from = -1;
    int code = scan_tree(storage, ARCHIVE_SMALL, wanted, count, INT64_MAX, false, error);
    for (size_t i = 0; code == 0 && i < count; i++) list_sort(&wanted[i].found);
    return code;
}

int archive_scan_old(struct storage *storage, int64_t before, struct archive_wanted *wanted, size_t count, bool sweep,
                     struct error *error) {
    for (size_t i = 0; i < count; i++) wanted[i].from = -1;
    int code = scan_tree(storage, ARCHIVE_SMALL, wanted, count, before, sweep, error);
    if (code == 0) code = scan_tree(storage, ARCHIVE_MERGED, wanted, count, before, sweep, error);
    for (size_t i = 0; code == 0 && i < count; i++) list_sort(&wanted[i].found);
    return code;
}

int archive_scan_merged(struct storage *storage, int64_t hour, struct archive_wanted *wanted, size_t count,
                        struct error *error) {
    struct tree_scan scan = scan_begin(storage, ARCHIVE_MERGED, wanted, count);
    char *folder = archive_hour_path(ARCHIVE_MERGED, hour);
    int code = scan_hour(&scan, folder, hour, error);
    for (size_t i = 0; code == 0 && i < count; i++) list_sort(&wanted[i].found);
    free(folder);
    scan_end(&scan);
    return code;
}

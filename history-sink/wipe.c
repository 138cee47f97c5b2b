#include "history-sink/wipe.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "history-sink/segment.h"

/* A file, and what is to go from it. */
struct wiping_file {
    const struct wipe_options *options;
    int32_t partition;
    struct archive_file file;
};

static bool row_goes(const struct wipe_options *options, const struct history_row *row) {
    size_t place = sorted_items_below(options->users, sizeof *options->users, options->count, row->user);
    return place < options->count && options->users[place].user == row->user &&
           row->received < options->users[place].before;
}

static int stopped(const struct wipe_options *options, struct error *error) {
    return atomic_load_explicit(options->stop, memory_order_relaxed)
               ? error_set(error, -ECANCELED, "taking rows out of files was stopped")
               : 0;
}

/* 1: a row of the file goes. 0: none does. Negative: an error. A sorted file is read up to the last of the users. */
static int any_goes(const struct wiping_file *of, bool *detailed, struct error *error) {
    const struct wipe_options *options = of->options;
    struct segment_reader *reader;
    struct history_row row;
    bool found = false;
    int code = segment_reader_open(options->storage, of->partition, of->file, &reader, error);
    if (code) return code;
    *detailed = segment_reader_detailed(reader);
    while (!found && code >= 0) {
        code = segment_reader_next(reader, &row, error);
        if (code <= 0 || (segment_reader_sorted(reader) && row.user > options->users[options->count - 1].user)) break;
        found = row_goes(options, &row);
        code = stopped(options, error);
    }
    segment_reader_free(reader);
    return code < 0 ? code : found;
}

/* ---- files of version 0.1 ---- */

struct kept_rows {
    struct history_row *items;
    size_t count;
};

static int write_sorted(struct kept_rows *kept, struct segment_writer *writer, struct error *error) {
    int code = 0;
    if (kept->count) qsort(kept->items, kept->count, sizeof *kept->items, segment_row_order);
    for (size_t i = 0; code == 0 && i < kept->count; i++) code = segment_writer_append(writer, &kept->items[i], error);
    return code;
}

static void keep(struct kept_rows *kept, const struct history_row *row) {
    if ((kept->count & (kept->count - 1)) == 0) // full, at every power of two
        kept->items = mem_resize(kept->items, kept->count ? 2 * kept->count : 1, sizeof *kept->items);
    kept->items[kept->count++] = *row;
}

/* ---- replacing ---- */

/* Those of version 0.1 are by offset, and become sorted ones. */
static int copy_rows(const struct wiping_file *of, struct segment_writer *writer, int64_t *gone, struct error *error) {
    struct segment_reader *reader;
    struct history_row row;
    struct kept_rows kept = {.items = NULL, .count = 0};
    int code = segment_reader_open(of->options->storage, of->partition, of->file, &reader, error);
    if (code) return code;
    bool sorted = segment_reader_sorted(reader);
    while ((code = segment_reader_next(reader, &row, error)) > 0) {
        if (row_goes(of->options, &row))
            ++*gone;
        else if (sorted)
            code = segment_writer_append(writer, &row, error);
        else
            keep(&kept, &row);
        if (code >= 0) code = stopped(of->options, error);
        if (code < 0) break;
    }
    if (code == 0) code = write_sorted(&kept, writer, error);
    free(kept.items);
    segment_reader_free(reader);
    return code;
}

static int replace(const struct wiping_file *of, bool detailed, struct wipe_done *done, struct error *error) {
    struct segment_writer *writer;
    struct storage_writer *file;
    int64_t end, gone = 0;
    int code = segment_measure(of->options->storage, of->partition, of->file, &end, error);
    if (code) return code;
    char *path = archive_path(of->partition, of->file);
    code = segment_writer_open(of->options->storage, path, end, detailed, &writer, error);
    free(path);
    if (code) return code;
    code = copy_rows(of, writer, &gone, error);
    if (code) {
        segment_writer_abandon(writer);
        return code;
    }
    code = segment_writer_finish(writer, &file, error);
    if (code) return code;
    code = stopped(of->options, error); // the partition may be another's by now
    if (code)
        storage_abandon(file);
    else
        code = storage_replace(file, error);
    if (code) return code;
    done->files++;
    done->rows += gone;
    return 0;
}

static int wipe_file(const struct wiping_file *of, struct wipe_done *done, struct error *error) {
    bool detailed = false;
    int found = any_goes(of, &detailed, error);
    return found > 0 ? replace(of, detailed, done, error) : found;
}

/* ---- a pass ---- */

static bool is_due(const struct wipe_position *position, const struct archive_file *file) {
    bool merged = file->end != 0;
    if (merged != position->merged) return false;
    return merged ? file->end > position->from : file->first >= position->from;
}

/* Only the files that are due are left. */
static void list_due(struct archive_list *files, const struct wipe_position *position) {
    size_t due = 0;
    for (size_t i = 0; i < files->count; i++)
        if (is_due(position, &files->files[i])) files->files[due++] = files->files[i];
    files->count = due;
}

static void failed(struct wipe_position *position, int code, const struct error *reason, struct wipe_done *done,
                   struct error *error) {
    position->unclean = true;
    if (code == -ENOENT) return; // merged and removed since it was listed
    done->failures++;
    error_set(error, code, "%s", reason->text);
}

/* 1: the time is over; 0: all are done; negative: it was stopped. */
static int wipe_listed(const struct wipe_options *options, int32_t partition, const struct archive_list *due,
                       struct wipe_position *position, struct wipe_done *done, struct error *error) {
    for (size_t i = 0; i < due->count; i++) {
        const struct archive_file *file = &due->files[i];
        const struct wiping_file of = {.options = options, .partition = partition, .file = *file};
        struct error reason;
        int code = wipe_file(&of, done, &reason);
        if (code == -ECANCELED) return error_set(error, code, "%s", reason.text);
        if (code) failed(position, code, &reason, done, error);
        // An hour's empty last file begins where the next hour's first one does: both are done before either counts as done.
        if (i + 1 < due->count && due->files[i + 1].first == file->first) continue;
        position->from = file->end ? file->end : file->first + 1;
        if (clock_monotonic_us() >= options->until_us) return 1;
    }
    return 0;
}

/* Hidden files that killed processes have left may hold rows that go. In the newest hour somebody may be writing; whoever takes the
 * partition over sweeps that. */
static int sweep_old(struct storage *storage, int32_t partition, const struct archive_list *files,
                     struct error *error) {
    struct archive_wanted old = {.partition = partition};
    int64_t newest = 0;
    for (size_t i = 0; i < files->count; i++)
        if (files->files[i].hour > newest) newest = files->files[i].hour;
    int code = archive_scan_old(storage, newest, &old, 1, true, error);
    archive_list_clear(&old.found);
    return code;
}

int wipe_files(const struct wipe_options *options, int32_t partition, struct wipe_position *position,
               struct wipe_done *done, struct error *error) {
    int code = 0;
    if (!options->count) return 0;
    for (bool last = false; code == 0 && !last;) {
        struct archive_wanted wanted = {.partition = partition};
        last = position->merged;
        code = archive_scan_old(options->storage, INT64_MAX, &wanted, 1, false, error);
        if (code == 0 && !position->merged && position->from == 0)
            code = sweep_old(options->storage, partition, &wanted.found, error);
        list_due(&wanted.found, position);
        if (code == 0) code = wipe_listed(options, partition, &wanted.found, position, done, error);
        archive_list_clear(&wanted.found);
        if (code == 0 && !last) *position = (struct wipe_position){.merged = true, .unclean = position->unclean};
    }
    return code;
}

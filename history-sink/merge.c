#include "history-sink/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "history-sink/merge_rows.h"

enum { HOUR_MS = 3600000 };

/* One partition's small files of one hour. */
struct hour_run {
    int32_t partition;
    const struct archive_file *files;
    size_t count;
    int64_t end; /* the offset behind them */
};

/* ---- merging ---- */

/* The sources of a merge, those of the scratch among them: a line that is taken from in front and grows behind. */
struct source_line {
    struct merge_source *items;
    size_t from, count;
    int64_t spilled; /* files of the scratch so far: their names are numbers */
    bool detailed;   /* a file of the run is */
};

static void line_add(struct source_line *line, struct merge_source source) {
    line->items = mem_resize(line->items, line->count + 1, sizeof *line->items);
    line->items[line->count++] = source;
}

/* A scratch file may hold any offset. Its place among the hours is its number. */
static struct archive_file spill_file(struct source_line *line) {
    return (struct archive_file){.hour = line->spilled++, .first = 0, .end = INT64_MAX};
}

static void spill_remove(const struct merge_options *options, const struct hour_run *run,
                         const struct merge_source *source) {
    struct error ignored; // the next run of the same name is told
    if (source->storage != options->scratch) return;
    char *path = archive_path(run->partition, source->file);
    storage_remove(options->scratch, path, &ignored);
    free(path);
}

/* Nobody else removes what is in the scratch. So what is not there is trouble, unlike a file of the storage. */
static int of_scratch(int code) { return code == -ENOENT ? -EIO : code; }

static int spill_open(const struct merge_options *options, const struct hour_run *run, struct archive_file file,
                      struct segment_writer **writer, struct error *error) {
    char *path = archive_path(run->partition, file);
    int code = segment_writer_open(options->scratch, path, file.end, true, writer, error);
    free(path);
    return of_scratch(code);
}

static int spill_finish(struct segment_writer *writer, struct error *error) {
    struct storage_writer *file;
    int code = segment_writer_finish(writer, &file, error);
    if (code == 0) code = storage_replace(file, error);
    return of_scratch(code);
}

/* Merges the first sources of the line into a scratch file, and puts that behind the others. */
static int spill(const struct merge_options *options, const struct hour_run *run, struct source_line *line,
                 struct error *error) {
    struct merge_source made = {.storage = options->scratch, .file = spill_file(line), .ours = true};
    const struct merge_source *sources = &line->items[line->from];
    struct segment_writer *writer;
    int64_t rows = 0;
    int code = spill_open(options, run, made.file, &writer, error);
    if (code) return code;
    code = merge_rows(sources, MERGE_FILES, run->partition, options->stop, writer, &rows, error);
    if (code)
        segment_writer_abandon(writer);
    else
        code = spill_finish(writer, error);
    if (code) return code;
    for (size_t i = 0; i < MERGE_FILES; i++) spill_remove(options, run, &sources[i]);
    line->from += MERGE_FILES;
    line_add(line, made);
    return 0;
}

/* Adds a file of version 0.1, sorted, by way of the scratch. *end: where the file ends. */
static int add_unsorted(const struct merge_options *options, const struct hour_run *run, struct source_line *line,
                        const struct merge_source *source, int64_t *end, struct error *error) {
    struct merge_source made = {.storage = options->scratch, .file = spill_file(line), .ours = true};
    struct segment_writer *writer;
    int code = spill_open(options, run, made.file, &writer, error);
    if (code) return code;
    code = merge_sort_rows(source, run->partition, writer, end, error);
    if (code)
        segment_writer_abandon(writer);
    else
        code = spill_finish(writer, error);
    if (code == 0) line_add(line, made);
    return code;
}

/* Adds the run's file, sorted. *end: where it ends. */
static int add_file(const struct merge_options *options, const struct hour_run *run, struct source_line *line, size_t i,
                    int64_t *end, struct error *error) {
    struct merge_source source = {.storage = options->storage, .file = run->files[i], .ours = false};
    struct segment_reader *reader;
    int code = segment_reader_open(source.storage, run->partition, source.file, &reader, error);
    if (code) return code;
    bool sorted = segment_reader_sorted(reader);
    if (sorted) *end = segment_reader_end(reader);
    line->detailed |= segment_reader_detailed(reader);
    segment_reader_free(reader);
    if (!sorted) return add_unsorted(options, run, line, &source, end, error);
    line_add(line, source);
    return 0;
}

/* Files follow each other without a gap, whatever Kafka has dropped. The merged file would hide one that is missing, and of two that overlap
 * have rows twice. */
static int check_follows(const struct hour_run *run, size_t i, int64_t end, struct error *error) {
    int64_t next = i + 1 < run->count ? run->files[i + 1].first : run->end;
    if (end == next) return 0;
    char *path = archive_path(run->partition, run->files[i]);
    error_set(error, 0, "%s: ends at offset %" PRId64 ", but the next file begins at %" PRId64 ": %s", path, end, next,
              end < next ? "one is missing" : "they overlap");
    free(path);
    return -EBADMSG;
}

/* Until all sources are sorted, and few enough to be merged at once. */
static int line_prepare(const struct merge_options *options, const struct hour_run *run, struct source_line *line,
                        struct error *error) {
    for (size_t i = 0; i < run->count; i++) {
        int64_t end;
        int code = add_file(options, run, line, i, &end, error);
        if (code == 0) code = check_follows(run, i, end, error);
        if (code) return code;
    }
    while (line->count - line->from > MERGE_FILES) {
        int code = spill(options, run, line, error);
        if (code) return code;
    }
    return 0;
}

static int write_merged(const struct source_line *line, const struct merge_options *options, const struct hour_run *run,
                        int64_t hour, struct merge_done *done, struct error *error) {
    struct segment_writer *writer;
    struct storage_writer *file;
    int64_t rows = 0;
    char *path = archive_path(run->partition,
                              (struct archive_file){.hour = hour, .first = run->files[0].first, .end = run->end});
    int code = segment_writer_open(options->storage, path, run->end, line->detailed, &writer, error);
    free(path);
    if (code) return code;
    code = merge_rows(&line->items[line->from], line->count - line->from, run->partition, options->stop, writer, &rows,
                      error);
    if (code) {
        segment_writer_abandon(writer);
        return code == -EEXIST ? 0 : code; // a new owner has swept it away
    }
    code = segment_writer_finish(writer, &file, error);
    if (code) return code == -EEXIST ? 0 : code;
    int64_t bytes = storage_written(file);
    code = storage_publish(file, error);
    if (code == -EEXIST) return 0; // another process was faster
    if (code) return code;
    done->merged_files++;
    done->merged_rows += rows;
    done->merged_bytes += bytes;
    return 0;
}

static int merge_run(const struct merge_options *options, const struct hour_run *run, int64_t hour,
                     struct merge_done *done, struct error *error) {
    struct source_line line = {.items = NULL, .from = 0, .count = 0, .spilled = 0, .detailed = false};
    int code = line_prepare(options, run, &line, error);
    if (code == 0) code = write_merged(&line, options, run, hour, done, error);
    for (size_t i = line.from; i < line.count; i++) spill_remove(options, run, &line.items[i]);
    free(line.items);
    return code;
}

/* ---- the scratch ---- */

struct scratch_folder {
    struct storage *scratch;
    const char *path;
};

static bool any_name(void *context, const char *name) { return true; }

static void clean_entry(void *context, const struct storage_entry *entry) {
    const struct scratch_folder *folder = context;
    struct error ignored; // what stays takes room, and does no other harm
    char *path = mem_format("%s%s%s", folder->path, *folder->path ? "/" : "", entry->name);
    struct scratch_folder below = {.scratch = folder->scratch, .path = path};
    int code = storage_list(folder->scratch, path, clean_entry, &below, &ignored);
    if (code == -ENOTDIR) storage_remove(folder->scratch, path, &ignored);
    if (code == 0) storage_sweep(folder->scratch, path, any_name, NULL, &ignored); // what was being written
    free(path);
}

int merge_clean(struct storage *scratch, struct error *error) {
    return storage_list(scratch, "", clean_entry, &(struct scratch_folder){.scratch = scratch, .path = ""}, error);
}

/* ---- an hour ---- */

static int remove_run(const struct merge_options *options, const struct hour_run *run,
                      const struct archive_file *merged, struct merge_done *done, struct error *error) {
    int code = 0;
    if (options->now_ms - merged->changed_ms < options->keep_ms) return 0;
    for (size_t i = 0; i < run->count && code == 0; i++) {
        if (!archive_covers(merged, &run->files[i])) continue;
        char *path = archive_path(run->partition, run->files[i]);
        code = storage_remove(options->storage, path, error);
        free(path);
        done->removed_files += code == 0;
    }
    return code;
}

/* The files of an hour in a sorted list. */
static struct hour_run run_of(const struct archive_wanted *small, int64_t hour) {
    const struct archive_list *found = &small->found;
    size_t from = 0, to;
    while (from < found->count && found->files[from].hour < hour) from++;
    for (to = from; to < found->count && found->files[to].hour == hour;) to++;
    return (struct hour_run){
        .partition = small->partition, .files = found->count ? &found->files[from] : NULL, .count = to - from};
}

/* 1, with the end of the run: no file can be added to it any more. 0: one can. Negative: an error. */
static int run_closed(const struct merge_options *options, const struct archive_wanted *small, struct hour_run *run,
                      struct error *error) {
    const struct archive_file *last = &run->files[run->count - 1];
    bool newest = last == &small->found.files[small->found.count - 1];
    if (newest && options->now_ms < (last->hour + 1) * HOUR_MS) return 0;
    int code = segment_measure(options->storage, run->partition, *last, &run->end, error);
    if (code) return code;
    return !newest || run->end == last->first;
}

static int hour_of_partition(const struct merge_options *options, const struct archive_wanted *small, int64_t hour,
                             const struct archive_list *merged, struct merge_done *done, struct error *error) {
    struct hour_run run = run_of(small, hour);
    if (!run.count) return 0;
    for (size_t i = 0; i < merged->count; i++)
        if (archive_covers(&merged->files[i], &run.files[0]))
            return remove_run(options, &run, &merged->files[i], done, error);
    int closed = run_closed(options, small, &run, error);
    if (closed <= 0 || run.end <= run.files[0].first) return closed < 0 ? closed : 0;
    return merge_run(options, &run, hour, done, error);
}

static int merge_hour(const struct merge_options *options, const struct archive_wanted *small, size_t count,
                      int64_t hour, struct merge_done *done, struct error *error) {
    struct archive_wanted *merged = mem_zero(count + 1, sizeof *merged);
    for (size_t i = 0; i < count; i++) merged[i] = (struct archive_wanted){.partition = small[i].partition, .from = -1};
    int code = archive_scan_merged(options->storage, hour, merged, count, error);
    if (code == 0) {
        for (size_t i = 0; i < count; i++) {
            struct error reason;
            int failed = hour_of_partition(options, &small[i], hour, &merged[i].found, done, &reason);
            // Gone since it was listed: merged and removed by another process.
            if (failed && failed != -ENOENT && code == 0) code = error_set(error, failed, "%s", reason.text);
        }
    }
    for (size_t i = 0; i < count; i++) archive_list_clear(&merged[i].found);
    free(merged);
    return code;
}

/* The first hour from `hour` on that has small files; -1: none. */
static int64_t next_hour(const struct archive_wanted *small, size_t count, int64_t hour) {
    int64_t next = -1;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < small[i].found.count; j++) {
            int64_t its = small[i].found.files[j].hour;
            if (its >= hour && (next < 0 || its < next)) next = its;
        }
    return next;
}

int merge_round(const struct merge_options *options, const int32_t *partitions, size_t count, struct merge_done *done,
                struct error *error) {
    struct archive_wanted *small = mem_zero(count + 1, sizeof *small);
    for (size_t i = 0; i < count; i++) small[i] = (struct archive_wanted){.partition = partitions[i]};
    // In this order: a small file that is gone by the time of the second listing has been merged before.
    int code = archive_scan_small(options->storage, small, count, error);
    int64_t hour = code ? -1 : next_hour(small, count, 0);
    for (; hour >= 0; hour = next_hour(small, count, hour + 1)) {
        struct error reason;
        int failed = merge_hour(options, small, count, hour, done, &reason);
        if (failed && code == 0) code = error_set(error, failed, "%s", reason.text);
    }
    for (size_t i = 0; i < count; i++) archive_list_clear(&small[i].found);
    free(small);
    return code;
}

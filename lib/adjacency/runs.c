#include "adjacency/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/heap.h"
#include "base/mem.h"

enum {
    RECORD_MAX = 2 + 4 * VARINT_MAX,
    PIECE = 16 << 10, /* of a run, read from the file at once */
    SAME_LIST = 0x80  /* a flag, beside the tag */
};

struct sorted_run {
    struct buffer bytes; /* empty: it is in the file */
    int64_t at;          /* in the file */
    size_t size;
};

struct adjacency_runs {
    char *folder;
    bool kinds; /* more than one */
    int file;   /* -1: not needed yet */
    int64_t file_size;
    struct sorted_run *runs;
    size_t count, capacity, memory;
};

struct adjacency_runs *adjacency_runs_new(const char *folder, int kinds) {
    return MEM_NEW(&(struct adjacency_runs){.folder = mem_string(folder), .kinds = kinds > 1, .file = -1});
}

void adjacency_runs_free(struct adjacency_runs *runs) {
    if (!runs) return;
    for (size_t i = 0; i < runs->count; i++) buffer_free(&runs->runs[i].bytes);
    if (runs->file >= 0) close(runs->file);
    free(runs->runs);
    free(runs->folder);
    free(runs);
}

size_t adjacency_runs_bytes(const struct adjacency_runs *runs) { return runs->memory; }

/* ---- a run's bytes ---- */

static uint8_t *put(const struct adjacency_runs *runs, uint8_t *at, const struct adjacency_update *before,
                    const struct adjacency_update *update) {
    bool same = adjacency_update_same_list(update, before);
    *at++ = (uint8_t)(update->tag | (same ? SAME_LIST : 0));
    if (!same) at = varint_put(at, (uint64_t)(update->owner - before->owner));
    if (!same && runs->kinds) *at++ = update->kind;
    at = varint_put(at, (uint64_t)(same ? update->id - before->id : update->id));
    at = varint_put(at, zigzag(update->offset - before->offset));
    return varint_put(at, zigzag((int64_t)((uint64_t)update->stamp - (uint64_t)before->stamp)));
}

/* NULL: damaged. */
static const uint8_t *get(const struct adjacency_runs *runs, const uint8_t *at, const uint8_t *end,
                          struct adjacency_update *update) {
    uint64_t owner = 0, id, offset, stamp;
    if (at == end) return NULL;
    uint8_t flags = *at++;
    bool same = flags & SAME_LIST;
    if (!same) at = varint_get(at, end, &owner);
    if (!same && runs->kinds && at) {
        if (at == end) return NULL;
        update->kind = *at++;
    }
    if (at) at = varint_get(at, end, &id);
    if (at) at = varint_get(at, end, &offset);
    if (at) at = varint_get(at, end, &stamp);
    if (!at) return NULL;
    update->owner += (int64_t)owner;
    update->id = same ? update->id + (int64_t)id : (int64_t)id;
    update->offset += unzigzag(offset);
    update->stamp = (int64_t)((uint64_t)update->stamp + (uint64_t)unzigzag(stamp));
    update->tag = flags & (SAME_LIST - 1);
    return at;
}

void adjacency_runs_add(struct adjacency_runs *runs, struct adjacency_update *updates, size_t count) {
    struct adjacency_update before = {.owner = -1};
    struct sorted_run run = {.bytes = {.data = NULL}};
    count = adjacency_updates_tidy(updates, count);
    if (!count) return;
    for (size_t i = 0; i < count; i++) {
        uint8_t *from = buffer_reserve(&run.bytes, RECORD_MAX);
        buffer_commit(&run.bytes, (size_t)(put(runs, from, &before, &updates[i]) - from));
        before = updates[i];
    }
    run.bytes.data = mem_resize(run.bytes.data, run.bytes.size, 1); // grown by doubling
    run.bytes.capacity = run.size = run.bytes.size;
    MEM_ROOM(runs->runs, runs->count, runs->capacity);
    runs->runs[runs->count++] = run;
    runs->memory += run.size;
}

static int write_all(struct adjacency_runs *runs, const uint8_t *bytes, size_t size, struct error *error) {
    while (size) {
        ssize_t written = pwrite(runs->file, bytes, size, runs->file_size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return error_set(error, -errno, "%s: %s", runs->folder, strerror(errno));
        bytes += written;
        size -= (size_t)written;
        runs->file_size += written;
    }
    return 0;
}

int adjacency_runs_spill(struct adjacency_runs *runs, struct error *error) {
    if (runs->file < 0) {
        char *path = mem_format("%s/runs-XXXXXX", runs->folder);
        runs->file = mkostemp(path, O_CLOEXEC);
        if (runs->file >= 0) unlink(path);
        free(path);
        if (runs->file < 0) return error_set(error, -errno, "%s: %s", runs->folder, strerror(errno));
    }
    for (size_t i = 0; i < runs->count; i++) {
        struct sorted_run *run = &runs->runs[i];
        if (!run->bytes.size) continue;
        int64_t at = runs->file_size;
        int code = write_all(runs, run->bytes.data, run->size, error);
        if (code) return code;
        run->at = at;
        buffer_free(&run->bytes);
        runs->memory -= run->size;
    }
    return 0;
}

/* ---- merging ---- */

struct runs_source {
    const uint8_t *at, *end; /* what is in memory of the run */
    uint8_t *piece;          /* NULL: all of it is */
    int64_t file_at;         /* what follows */
    size_t file_left;
    size_t order;
    struct adjacency_update update;
};

struct runs_merge {
    struct adjacency_runs *runs;
    struct runs_source *sources;
    struct runs_source **heap; /* the least record first */
    size_t count;
};

static int refill(struct runs_merge *merge, struct runs_source *source, struct error *error) {
    size_t kept = (size_t)(source->end - source->at);
    memmove(source->piece, source->at, kept);
    while (kept < PIECE && source->file_left) {
        size_t wanted = PIECE - kept < source->file_left ? PIECE - kept : source->file_left;
        ssize_t got = pread(merge->runs->file, source->piece + kept, wanted, source->file_at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return error_set(error, -EIO, "%s: %s", merge->runs->folder, got ? strerror(errno) : "a run is cut short");
        kept += (size_t)got;
        source->file_at += got;
        source->file_left -= (size_t)got;
    }
    source->at = source->piece;
    source->end = source->piece + kept;
    return 0;
}

/* 1: source->update is the next record; 0: there is none. */
static int advance(struct runs_merge *merge, struct runs_source *source, struct error *error) {
    if (source->file_left && source->end - source->at < RECORD_MAX) {
        int code = refill(merge, source, error);
        if (code) return code;
    }
    if (source->at == source->end) return 0;
    source->at = get(merge->runs, source->at, source->end, &source->update);
    return source->at ? 1 : error_set(error, -EBADMSG, "%s: a run is damaged", merge->runs->folder);
}

static bool less(const struct runs_source *a, const struct runs_source *b) {
    if (a->update.owner != b->update.owner) return a->update.owner < b->update.owner;
    if (a->update.kind != b->update.kind) return a->update.kind < b->update.kind;
    if (a->update.id != b->update.id) return a->update.id < b->update.id;
    return a->order < b->order;
}

static int merge_open(struct runs_merge *merge, struct error *error) {
    struct adjacency_runs *runs = merge->runs;
    for (size_t i = 0; i < runs->count; i++) {
        struct sorted_run *run = &runs->runs[i];
        struct runs_source *source = &merge->sources[i];
        *source = (struct runs_source){.at = run->bytes.data, .order = i, .update = {.owner = -1}};
        source->end = source->at + run->bytes.size;
        if (!run->bytes.size) {
            source->piece = mem_alloc(PIECE);
            source->at = source->end = source->piece;
            source->file_at = run->at;
            source->file_left = run->size;
        }
        int code = advance(merge, source, error);
        if (code < 0) return code;
        if (code) merge->heap[merge->count++] = source;
    }
    for (size_t at = merge->count / 2; at-- > 0;) HEAP_SINK(merge->heap, merge->count, at, less);
    return 0;
}

/* The records of the current list that are gathered while runs are merged. */
struct list_piece {
    struct adjacency_update *updates;
    size_t count, capacity;
};

/* The next record is of another list, or the piece is full: hands over the gathered records. */
static int hand_over(struct list_piece *gathered, const struct adjacency_update *next, adjacency_runs_fn *fn,
                     void *context, struct error *error) {
    size_t count = gathered->count;
    if (!count) return 0;
    bool whole = !adjacency_update_same_list(gathered->updates, next);
    bool same_entry = !whole && gathered->updates[count - 1].id == next->id;
    if (same_entry) count--; // a later run's is right
    gathered->count = count;
    if (!whole && count < ADJACENCY_PIECE) return 0;
    gathered->count = 0;
    return fn(context, gathered->updates, count, whole, error);
}

static void gather(struct list_piece *gathered, const struct adjacency_update *update) {
    MEM_ROOM(gathered->updates, gathered->count, gathered->capacity);
    gathered->updates[gathered->count++] = *update;
}

static int merge_all(struct runs_merge *merge, struct list_piece *gathered, adjacency_runs_fn *fn, void *context,
                     struct error *error) {
    int code = merge_open(merge, error);
    while (code >= 0 && merge->count) {
        struct runs_source *least = merge->heap[0];
        code = hand_over(gathered, &least->update, fn, context, error);
        if (code) return code;
        gather(gathered, &least->update);
        code = advance(merge, least, error);
        if (code == 0) merge->heap[0] = merge->heap[--merge->count];
        if (code >= 0 && merge->count) HEAP_SINK(merge->heap, merge->count, 0, less);
    }
    if (code >= 0) code = gathered->count ? fn(context, gathered->updates, gathered->count, true, error) : 0;
    return code;
}

int adjacency_runs_merge(struct adjacency_runs *runs, adjacency_runs_fn *fn, void *context, struct error *error) {
    struct runs_merge merge = {
        .runs = runs,
        .sources = mem_zero(runs->count + 1, sizeof *merge.sources),
        .heap = mem_zero(runs->count + 1, sizeof *merge.heap),
    };
    struct list_piece gathered = {.updates = NULL};
    int code = merge_all(&merge, &gathered, fn, context, error);
    free(gathered.updates);
    for (size_t i = 0; i < runs->count; i++) free(merge.sources[i].piece);
    free(merge.sources);
    free(merge.heap);
    return code;
}

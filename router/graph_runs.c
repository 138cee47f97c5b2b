#include "router/graph_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/mem.h"

enum {
    RECORD_MAX = 1 + 4 * VARINT_MAX,
    PIECE = 16 << 10, /* of a run, read from the file at once */
    SAME_USER = 16    /* a flag, beside the state and who blocks */
};

struct run {
    struct buffer bytes; /* empty: it is in the file */
    int64_t at;          /* in the file */
    size_t size;
};

struct graph_runs {
    char *folder;
    int file; /* -1: not needed yet */
    int64_t file_size;
    struct run *runs;
    size_t count, capacity, memory;
};

struct graph_runs *graph_runs_new(const char *folder) {
    struct graph_runs *runs = mem_alloc(sizeof *runs);
    *runs = (struct graph_runs){.folder = mem_string(folder), .file = -1, .runs = NULL};
    return runs;
}

void graph_runs_free(struct graph_runs *runs) {
    if (!runs) return;
    for (size_t i = 0; i < runs->count; i++) buffer_free(&runs->runs[i].bytes);
    if (runs->file >= 0) close(runs->file);
    free(runs->runs);
    free(runs->folder);
    free(runs);
}

size_t graph_runs_bytes(const struct graph_runs *runs) { return runs->memory; }

/* ---- a run's bytes ---- */

static uint8_t *put(uint8_t *at, const struct graph_update *before, const struct graph_update *update) {
    bool same = update->user == before->user;
    *at++ = (uint8_t)(update->state | update->blocked_by_me << 2 | update->blocked_by_them << 3 | same << 4);
    if (!same) at = varint_put(at, (uint64_t)(update->user - before->user));
    at = varint_put(at, (uint64_t)(same ? update->other - before->other : update->other));
    at = varint_put(at, zigzag(update->offset - before->offset));
    return varint_put(at, zigzag((int64_t)((uint64_t)update->since - (uint64_t)before->since)));
}

/* NULL: damaged. */
static const uint8_t *get(const uint8_t *at, const uint8_t *end, struct graph_update *update) {
    uint64_t user = 0, other, offset, since;
    if (at == end) return NULL;
    uint8_t flags = *at++;
    if (!(flags & SAME_USER)) at = varint_get(at, end, &user);
    if (at) at = varint_get(at, end, &other);
    if (at) at = varint_get(at, end, &offset);
    if (at) at = varint_get(at, end, &since);
    if (!at) return NULL;
    update->user += (int64_t)user;
    update->other = flags & SAME_USER ? update->other + (int64_t)other : (int64_t)other;
    update->offset += unzigzag(offset);
    update->since = (int64_t)((uint64_t)update->since + (uint64_t)unzigzag(since));
    update->state = flags & 3;
    update->blocked_by_me = flags >> 2 & 1;
    update->blocked_by_them = flags >> 3 & 1;
    return at;
}

void graph_runs_add(struct graph_runs *runs, struct graph_update *updates, size_t count) {
    struct graph_update before = {.user = -1};
    struct run run = {.bytes = {.data = NULL}};
    count = graph_updates_tidy(updates, count);
    if (!count) return;
    for (size_t i = 0; i < count; i++) {
        uint8_t *from = buffer_reserve(&run.bytes, RECORD_MAX);
        buffer_commit(&run.bytes, (size_t)(put(from, &before, &updates[i]) - from));
        before = updates[i];
    }
    run.bytes.data = mem_resize(run.bytes.data, run.bytes.size, 1); // grown by doubling
    run.bytes.capacity = run.size = run.bytes.size;
    if (runs->count == runs->capacity) {
        runs->capacity = runs->capacity ? runs->capacity * 2 : 16;
        runs->runs = mem_resize(runs->runs, runs->capacity, sizeof *runs->runs);
    }
    runs->runs[runs->count++] = run;
    runs->memory += run.size;
}

static int write_all(struct graph_runs *runs, const uint8_t *bytes, size_t size, struct error *error) {
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

int graph_runs_spill(struct graph_runs *runs, struct error *error) {
    if (runs->file < 0) {
        char *path = mem_format("%s/runs-XXXXXX", runs->folder);
        runs->file = mkostemp(path, O_CLOEXEC);
        if (runs->file >= 0) unlink(path);
        free(path);
        if (runs->file < 0) return error_set(error, -errno, "%s: %s", runs->folder, strerror(errno));
    }
    for (size_t i = 0; i < runs->count; i++) {
        struct run *run = &runs->runs[i];
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

struct source {
    const uint8_t *at, *end; /* what is in memory of the run */
    uint8_t *piece;          /* NULL: all of it is */
    int64_t file_at;         /* what follows */
    size_t file_left;
    size_t order;
    struct graph_update update;
};

struct merge {
    struct graph_runs *runs;
    struct source *sources;
    struct source **heap; /* the least record first */
    size_t count;
};

static int refill(struct merge *merge, struct source *source, struct error *error) {
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
static int advance(struct merge *merge, struct source *source, struct error *error) {
    if (source->file_left && source->end - source->at < RECORD_MAX) {
        int code = refill(merge, source, error);
        if (code) return code;
    }
    if (source->at == source->end) return 0;
    source->at = get(source->at, source->end, &source->update);
    return source->at ? 1 : error_set(error, -EBADMSG, "%s: a run is damaged", merge->runs->folder);
}

static bool less(const struct source *a, const struct source *b) {
    if (a->update.user != b->update.user) return a->update.user < b->update.user;
    if (a->update.other != b->update.other) return a->update.other < b->update.other;
    return a->order < b->order;
}

static void sink(struct merge *merge, size_t at) {
    struct source *moving = merge->heap[at];
    for (size_t child; (child = 2 * at + 1) < merge->count; at = child) {
        if (child + 1 < merge->count && less(merge->heap[child + 1], merge->heap[child])) child++;
        if (!less(merge->heap[child], moving)) break;
        merge->heap[at] = merge->heap[child];
    }
    merge->heap[at] = moving;
}

static int merge_open(struct merge *merge, struct error *error) {
    struct graph_runs *runs = merge->runs;
    for (size_t i = 0; i < runs->count; i++) {
        struct run *run = &runs->runs[i];
        struct source *source = &merge->sources[i];
        *source = (struct source){.at = run->bytes.data, .order = i, .update = {.user = -1}};
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
    for (size_t at = merge->count / 2; at-- > 0;) sink(merge, at);
    return 0;
}

static int merge_all(struct merge *merge, graph_runs_fn *fn, void *context, struct error *error) {
    struct graph_update *updates = NULL;
    size_t count = 0, capacity = 0;
    int code = merge_open(merge, error);
    while (code >= 0 && merge->count) {
        struct source *least = merge->heap[0];
        if (count && updates->user != least->update.user) {
            code = fn(context, updates, count, error);
            count = 0;
            if (code) break;
        }
        if (count && updates[count - 1].other == least->update.other) count--; // a later run's is right
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            updates = mem_resize(updates, capacity, sizeof *updates);
        }
        updates[count++] = least->update;
        code = advance(merge, least, error);
        if (code == 0) merge->heap[0] = merge->heap[--merge->count];
        if (code >= 0 && merge->count) sink(merge, 0);
    }
    if (code >= 0 && count) code = fn(context, updates, count, error);
    free(updates);
    return code;
}

int graph_runs_merge(struct graph_runs *runs, graph_runs_fn *fn, void *context, struct error *error) {
    struct merge merge = {
        .runs = runs,
        .sources = mem_zero(runs->count + 1, sizeof *merge.sources),
        .heap = mem_zero(runs->count + 1, sizeof *merge.heap),
        .count = 0,
    };
    int code = merge_all(&merge, fn, context, error);
    for (size_t i = 0; i < runs->count; i++) free(merge.sources[i].piece);
    free(merge.sources);
    free(merge.heap);
    return code;
}

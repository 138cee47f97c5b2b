#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adjacency/private.h"
#include "base/bytes.h"
#include "base/mem.h"

enum {
    RUN_RECORDS = 131072,   /* of a run at most: sorting it takes some 10 ms of the loop's thread */
    QUEUE_RECORDS = 262144, /* of all families that wait to be sorted: the more, the longer the runs */
};

/* A chunk that is encoded, and waits for its list's end. */
struct encoded_chunk {
    int64_t bound;
    size_t size;
};

/* The list at hand while a family is finished. Its root says how long it is and comes first in the file, so that all of it is kept
 * until its end: as encoded bytes, some megabytes for a list of ten million. */
struct list_being_built {
    struct id_list tail; /* the ids that are in no chunk yet */
    struct buffer bytes; /* of the chunks, one behind the other */
    struct encoded_chunk *chunks;
    size_t chunk_count, chunk_capacity, members;
    struct adjacency_update *asides; /* by id */
    size_t aside_count, aside_capacity;
    struct adjacency_update *marks; /* by id */
    size_t mark_count, mark_capacity;
    struct adjacency_update *pieces; /* of a list with a limit that comes in pieces: all of them so far */
    size_t piece_count, piece_capacity;
};

/* A family that is built from the beginning. */
struct adjacency_build {
    struct adjacency *adjacency;
    struct store_family *family;
    int32_t partition;
    struct adjacency_runs *runs;
    size_t cut; /* of the part's queue, what was applied and is in no run yet */

    /* While it is being finished, which a worker may do: */
    bool running;
    bool abandoned; /* detached meanwhile */
    bool discarded; /* wanted empty meanwhile */
    int64_t next, hold, now_ms;
    struct store_file *lists, *stamps;
    struct list_being_built list;
    struct buffer value;
    struct adjacency_excess excess;
};

/* ---- the folder ---- */

int adjacency_build_clear(struct adjacency *adjacency, struct error *error) {
    const char *folder = adjacency->build_folder;
    int code = mkdir(folder, 0700) && errno != EEXIST ? error_set(error, -errno, "%s: %s", folder, strerror(errno)) : 0;
    DIR *dir = code ? NULL : opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char *path = mem_format("%s/%s", folder, entry->d_name);
        if (unlink(path)) code = error_set(error, -errno, "%s: %s", path, strerror(errno));
        free(path);
    }
    if (dir) closedir(dir);
    return code;
}

/* ---- taking records ---- */

/* Runs, and as much again for sorting and merging, are taken out of the cache while there is something to build. */
static void reserve(struct adjacency *adjacency, int more) {
    adjacency->builds += more;
    store_reserve(adjacency->store, adjacency->builds ? adjacency->options.memory_bytes / 4 : 0);
}

void adjacency_build_new(struct adjacency *adjacency, int32_t partition) {
    struct adjacency_part *part = &adjacency->parts[partition];
    reserve(adjacency, 1);
    part->build = MEM_NEW(&(struct adjacency_build){
        .adjacency = adjacency,
        .family = part->family,
        .partition = partition,
        .runs = adjacency_runs_new(adjacency->build_folder, adjacency->options.kinds),
        .hold = INT64_MAX,
    });
}

static void list_free(struct list_being_built *list) {
    id_list_free(&list->tail);
    buffer_free(&list->bytes);
    free(list->chunks);
    free(list->asides);
    free(list->marks);
    free(list->pieces);
}

void adjacency_build_free(struct adjacency *adjacency, int32_t partition) {
    struct adjacency_part *part = &adjacency->parts[partition];
    struct adjacency_build *build = part->build;
    if (!build) return;
    reserve(adjacency, -1);
    adjacency_runs_free(build->runs);
    store_file_free(build->lists);
    store_file_free(build->stamps);
    list_free(&build->list);
    buffer_free(&build->value);
    free(build->excess.items);
    free(build);
    part->build = NULL;
}

/* The updates of the queue that were applied become a run. */
static void cut(struct adjacency_part *part) {
    size_t taken = part->build->cut;
    adjacency_runs_add(part->build->runs, part->updates, taken);
    part->count -= taken;
    part->build->cut = 0;
    if (part->count) {
        memmove(part->updates, part->updates + taken, part->count * sizeof *part->updates);
        return;
    }
    free(part->updates); // other families' turn
    part->updates = NULL;
    part->capacity = 0;
}

static size_t waiting(const struct adjacency_part *part) {
    return part->build && !part->build->running ? part->build->cut : 0;
}

static size_t in_memory(const struct adjacency_part *part) {
    return part->build && !part->build->running ? adjacency_runs_bytes(part->build->runs) : 0;
}

/* The family with the most of it, and how much all have. */
static struct adjacency_part *most(struct adjacency *adjacency, size_t (*measure)(const struct adjacency_part *),
                                   size_t *total) {
    struct adjacency_part *largest = adjacency->parts;
    *total = 0;
    for (int32_t p = 0; p < adjacency->options.partitions; p++) {
        *total += measure(&adjacency->parts[p]);
        if (measure(&adjacency->parts[p]) > measure(largest)) largest = &adjacency->parts[p];
    }
    return largest;
}

int adjacency_build_take(struct adjacency *adjacency, int32_t partition, int64_t next, struct error *error) {
    struct adjacency_part *part = &adjacency->parts[partition], *largest;
    size_t total;
    part->build->cut = part->count;
    part->next = next;
    if (part->count >= RUN_RECORDS) cut(part);
    while (largest = most(adjacency, waiting, &total), total > QUEUE_RECORDS) cut(largest);
    int code = 0;
    while (!code && (largest = most(adjacency, in_memory, &total), total > adjacency->options.build_bytes))
        code = adjacency_runs_spill(largest->build->runs, error);
    return code;
}

size_t adjacency_build_cut(const struct adjacency_build *build) { return build->cut; }

size_t adjacency_build_bytes(const struct adjacency_build *build) { return adjacency_runs_bytes(build->runs); }

bool adjacency_build_abandoned(const struct adjacency_build *build) { return build->abandoned; }

void adjacency_build_abandon(struct adjacency *adjacency, int32_t partition) {
    struct adjacency_part *part = &adjacency->parts[partition];
    part->build->abandoned = true;
    part->count = 0;
    if (!part->build->discarded) part->next = part->build->next;
}

void adjacency_build_resume(struct adjacency_build *build) { build->abandoned = false; }

void adjacency_build_discard(struct adjacency_build *build) { build->discarded = true; }

bool adjacency_building(const struct adjacency *adjacency, int32_t partition) {
    const struct adjacency_build *build = adjacency->parts[partition].build;
    return build && (build->running || adjacency->parts[partition].next >= 0);
}

bool adjacency_finishing(const struct adjacency *adjacency, int32_t partition) {
    return adjacency->parts[partition].build && adjacency->parts[partition].build->running;
}

/* ---- finishing ---- */

struct adjacency_build *adjacency_finish_begin(struct adjacency *adjacency, int32_t partition, int64_t now_ms) {
    struct adjacency_part *part = &adjacency->parts[partition];
    struct adjacency_build *build = part->build;
    if (!build || build->running) return NULL;
    if (part->next < 0) { // nothing was read: there is nothing to build
        adjacency_build_free(adjacency, partition);
        return NULL;
    }
    if (build->cut) cut(part);
    char *lists = mem_format("%s/%d-lists", adjacency->build_folder, partition);
    char *stamps = mem_format("%s/%d-stamps", adjacency->build_folder, partition);
    build->running = true;
    build->next = part->next;
    build->now_ms = now_ms;
    build->lists = store_file_new(adjacency->store, lists);
    build->stamps = store_file_new(adjacency->store, stamps);
    free(lists);
    free(stamps);
    return build;
}

static int put(struct store_file *file, struct adjacency_key key, const void *value, size_t size, struct error *error) {
    return store_file_put(file, key.bytes, key.size, value, size, error);
}

/* The first ids of the tail become a chunk. */
static void cut_chunk(struct adjacency_build *build, const int64_t *items, size_t count, int64_t bound) {
    struct list_being_built *list = &build->list;
    size_t before = list->bytes.size;
    id_list_encode(&list->bytes, items, count);
    MEM_ROOM(list->chunks, list->chunk_count, list->chunk_capacity);
    list->chunks[list->chunk_count++] = (struct encoded_chunk){.bound = bound, .size = list->bytes.size - before};
}

static void cut_chunks(struct adjacency_build *build) {
    struct id_list *tail = &build->list.tail;
    size_t chunk = build->adjacency->options.chunk, at = 0;
    for (; tail->count - at > 2 * chunk; at += chunk)
        cut_chunk(build, tail->items + at, chunk, tail->items[at + chunk - 1]);
    if (!at) return;
    tail->count -= at;
    memmove(tail->items, tail->items + at, tail->count * sizeof *tail->items);
}

static int write_root(struct adjacency_build *build, const struct adjacency_update *of, struct error *error) {
    struct list_being_built *list = &build->list;
    buffer_clear(&build->value);
    if (list->chunk_count) {
        adjacency_root_encode_chunked(&build->value, list->aside_count, list->mark_count, list->members);
    } else {
        list->tail.others = list->aside_count;
        list->tail.marked = list->mark_count;
        adjacency_root_encode(&build->value, &list->tail);
    }
    return put(build->lists, adjacency_root_key(of->owner, of->kind), build->value.data, build->value.size, error);
}

static int put_beside(struct adjacency_build *build, struct adjacency_key key, const struct adjacency_update *update,
                      struct error *error) {
    uint8_t value[ADJACENCY_ASIDE_SIZE];
    adjacency_aside_encode(value, update);
    return put(build->lists, key, value, sizeof value, error);
}

/* As the keys sort: the root, asides, chunks, marks. */
static int write_list(struct adjacency_build *build, const struct adjacency_update *of, struct error *error) {
    struct list_being_built *list = &build->list;
    if (!list->members && !list->aside_count) return 0;
    if (list->chunk_count) cut_chunk(build, list->tail.items, list->tail.count, INT64_MAX);
    int code = write_root(build, of, error);
    for (size_t i = 0; !code && i < list->aside_count; i++)
        code = put_beside(build, adjacency_aside_key(of->owner, of->kind, list->asides[i].id), &list->asides[i], error);
    const uint8_t *at = list->bytes.data;
    for (size_t i = 0; !code && i < list->chunk_count; i++) {
        const struct encoded_chunk *chunk = &list->chunks[i];
        code = put(build->lists, adjacency_chunk_key(of->owner, of->kind, chunk->bound), at, chunk->size, error);
        at += chunk->size;
    }
    for (size_t i = 0; !code && i < list->mark_count; i++)
        code = put_beside(build, adjacency_mark_key(of->owner, of->kind, list->marks[i].id), &list->marks[i], error);
    return code;
}

static int write_stamp(struct adjacency_build *build, const struct adjacency_update *update, struct error *error) {
    uint8_t value[8];
    if (!build->adjacency->stamps || build->now_ms - update->stamp >= ADJACENCY_DAY_MS) return 0;
    bytes_put_be64(value, (uint64_t)update->stamp);
    return put(build->stamps,
               adjacency_built_key(build->now_ms / ADJACENCY_DAY_MS, update->owner, update->kind, update->id), value,
               sizeof value, error);
}

static void add_update(struct adjacency_update **updates, size_t *count, size_t *capacity,
                       const struct adjacency_update *more, size_t more_count) {
    MEM_FIT(*updates, *count + more_count, *capacity);
    memcpy(*updates + *count, more, more_count * sizeof **updates);
    *count += more_count;
}

static void note_excess(struct adjacency_build *build, const struct adjacency_update *updates, size_t count,
                        bool whole) {
    struct list_being_built *list = &build->list;
    size_t limit = build->adjacency->options.limits[updates->kind];
    if (!limit) return;
    if (!whole || list->piece_count) {
        add_update(&list->pieces, &list->piece_count, &list->piece_capacity, updates, count);
        updates = list->pieces;
        count = list->piece_count;
    }
    if (whole && list->members > limit)
        adjacency_note_excess(&build->excess, updates, count, list->members - limit, &build->hold);
}

/* A list's last records, or a piece of them. */
static int write_piece(void *context, const struct adjacency_update *updates, size_t count, bool whole,
                       struct error *error) {
    struct adjacency_build *build = context;
    struct list_being_built *list = &build->list;
    int code = 0;
    id_list_reserve(&list->tail, list->tail.count + count);
    for (size_t i = 0; !code && i < count; i++) {
        if (adjacency_update_member(&updates[i])) {
            list->tail.items[list->tail.count++] = updates[i].id;
            list->members++;
            if (adjacency_update_mark(&updates[i]))
                add_update(&list->marks, &list->mark_count, &list->mark_capacity, &updates[i], 1);
            else
                code = write_stamp(build, &updates[i], error);
        } else if (adjacency_update_aside(&updates[i])) {
            add_update(&list->asides, &list->aside_count, &list->aside_capacity, &updates[i], 1);
        }
    }
    cut_chunks(build);
    note_excess(build, updates, count, whole);
    if (!whole || code) return code;
    code = write_list(build, updates, error);
    list->tail.count = list->chunk_count = list->members = list->aside_count = list->mark_count = 0;
    list->piece_count = 0;
    buffer_clear(&list->bytes);
    return code;
}

int adjacency_finish_run(struct adjacency_build *build, struct error *error) {
    const uint8_t key = ADJACENCY_META_KEY; // behind all others, and all files are taken in together
    uint8_t value[ADJACENCY_META_SIZE];
    int code = adjacency_runs_merge(build->runs, write_piece, build, error);
    if (code) return code;
    adjacency_meta_encode(build->adjacency, value, build->next < build->hold ? build->next : build->hold,
                          build->now_ms);
    code = store_file_put(build->stamps, &key, 1, value, sizeof value, error);
    struct store_file *files[] = {build->lists, build->stamps};
    return code ? code : store_ingest(build->adjacency->store, build->family, files, 2, error);
}

int adjacency_finish_end(struct adjacency_build *build, int code, struct error *error) {
    struct adjacency *adjacency = build->adjacency;
    int32_t partition = build->partition;
    struct adjacency_part *part = &adjacency->parts[partition];
    bool abandoned = build->abandoned, discarded = build->discarded;
    build->running = false;
    if (!code && !abandoned && !discarded) {
        if (build->hold < part->hold) part->hold = build->hold;
        adjacency_tell_excess(adjacency, partition, &build->excess);
    }
    adjacency_build_free(adjacency, partition);
    if (!code && discarded) code = adjacency_family_empty(adjacency, partition, error);
    if (code || abandoned) adjacency_detach(adjacency, partition);
    return code;
}

int adjacency_finish(struct adjacency *adjacency, int32_t partition, int64_t now_ms, struct error *error) {
    if (adjacency_finishing(adjacency, partition))
        return error_set(error, -EAGAIN, "the lists of partition %d are being restored", partition);
    struct adjacency_build *build = adjacency_finish_begin(adjacency, partition, now_ms);
    return build ? adjacency_finish_end(build, adjacency_finish_run(build, error), error) : 0;
}

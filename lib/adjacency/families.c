#include <stdlib.h>

#include "adjacency/private.h"
#include "base/bytes.h"
#include "base/mem.h"

enum { MEMORY_DEFAULT = 96 << 20 };

void adjacency_put_meta(struct adjacency *adjacency, struct adjacency_part *part, int64_t now_ms) {
    const uint8_t key = ADJACENCY_META_KEY;
    uint8_t value[ADJACENCY_META_SIZE];
    adjacency_meta_encode(adjacency, value, part->next < part->hold ? part->next : part->hold, now_ms);
    store_batch_put(adjacency->batch, part->family, &key, 1, value, sizeof value);
}

static int open_stamps(struct adjacency *adjacency, const char *name, struct error *error) {
    if (!name) return 0;
    char *family = mem_format("%s%s", STORE_LATE, name);
    int code = store_family(adjacency->store, family, &adjacency->stamps, error);
    free(family);
    return code;
}

int adjacency_open(const struct adjacency_options *options, struct adjacency **out, struct error *error) {
    struct adjacency *adjacency = MEM_NEW(&(struct adjacency){
        .options = *options,
        .name = mem_string(options->name),
        .build_folder = mem_format("%s.build", options->path),
        .parts = mem_zero((size_t)options->partitions, sizeof *adjacency->parts),
        .batch = store_batch_new(),
    });
    struct adjacency_options *own = &adjacency->options;
    own->path = own->name = own->stamps = NULL; // the caller's
    if (!own->chunk) own->chunk = ADJACENCY_CHUNK;
    if (!own->memory_bytes) own->memory_bytes = MEMORY_DEFAULT;
    if (!own->build_bytes) own->build_bytes = own->memory_bytes / 8;
    for (int32_t p = 0; p < options->partitions; p++)
        adjacency->parts[p].next = -1, adjacency->parts[p].hold = INT64_MAX;
    struct store_options store = {.memory_bytes = own->memory_bytes, .point_lookups = true};
    int code = store_open(options->path, &store, &adjacency->store, error);
    if (!code) code = open_stamps(adjacency, options->stamps, error);
    // After the store's lock: another process may be building there.
    if (!code) code = adjacency_build_clear(adjacency, error);
    if (code) {
        adjacency_close(adjacency);
        return code;
    }
    *out = adjacency;
    return 0;
}

void adjacency_close(struct adjacency *adjacency) {
    if (!adjacency) return;
    for (int32_t p = 0; p < adjacency->options.partitions; p++) {
        adjacency_build_free(adjacency, p);
        free(adjacency->parts[p].updates);
    }
    free(adjacency->parts);
    free(adjacency->build_folder);
    free(adjacency->name);
    store_batch_free(adjacency->batch);
    id_list_free(&adjacency->old);
    id_list_free(&adjacency->merged);
    free(adjacency->was);
    buffer_free(&adjacency->bytes);
    free(adjacency->changes);
    free(adjacency->excess.items);
    store_close(adjacency->store);
    free(adjacency);
}

static int family_open(struct adjacency *adjacency, int32_t partition, struct error *error) {
    char *name = mem_format("%s-%d", adjacency->name, partition);
    int code = store_family(adjacency->store, name, &adjacency->parts[partition].family, error);
    free(name);
    return code;
}

/* 1: the family is of use, and reflects everything before *next; 0: it is not. */
static int family_usable(struct adjacency *adjacency, const struct adjacency_part *part, int64_t now_ms, int64_t *next,
                         struct error *error) {
    const uint8_t key = ADJACENCY_META_KEY;
    struct buffer *bytes = &adjacency->bytes;
    buffer_clear(bytes);
    int found = store_get(adjacency->store, part->family, &key, 1, bytes, error);
    if (found <= 0) return found;
    const uint8_t *value = bytes->data;
    if (bytes->size != ADJACENCY_META_SIZE || value[0] != ADJACENCY_META_VERSION) return 0;
    if (bytes_get_be32(value + 1) != (uint32_t)adjacency->options.partitions) return 0; // other owners live here now
    *next = (int64_t)bytes_get_be64(value + 5);
    return now_ms - (int64_t)bytes_get_be64(value + 13) <= adjacency->options.max_age_ms;
}

/* Puts into the batch that the partition's stamps of the days before `day` are gone; INT64_MAX: all. */
static void drop_late(struct adjacency *adjacency, int32_t partition, int64_t day) {
    if (!adjacency->stamps) return;
    struct adjacency_key from = adjacency_late_day(partition, 0);
    struct adjacency_key to =
        day == INT64_MAX ? adjacency_late_day(partition + 1, 0) : adjacency_late_day(partition, day);
    store_batch_delete_range(adjacency->batch, adjacency->stamps, from.bytes, from.size, to.bytes, to.size);
}

int adjacency_family_empty(struct adjacency *adjacency, int32_t partition, struct error *error) {
    char *name = mem_format("%s-%d", adjacency->name, partition);
    adjacency->parts[partition].family = NULL;
    int code = store_family_drop(adjacency->store, name, error);
    free(name);
    store_batch_clear(adjacency->batch);
    drop_late(adjacency, partition, INT64_MAX);
    if (!code) code = store_write(adjacency->store, adjacency->batch, false, error);
    if (!code) code = family_open(adjacency, partition, error);
    if (!code) adjacency_build_new(adjacency, partition);
    return code;
}

int adjacency_rebuild(struct adjacency *adjacency, int32_t partition, struct error *error) {
    struct adjacency_part *part = &adjacency->parts[partition];
    part->next = -1;
    part->hold = INT64_MAX;
    part->count = 0;
    if (adjacency_finishing(adjacency, partition)) {
        adjacency_build_discard(part->build); // a worker has the family in its hands
        return 0;
    }
    adjacency_build_free(adjacency, partition);
    return adjacency_family_empty(adjacency, partition, error);
}

int adjacency_attach(struct adjacency *adjacency, int32_t partition, int64_t now_ms, int64_t *from,
                     struct error *error) {
    struct adjacency_part *part = &adjacency->parts[partition];
    if (!part->family) {
        int code = family_open(adjacency, partition, error);
        if (code) return code;
        int64_t next = -1;
        int usable = family_usable(adjacency, part, now_ms, &next, error);
        if (usable == 0) code = adjacency_family_empty(adjacency, partition, error);
        if (usable < 0 || code) {
            part->family = NULL;
            return usable < 0 ? usable : code;
        }
        if (usable) part->next = next;
    }
    if (part->build) adjacency_build_resume(part->build);
    *from = part->next >= 0 ? part->next : ADJACENCY_FROM_BEGINNING;
    return 0;
}

void adjacency_detach(struct adjacency *adjacency, int32_t partition) {
    struct adjacency_part *part = &adjacency->parts[partition];
    if (adjacency_finishing(adjacency, partition)) {
        adjacency_build_abandon(adjacency, partition);
        return;
    }
    adjacency_build_free(adjacency, partition);
    free(part->updates);
    *part = (struct adjacency_part){.family = NULL, .next = -1, .hold = INT64_MAX};
}

void adjacency_release(struct adjacency *adjacency, int32_t partition, int64_t hold) {
    adjacency->parts[partition].hold = hold;
}

int64_t adjacency_next(const struct adjacency *adjacency, int32_t partition) {
    return adjacency->parts[partition].next;
}

/* Today's and yesterday's stamps stay. Once a day, as each range dropped is one more that look-ups must heed. */
static int prune(struct adjacency *adjacency, int32_t partition, int64_t today, struct error *error) {
    struct adjacency_part *part = &adjacency->parts[partition];
    if (!adjacency->stamps || part->pruned == today) return 0;
    part->pruned = today;
    struct adjacency_key from = adjacency_built_day(0), to = adjacency_built_day(today - 1);
    struct adjacency_key late = adjacency_late_day(partition, 0), late_to = adjacency_late_day(partition, today - 1);
    store_batch_clear(adjacency->batch);
    store_batch_delete_range(adjacency->batch, part->family, from.bytes, from.size, to.bytes, to.size);
    drop_late(adjacency, partition, today - 1);
    int code = store_write(adjacency->store, adjacency->batch, false, error);
    // After an import they are most of what the disk holds, and of every checkpoint.
    if (!code) code = store_reclaim(adjacency->store, part->family, from.bytes, from.size, to.bytes, to.size, error);
    if (!code)
        code = store_reclaim(adjacency->store, adjacency->stamps, late.bytes, late.size, late_to.bytes, late_to.size,
                             error);
    return code;
}

int adjacency_touch(struct adjacency *adjacency, int32_t partition, int64_t now_ms, struct error *error) {
    struct adjacency_part *part = &adjacency->parts[partition];
    if (!part->family || part->build || part->next < 0) return 0;
    int code = prune(adjacency, partition, now_ms / ADJACENCY_DAY_MS, error);
    if (code) return code;
    store_batch_clear(adjacency->batch);
    adjacency_put_meta(adjacency, part, now_ms);
    return store_write(adjacency->store, adjacency->batch, false, error);
}

int adjacency_checkpoint(struct adjacency *adjacency, const char *path, struct error *error) {
    return store_checkpoint(adjacency->store, path, error);
}

int adjacency_compact(struct adjacency *adjacency, int32_t partition, struct error *error) {
    int code = adjacency_ready(adjacency, partition, error);
    return code ? code : store_compact(adjacency->store, adjacency->parts[partition].family);
}

struct adjacency_usage adjacency_used(struct adjacency *adjacency) {
    struct adjacency_usage usage = {.store = store_usage(adjacency->store)};
    for (int32_t p = 0; p < adjacency->options.partitions; p++) {
        const struct adjacency_part *part = &adjacency->parts[p];
        usage.build += part->capacity * sizeof *part->updates + (part->build ? adjacency_build_bytes(part->build) : 0);
    }
    return usage;
}

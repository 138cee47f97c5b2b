/* Shared by families.c (partitions), keys.c and chunks.c (the form on disk), read.c, apply.c (writing) and build.c (writing from the
 * beginning). */
#pragma once

#include "adjacency/adjacency.h"
#include "adjacency/runs.h"
#include "base/buffer.h"

enum { ADJACENCY_KEY_MAX = 32, ADJACENCY_ASIDE_SIZE = 9, ADJACENCY_META_SIZE = 21 };

/* 0xff: version (1) partitions (4) next (8) time (8). A family of another version is built anew. */
enum { ADJACENCY_META_KEY = 0xff, ADJACENCY_META_VERSION = 2 };

struct adjacency_change {
    struct adjacency_list list;
    int64_t id;
    uint8_t before, now;
};

/* Members that are too many. */
struct adjacency_excess {
    struct adjacency_update *items;
    size_t count, capacity;
};

struct adjacency_part {
    struct store_family *family;   /* NULL: not attached */
    struct adjacency_build *build; /* NULL: the family can be read */
    int64_t next;                  /* everything before is applied; -1: nothing yet */
    int64_t hold;                  /* the stored offset does not pass this one */
    struct adjacency_update *updates;
    size_t count, capacity;
    int64_t pruned; /* the day on which stamps were dropped last */
};

struct adjacency {
    struct adjacency_options options;
    char *name;
    struct store *store;
    struct store_family *stamps; /* of all partitions; NULL: none are kept */
    int builds;                  /* families being built */
    char *build_folder;          /* of files that are no family's yet */
    struct adjacency_part *parts;

    /* Reused by each application and page: */
    struct store_batch *batch;
    struct id_list old, merged;
    bool *was; /* whether each update's id was a member before */
    size_t was_capacity;
    struct buffer bytes;
    struct adjacency_change *changes;
    size_t change_count, change_capacity;
    struct adjacency_excess excess;
};

static inline bool adjacency_update_member(const struct adjacency_update *update) {
    return adjacency_is_member(update->tag);
}

static inline bool adjacency_update_mark(const struct adjacency_update *update) {
    return adjacency_update_member(update) && update->tag != ADJACENCY_MEMBER;
}

static inline bool adjacency_update_aside(const struct adjacency_update *update) {
    return !adjacency_update_member(update) && update->tag != ADJACENCY_NONE;
}

/* ---- keys.c: keys and small values ---- */

struct adjacency_key {
    uint8_t bytes[ADJACENCY_KEY_MAX];
    size_t size;
};
struct adjacency_key adjacency_root_key(int64_t owner, uint8_t kind);
struct adjacency_key adjacency_aside_key(int64_t owner, uint8_t kind, int64_t id);
struct adjacency_key adjacency_chunk_key(int64_t owner, uint8_t kind, int64_t bound);
struct adjacency_key adjacency_mark_key(int64_t owner, uint8_t kind, int64_t id);
struct adjacency_key adjacency_built_key(int64_t day, int64_t owner, uint8_t kind, int64_t id); /* a stamp's */
struct adjacency_key adjacency_late_key(int32_t partition, int64_t day, int64_t owner, uint8_t kind, int64_t id);

/* The first key of a day's stamps, for ranges of days. */
struct adjacency_key adjacency_built_day(int64_t day);
struct adjacency_key adjacency_late_day(int32_t partition, int64_t day);

/* Of asides and marks: tag and stamp. */
void adjacency_aside_encode(uint8_t value[ADJACENCY_ASIDE_SIZE], const struct adjacency_update *update);
bool adjacency_aside_decode(const uint8_t *value, size_t size, struct adjacency_entry *entry);
void adjacency_meta_encode(const struct adjacency *adjacency, uint8_t value[ADJACENCY_META_SIZE], int64_t next,
                           int64_t now_ms);

/* The content of a list's root. */
struct adjacency_root {
    bool chunked;
    size_t asides, marks;
    size_t members;     /* of a chunked list */
    const uint8_t *ids; /* of a list that is one value */
    size_t size;
};
bool adjacency_root_decode(const struct store_pin *pin, struct adjacency_root *root); /* no handle: an empty list */
void adjacency_root_encode(struct buffer *out, const struct id_list *list);           /* of one value; appended */
void adjacency_root_encode_chunked(struct buffer *out, size_t asides, size_t marks, size_t members);

/* ---- families.c ---- */

/* Puts into the batch that the family reflects everything before part->next (or hold), as of now. */
void adjacency_put_meta(struct adjacency *adjacency, struct adjacency_part *part, int64_t now_ms);
int adjacency_family_empty(struct adjacency *adjacency, int32_t partition,
                           struct error *error); /* drops it, makes it anew */

/* ---- chunks.c ---- */

int adjacency_corrupt(struct adjacency_list list, struct error *error); /* -EBADMSG */

/* Walks the members of a list from an id on, a chunk (or the list that is one value) at a time. */
struct adjacency_walk {
    struct adjacency_list list;
    struct store_cursor *cursor; /* NULL: the list is one value */
    int64_t bound;               /* of the chunk at hand */
};
/* Appends the members of the chunk in which `from` lies to `ids`; some of them may be below `from`. */
int adjacency_walk_begin(struct adjacency *adjacency, struct adjacency_walk *walk, struct adjacency_list list,
                         const struct adjacency_root *root, int64_t from, struct id_list *ids, struct error *error);
/* Appends the next chunk's. 1: there was one; 0: the end. */
int adjacency_walk_next(struct adjacency_walk *walk, struct id_list *ids, struct error *error);
/* Goes on at the chunk where `from` lies. */
int adjacency_walk_seek(struct adjacency_walk *walk, int64_t from, struct id_list *ids, struct error *error);

/* All members, appended. */
int adjacency_walk_all(struct adjacency *adjacency, struct adjacency_list list, const struct adjacency_root *root,
                       struct id_list *ids, struct error *error);

/* ---- read.c ---- */

/* Called before a family is read. Fails while the family is being built. */
int adjacency_ready(struct adjacency *adjacency, int32_t partition, struct error *error);

/* Finds the mark of a member: 1, 0 for none, or a negative code. */
int adjacency_read_mark(struct adjacency *adjacency, struct adjacency_list list, struct adjacency_entry *entry,
                        struct error *error);

/* The roots of several lists of a partition, in rising order, whose keys are of one length. All pins are to be released. */
int adjacency_roots(struct adjacency *adjacency, const struct adjacency_list *lists, size_t count,
                    struct store_pin pins[ADJACENCY_MANY], struct error *error);

/* ---- marks.c ---- */

/* Gives those of a page's entries their marks that have one. */
int adjacency_mark_entries(struct adjacency *adjacency, struct adjacency_list list, struct adjacency_entry *entries,
                           size_t count, struct error *error);

/* ---- apply.c ---- */

/* Adds the too_many newest members among a list's updates to the excess. *hold: lowered to the first of their offsets. */
void adjacency_note_excess(struct adjacency_excess *excess, const struct adjacency_update *updates, size_t count,
                           size_t too_many, int64_t *hold);
void adjacency_tell_excess(struct adjacency *adjacency, int32_t partition, const struct adjacency_excess *excess);

/* ---- build.c ---- */

/* Makes build_folder, and removes files that a crash has left there. */
int adjacency_build_clear(struct adjacency *adjacency, struct error *error);

void adjacency_build_new(struct adjacency *adjacency, int32_t partition);
void adjacency_build_free(struct adjacency *adjacency, int32_t partition); /* not while running; NULL is fine */

/* Applies the queued records, up to `next`. */
int adjacency_build_take(struct adjacency *adjacency, int32_t partition, int64_t next, struct error *error);

size_t adjacency_build_cut(const struct adjacency_build *build); /* of the queue, applied and in no run yet */
size_t adjacency_build_bytes(const struct adjacency_build *build);

/* The partition was detached meanwhile (the worker goes on; an attach that follows continues after it); was attached again; is to be
 * empty. */
void adjacency_build_abandon(struct adjacency *adjacency, int32_t partition);
void adjacency_build_resume(struct adjacency_build *build);
void adjacency_build_discard(struct adjacency_build *build);
bool adjacency_build_abandoned(const struct adjacency_build *build);

#include "router/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/codec.h"
#include "users/user_key.h"

/* A row on the heap, no longer than its links. */
struct kept_links {
    size_t count;
    struct share_link links[];
};

struct links_part {
    struct map *rows; /* user -> struct kept_links *; NULL: it is not attached */
    int64_t next;     /* behind the last record */
};

struct links {
    int32_t partitions;
    struct links_part *parts;
    struct codec *codec;
};

/* ---- the rules ---- */

const struct share_link *link_row_find(const struct link_row *row, int64_t id) {
    for (size_t i = 0; i < row->count; i++)
        if (row->links[i].id == id) return &row->links[i];
    return NULL;
}

static bool ends(const struct share_link *link, const struct link_command *command, int64_t now) {
    if (command->kind == LINK_COMMAND_END && link->id == command->id) return true;
    return link->until <= now || (command->kind == LINK_COMMAND_END_ALL && link->opted <= command->opted);
}

static bool may_make(const struct link_row *row, const struct link_command *command, const struct link_moment *moment) {
    return row->count < LINKS_MAX && moment->opted >= 0 && command->until > moment->now &&
           !link_row_find(row, command->id);
}

bool link_row_decide(struct link_row *row, const struct link_command *command, const struct link_moment *moment) {
    size_t kept = 0, before = row->count;
    for (size_t i = 0; i < before; i++)
        if (!ends(&row->links[i], command, moment->now)) row->links[kept++] = row->links[i];
    row->count = kept;
    bool makes = command->kind == LINK_COMMAND_MAKE && may_make(row, command, moment);
    if (makes)
        row->links[row->count++] = (struct share_link){.id = command->id,
                                                       .until = command->until,
                                                       .rounded = command->rounded,
                                                       .made = moment->now,
                                                       .opted = moment->opted};
    return makes || kept < before;
}

const char *link_command_complaint(const struct link_command *command) {
    if (command->kind != LINK_COMMAND_END_ALL && !command->id) return "a link has an id";
    if (command->kind == LINK_COMMAND_MAKE && !command->until) return "a link has an end";
    return NULL;
}

/* ---- the store ---- */

static void empty(struct links_part *part) {
    uint64_t user, row;
    for (size_t cursor = 0; part->rows && map_next(part->rows, &cursor, &user, &row);) free((void *)(uintptr_t)row);
    map_free(part->rows);
    *part = (struct links_part){.rows = NULL};
}

struct links *links_new(int32_t partitions) {
    struct links *links = MEM_NEW(&(struct links){
        .partitions = partitions, .parts = mem_zero((size_t)partitions, sizeof *links->parts), .codec = codec_new()});
    return links;
}

void links_free(struct links *links) {
    if (!links) return;
    for (int32_t p = 0; p < links->partitions; p++) empty(&links->parts[p]);
    free(links->parts);
    codec_free(links->codec);
    free(links);
}

bool links_read(const struct links *links, int32_t partition, int64_t user, struct link_row *row) {
    const struct links_part *part = &links->parts[partition];
    const struct kept_links *kept = part->rows ? map_pointer(part->rows, (uint64_t)user) : NULL;
    row->count = kept ? kept->count : 0;
    if (kept) memcpy(row->links, kept->links, kept->count * sizeof *kept->links);
    return kept != NULL;
}

void links_untidy(const struct links *links, int32_t partition, int64_t now, size_t most, void *context,
                  void (*look)(void *context, int64_t user)) {
    const struct links_part *part = &links->parts[partition];
    uint64_t user, value;
    for (size_t cursor = 0; most && part->rows && map_next(part->rows, &cursor, &user, &value);) {
        const struct kept_links *row = (const void *)(uintptr_t)value;
        bool over = false;
        for (size_t i = 0; i < row->count; i++) over |= row->links[i].until <= now;
        if (!over) continue;
        look(context, (int64_t)user);
        most--;
    }
}

static const char *read_record(struct links *links, const struct kafka_record *record, int64_t *user,
                               struct user_links *value, struct error *error) {
    *value = (struct user_links){.links = {.count = 0}};
    if (user_key_read(record, user, error)) return error->text;
    if (hash_user_partition(*user, links->partitions) != record->partition) return "not in the partition of its user";
    if (record->value && event_decode_user_links(links->codec, record->value, record->value_size, value, error))
        return error->text;
    return value->links.count > LINKS_MAX ? "a user has too many links" : NULL;
}

static void keep(struct links_part *part, int64_t user, const struct user_links *value) {
    uint64_t old = 0;
    size_t size = value->links.count * sizeof *value->links.items;
    map_remove(part->rows, (uint64_t)user, &old);
    free((void *)(uintptr_t)old);
    if (!size) return;
    struct kept_links *row = mem_alloc(sizeof *row + size);
    row->count = value->links.count;
    memcpy(row->links, value->links.items, size);
    *map_put(part->rows, (uint64_t)user, NULL) = (uintptr_t)row;
}

static int open_part(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct links_part *part = &((struct links *)store)->parts[partition];
    empty(part);
    part->rows = map_new();
    return 0;
}

static void close_part(void *store, int32_t partition) { empty(&((struct links *)store)->parts[partition]); }

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct links *links = store;
    struct links_part *part = &links->parts[record->partition];
    struct user_links value;
    int64_t user;
    const char *complaint = read_record(links, record, &user, &value, error);
    part->next = record->offset + 1;
    if (complaint)
        *reason = complaint;
    else if (part->rows)
        keep(part, user, &value);
    return 0;
}

static int64_t next(const void *store, int32_t partition, size_t topic) {
    int64_t offset = ((const struct links *)store)->parts[partition].next;
    return offset ? offset : -1;
}

/* The topic was made anew: a link that it does not have any more must not stay. */
static bool lost(void *store, int32_t partition, size_t topic) {
    open_part(store, partition, 0, 0, NULL);
    return true;
}

const struct state_kind LINKS_KIND = {.open = open_part, .close = close_part, .take = take, .next = next, .lost = lost};

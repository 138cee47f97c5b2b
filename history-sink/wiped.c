#include "history-sink/wiped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "users/user_key.h"

struct wiped_partition {
    struct wiped_record *records; /* by offset */
    size_t count, room;
    int64_t learnt;
};

struct wiped {
    struct map *users; /* user -> before */
    struct wiped_partition *partitions;
    int count;
};

struct wiped *wiped_new(int partitions) {
    struct wiped *wiped = MEM_NEW(&(struct wiped){.users = map_new(),
                                                  .partitions = mem_zero((size_t)partitions, sizeof *wiped->partitions),
                                                  .count = partitions});
    return wiped;
}

void wiped_free(struct wiped *wiped) {
    if (!wiped) return;
    for (int i = 0; i < wiped->count; i++) free(wiped->partitions[i].records);
    free(wiped->partitions);
    map_free(wiped->users);
    free(wiped);
}

static void add(struct wiped_partition *partition, struct wiped_record record) {
    MEM_ROOM(partition->records, partition->count, partition->room);
    partition->records[partition->count++] = record;
    partition->learnt = record.offset + 1;
}

int wiped_learn(struct wiped *wiped, const struct kafka_record *record, struct wipe_user *who, struct error *error) {
    struct wiped_partition *partition = &wiped->partitions[record->partition];
    struct wipe_user read = {.user = 0, .before = record->timestamp};
    int code = user_key_read(record, &read.user, error);
    if (!code && hash_user_partition(read.user, wiped->count) != record->partition)
        code = error_set(error, -EBADMSG, "the key is a user of another partition");
    if (code || record->offset < partition->learnt) return code;
    uint64_t *before = map_put(wiped->users, (uint64_t)read.user, NULL);
    if ((int64_t)*before < read.before) *before = (uint64_t)read.before;
    add(partition, (struct wiped_record){.offset = record->offset, .who = read, .rows = 0});
    *who = read;
    return 1;
}

void wiped_anew(struct wiped *wiped) {
    for (int i = 0; i < wiped->count; i++) {
        wiped->partitions[i].count = 0;
        wiped->partitions[i].learnt = 0;
    }
}

bool wiped_has(const struct wiped *wiped, int64_t user, int64_t received) {
    const uint64_t *before = map_find(wiped->users, (uint64_t)user);
    return before && received < (int64_t)*before;
}

int64_t wiped_learnt(const struct wiped *wiped, int32_t partition) { return wiped->partitions[partition].learnt; }

static size_t place_of(const struct wiped_partition *partition, int64_t offset) {
    return sorted_items_below(partition->records, sizeof *partition->records, partition->count, offset);
}

struct wiped_record *wiped_next(struct wiped *wiped, int32_t partition, int64_t offset) {
    struct wiped_partition *of = &wiped->partitions[partition];
    size_t place = place_of(of, offset);
    return place < of->count ? &of->records[place] : NULL;
}

size_t wiped_count(const struct wiped *wiped, int32_t partition) { return wiped->partitions[partition].count; }

void wiped_drop(struct wiped *wiped, int32_t partition, int64_t before) {
    struct wiped_partition *of = &wiped->partitions[partition];
    size_t gone = place_of(of, before);
    if (!gone) return;
    of->count -= gone;
    memmove(of->records, of->records + gone, of->count * sizeof *of->records);
}

static int by_user(const void *a, const void *b) {
    const struct wipe_user *x = a, *y = b;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    return (x->before < y->before) - (x->before > y->before); // the latest first
}

struct wipe_user *wiped_users(const struct wiped *wiped, int32_t partition, int64_t from, size_t *count) {
    const struct wiped_partition *of = &wiped->partitions[partition];
    size_t at = place_of(of, from), total = of->count - at, kept = 0;
    struct wipe_user *users = mem_alloc((total + 1) * sizeof *users);
    for (size_t i = 0; i < total; i++) users[i] = of->records[at + i].who;
    if (total) qsort(users, total, sizeof *users, by_user);
    for (size_t i = 0; i < total; i++)
        if (!kept || users[kept - 1].user != users[i].user) users[kept++] = users[i];
    *count = kept;
    return users;
}

#include "owner/members.h"

#include <stdlib.h>
#include <string.h>

static bool is_static(const struct member *member) { return member->instance && *member->instance; }

/* rd_kafka_group_member_cmp: instances among themselves, else the broker's ids. */
static int compare(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    if (is_static(x) && is_static(y)) return strcmp(x->instance, y->instance);
    return strcmp(x->id, y->id);
}

size_t members_counted(struct member *members, size_t count) {
    size_t counted = 0;
    bool parting = false;
    for (size_t i = 0; i < count; i++) parting |= members[i].left;
    for (size_t i = 0; i < count; i++)
        if (!parting || (members[i].serves && !members[i].left)) members[counted++] = members[i];
    return counted;
}

void members_sort(struct member *members, size_t count) {
    if (count > 1) qsort(members, count, sizeof *members, compare);
}

size_t members_owner(size_t members, int32_t partitions, int32_t partition) {
    // The first `extra` members have a partition more than the others.
    size_t each = (size_t)partitions / members, extra = (size_t)partitions % members, p = (size_t)partition;
    if (p < extra * (each + 1)) return p / (each + 1);
    return extra + (p - extra * (each + 1)) / each;
}

struct list {
    size_t owner;
    size_t *items;
    size_t count, limit;
};

static bool has(const struct list *list, size_t member) {
    bool found = member == list->owner;
    for (size_t i = 0; i < list->count; i++) found |= list->items[i] == member;
    return found;
}

static void add(struct list *list, size_t member) {
    if (list->count < list->limit && !has(list, member)) list->items[list->count++] = member;
}

/* The owner when one member is gone. */
static size_t owner_without(size_t members, size_t gone, int32_t partitions, int32_t partition) {
    size_t left = members_owner(members - 1, partitions, partition);
    return left + (left >= gone);
}

/* The present member that owns the partition after a new member has joined before number `at`; `members`: the new one owns it. */
static size_t owner_with(size_t members, size_t at, int32_t partitions, int32_t partition) {
    size_t owner = members_owner(members + 1, partitions, partition);
    if (owner == at) return members;
    return owner - (owner > at);
}

/* The owner when the owner and all of the list are gone. */
static size_t owner_of_rest(const struct list *list, size_t members, int32_t partitions, int32_t partition) {
    size_t left = members_owner(members - 1 - list->count, partitions, partition);
    for (size_t member = 0;; member++) {
        if (has(list, member)) continue;
        if (left-- == 0) return member;
    }
}

size_t members_standbys(size_t members, int32_t partitions, int32_t partition, size_t *items, size_t limit) {
    struct list list = {.owner = members_owner(members, partitions, partition), .items = items};
    list.limit = limit < members - 1 ? limit : members - 1;
    if (!list.limit) return 0;
    add(&list, owner_without(members, list.owner, partitions, partition));
    for (size_t gone = 0; gone < members; gone++) add(&list, owner_without(members, gone, partitions, partition));
    for (size_t at = 0; at <= members; at++) {
        size_t owner = owner_with(members, at, partitions, partition);
        if (owner < members) add(&list, owner);
    }
    while (list.count < list.limit) add(&list, owner_of_rest(&list, members, partitions, partition));
    return list.count;
}

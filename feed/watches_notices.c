/* Live notices: edges are told which version a watched list has; they read the list anew. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "feed/watches_private.h"

enum { LISTS = 8 /* that one turn looks at: of 200 notices each */ };

static size_t what_of(int64_t user, char what[WATCHES_WHAT_SIZE + 1]) {
    return (size_t)snprintf(what, WATCHES_WHAT_SIZE + 1, "notices:%" PRId64, user);
}

bool watches_notices_version(struct watches *watches, int32_t partition, int64_t user, struct watch_version *version) {
    struct error error;
    int code = notices_shown_version(&watches->feed->notices_shown, partition, user, version, &error);
    if (code) tasks_store_failed(watches->feed->tasks, partition, code, &error);
    return !code;
}

bool watches_notices_watched(const struct watches *watches, int32_t partition, int64_t user) {
    char what[WATCHES_WHAT_SIZE + 1];
    return watch_owner_watched(watches->owner, partition, what, what_of(user, what));
}

void watches_notices(struct watches *watches, int64_t user) {
    char what[WATCHES_WHAT_SIZE + 1];
    size_t size = what_of(user, what), at;
    int32_t partition = hash_user_partition(user, watches->feed->partitions);
    struct id_list *due = &watches->notices_due;
    if (!watch_owner_watched(watches->owner, partition, what, size) || id_list_find(due, user, &at)) return;
    id_list_reserve(due, due->count + 1);
    memmove(due->items + at + 1, due->items + at, (due->count - at) * sizeof *due->items);
    due->items[at] = user;
    due->count++;
    watches_soon(watches);
}

/* One user after the other, by their ids: nobody waits for ever. */
static int64_t take_next(struct watches *watches) {
    struct id_list *due = &watches->notices_due;
    size_t at;
    id_list_find(due, watches->notices_next, &at);
    if (at == due->count) at = 0;
    int64_t user = due->items[at];
    due->count--;
    memmove(due->items + at, due->items + at + 1, (due->count - at) * sizeof *due->items);
    watches->notices_next = user + 1;
    return user;
}

bool watches_notices_work(struct watches *watches) {
    char what[WATCHES_WHAT_SIZE + 1];
    struct watch_version version;
    for (size_t i = 0; i < LISTS && watches->notices_due.count; i++) {
        int64_t user = take_next(watches);
        int32_t partition = hash_user_partition(user, watches->feed->partitions);
        size_t size = what_of(user, what);
        bool watched = watch_owner_watched(watches->owner, partition, what, size);
        if (watched && watches_notices_version(watches, partition, user, &version))
            watch_owner_name(watches->owner, partition, what, size, version);
    }
    return watches->notices_due.count;
}

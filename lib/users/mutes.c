#include "users/mutes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/maps.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "event/codec.h"
#include "event/topics.h"
#include "json/json.h"
#include "users/half.h"

enum { BITS = 10 /* of the parts of the map */, FIRST = 4 };

struct muted {
    size_t count, capacity;
    int64_t items[]; /* rising */
};

struct mutes {
    struct mutes_options options;
    struct codec *codec;
    struct maps *lists; /* user -> struct muted *, or 0 */
    struct map *users;  /* who has a list that is not empty: to free them; keys only */
    struct metric *pairs;
};

struct mutes *mutes_new(const struct mutes_options *options) {
    struct mutes *mutes = MEM_NEW(&(struct mutes){
        .options = *options,
        .codec = codec_new(),
        .pairs =
            metrics_gauge(options->metrics, "starling_copies_nearby_mutes",
                          "Pairs of a user and a friend whom the user does not want to see nearby, in memory.", NULL),
    });
    mutes->lists = maps_new(BITS);
    mutes->users = map_new();
    return mutes;
}

static void free_lists(struct mutes *mutes) {
    size_t cursor = 0;
    uint64_t user, value;
    while (map_next(mutes->users, &cursor, &user, &value)) free((void *)(uintptr_t)*maps_find(mutes->lists, user));
    map_free(mutes->users);
    maps_free(mutes->lists);
}

void mutes_free(struct mutes *mutes) {
    if (!mutes) return;
    free_lists(mutes);
    codec_free(mutes->codec);
    free(mutes);
}

static struct muted *list_of(const struct mutes *mutes, int64_t user) {
    const uint64_t *value = maps_find(mutes->lists, (uint64_t)user);
    return value ? (struct muted *)(uintptr_t)*value : NULL;
}

static bool is_at(const struct muted *list, size_t at, int64_t other) {
    return at < list->count && list->items[at] == other;
}

static void put(struct mutes *mutes, int64_t user, int64_t other) {
    struct muted *list = list_of(mutes, user);
    size_t count = list ? list->count : 0, at = list ? sorted_below(list->items, count, other) : 0;
    if (list && is_at(list, at, other)) return;
    if (!list || count == list->capacity) {
        size_t capacity = list ? 2 * count : FIRST;
        list = mem_resize(list, 1, sizeof *list + capacity * sizeof *list->items);
        list->count = count;
        list->capacity = capacity;
        *maps_put(mutes->lists, (uint64_t)user, NULL) = (uint64_t)(uintptr_t)list;
        map_put(mutes->users, (uint64_t)user, NULL);
    }
    memmove(list->items + at + 1, list->items + at, (count - at) * sizeof *list->items);
    list->items[at] = other;
    list->count++;
    mutes->pairs->value++;
}

static void drop(struct mutes *mutes, int64_t user, int64_t other) {
    struct muted *list = list_of(mutes, user);
    size_t at = list ? sorted_below(list->items, list->count, other) : 0;
    if (!list || !is_at(list, at, other)) return;
    mutes->pairs->value--;
    memmove(list->items + at, list->items + at + 1, (--list->count - at) * sizeof *list->items);
    if (list->count) return;
    free(list);
    *maps_put(mutes->lists, (uint64_t)user, NULL) = 0;
    map_remove(mutes->users, (uint64_t)user, NULL);
}

static int read_key(const struct mutes *mutes, const struct kafka_record *record, int64_t *user, int64_t *other,
                    struct error *error) {
    if (record->key_size != HALF_KEY_SIZE) return error_set(error, -EBADMSG, "the key must be two users");
    *user = half_key_user(record->key);
    *other = half_key_other(record->key);
    if (*user < 0 || *other < 0 || *user == *other) return error_set(error, -EBADMSG, "the key must be two users");
    if (hash_user_partition(*user, mutes->options.partitions) != record->partition)
        return error_set(error, -EBADMSG, "not in the partition of its user");
    return 0;
}

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct mutes *mutes = context;
    struct nearby_mute mute;
    int64_t user, other;
    int code = read_key(mutes, record, &user, &other, error);
    if (!code && record->value)
        code = event_decode_nearby_mute(mutes->codec, record->value, record->value_size, &mute, error);
    if (code) return code;
    if (record->value)
        put(mutes, user, other);
    else
        drop(mutes, user, other);
    return 0;
}

static void forget(void *context) {
    struct mutes *mutes = context;
    free_lists(mutes);
    mutes->lists = maps_new(BITS);
    mutes->users = map_new();
    mutes->pairs->value = 0; // counted up from here on
}

static void changed(void *context, const struct kafka_record *record) {
    const struct mutes *mutes = context;
    int64_t user, other;
    if (!mutes->options.on_change || read_key(mutes, record, &user, &other, NULL)) return;
    mutes->options.on_change(mutes->options.context, user, other, mutes_has(mutes, user, other));
}

struct copy_definition mutes_copy(struct mutes *mutes) {
    return (struct copy_definition){
        .topic = &TOPIC_NEARBY_MUTES,
        .context = mutes,
        .apply = apply,
        .forget = forget,
        .changed = changed,
    };
}

struct mutes_list mutes_of(const struct mutes *mutes, int64_t user) {
    const struct muted *list = list_of(mutes, user);
    return list ? (struct mutes_list){list->items, list->count} : (struct mutes_list){NULL, 0};
}

bool mutes_has(const struct mutes *mutes, int64_t user, int64_t other) {
    const struct muted *list = list_of(mutes, user);
    return list && is_at(list, sorted_below(list->items, list->count, other), other);
}

void mutes_json_put(struct buffer *out, struct mutes_list list) { json_put_ints(out, list.items, list.count); }

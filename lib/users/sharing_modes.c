#include "users/sharing_modes.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "event/topics.h"
#include "users/user_key.h"

enum { BITS = 10 }; /* there are so many maps (2 to the power of this) that none takes long to grow */

struct sharing_modes {
    struct sharing_modes_options options;
    struct codec *codec;
    struct map *maps[1 << BITS]; /* by the user's hash; user -> offset << 2 | mode */
    struct metric *users;
};

static void make_maps(struct sharing_modes *modes) {
    for (size_t i = 0; i < ARRAY_SIZE(modes->maps); i++) modes->maps[i] = map_new();
    modes->users->value = 0; // counted up from here on
}

static void free_maps(struct sharing_modes *modes) {
    for (size_t i = 0; i < ARRAY_SIZE(modes->maps); i++) map_free(modes->maps[i]);
}

struct sharing_modes *sharing_modes_new(const struct sharing_modes_options *options) {
    struct sharing_modes *modes = mem_alloc(sizeof *modes);
    *modes = (struct sharing_modes){
        .options = *options,
        .codec = codec_new(),
        .users = metrics_gauge(options->metrics, "starling_copies_sharing_users",
                               "Users whose sharing mode is held in memory.", NULL),
    };
    make_maps(modes);
    return modes;
}

void sharing_modes_free(struct sharing_modes *modes) {
    if (!modes) return;
    free_maps(modes);
    codec_free(modes->codec);
    free(modes);
}

/* By the bits that the map itself uses last. */
static struct map *map_of(const struct sharing_modes *modes, int64_t user) {
    return modes->maps[hash_fold((uint64_t)user) >> (64 - BITS)];
}

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct sharing_modes *modes = context;
    struct sharing sharing = {.mode = SHARING_OFF}; // a tombstone
    int64_t user = -1;
    int code = user_key_read(record, &user, error);
    if (!code && record->value)
        code = event_decode_sharing(modes->codec, record->value, record->value_size, &sharing, error);
    if (code) return code;
    bool created;
    *map_put(map_of(modes, user), (uint64_t)user, &created) = (uint64_t)record->offset << 2 | (uint64_t)sharing.mode;
    modes->users->value += created;
    return 0;
}

static void forget(void *context) {
    struct sharing_modes *modes = context;
    free_maps(modes);
    make_maps(modes);
}

static void changed(void *context, const struct kafka_record *record) {
    struct sharing_modes *modes = context;
    int64_t user = -1, offset;
    if (!modes->options.on_change || user_key_read(record, &user, NULL)) return;
    enum sharing_mode mode = sharing_modes_find(modes, user, &offset);
    // A record that a later one of the batch replaced is told with that.
    if (offset == record->offset) modes->options.on_change(modes->options.context, user, mode, offset);
}

struct copy_definition sharing_modes_copy(struct sharing_modes *modes) {
    return (struct copy_definition){
        .topic = &TOPIC_SHARING,
        .disk = NULL,
        .context = modes,
        .apply = apply,
        .forget = forget,
        .changed = changed,
    };
}

enum sharing_mode sharing_modes_find(const struct sharing_modes *modes, int64_t user, int64_t *offset) {
    const uint64_t *found = map_find(map_of(modes, user), (uint64_t)user);
    if (offset) *offset = found ? (int64_t)(*found >> 2) : -1;
    return found ? (enum sharing_mode)(*found & 3) : SHARING_OFF;
}

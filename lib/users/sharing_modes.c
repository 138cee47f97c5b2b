#include "users/sharing_modes.h"

#include <stdlib.h>

#include "base/maps.h"
#include "base/mem.h"
#include "event/topics.h"
#include "users/ends.h"
#include "users/user_key.h"

enum { BITS = 10 };                               /* of the parts of the map */
enum { MODE = 3, DETAILS = 4, OFFSET_SHIFT = 3 }; /* of its values */

struct sharing_modes {
    struct sharing_modes_options options;
    struct codec *codec;
    struct maps *maps; /* user -> offset << 3 | details << 2 | mode */
    struct ends *ends; /* of modes that are not OFF */
    int64_t ticked;    /* time of the last tick */
    struct metric *users;
};

struct sharing_modes *sharing_modes_new(const struct sharing_modes_options *options) {
    struct sharing_modes *modes = MEM_NEW(&(struct sharing_modes){
        .options = *options,
        .codec = codec_new(),
        .users = metrics_gauge(options->metrics, "starling_copies_sharing_users",
                               "Users whose sharing mode is held in memory.", NULL),
    });
    modes->maps = maps_new(BITS);
    modes->ends = ends_new();
    return modes;
}

void sharing_modes_free(struct sharing_modes *modes) {
    if (!modes) return;
    maps_free(modes->maps);
    ends_free(modes->ends);
    codec_free(modes->codec);
    free(modes);
}

static bool ended(const struct sharing_modes *modes, int64_t until) {
    return modes->options.now && until <= modes->options.now(modes->options.context);
}

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct sharing_modes *modes = context;
    struct sharing sharing = {.mode = SHARING_OFF}; // a tombstone
    int64_t user = -1;
    int code = user_key_read(record, &user, error);
    if (!code && record->value)
        code = event_decode_sharing(modes->codec, record->value, record->value_size, &sharing, error);
    if (code) return code;
    if (sharing.until && ended(modes, sharing.until)) sharing.mode = SHARING_OFF;
    ends_set(modes->ends, user, sharing.mode == SHARING_OFF ? 0 : sharing.until);
    bool created;
    *maps_put(modes->maps, (uint64_t)user, &created) = (uint64_t)record->offset << OFFSET_SHIFT |
                                                       (sharing.mode != SHARING_OFF && sharing.details ? DETAILS : 0) |
                                                       (uint64_t)sharing.mode;
    modes->users->value += created;
    return 0;
}

static void forget(void *context) {
    struct sharing_modes *modes = context;
    maps_free(modes->maps);
    modes->maps = maps_new(BITS);
    ends_free(modes->ends);
    modes->ends = ends_new();
    modes->users->value = 0; // counted up from here on
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
        .context = modes,
        .apply = apply,
        .forget = forget,
        .changed = changed,
    };
}

enum sharing_mode sharing_modes_find(const struct sharing_modes *modes, int64_t user, int64_t *offset) {
    const uint64_t *found = maps_find(modes->maps, (uint64_t)user);
    if (offset) *offset = found ? (int64_t)(*found >> OFFSET_SHIFT) : -1;
    if (!found) return SHARING_OFF;
    if (ends_soonest(modes->ends) <= modes->ticked) { // the last tick has left some over
        int64_t end = ends_of(modes->ends, user);
        if (end && end <= modes->ticked) return SHARING_OFF;
    }
    return (enum sharing_mode)(*found & MODE);
}

bool sharing_modes_details(const struct sharing_modes *modes, int64_t user) {
    const uint64_t *found = maps_find(modes->maps, (uint64_t)user);
    return found && *found & DETAILS && sharing_modes_find(modes, user, NULL) != SHARING_OFF;
}

int64_t sharing_modes_until(const struct sharing_modes *modes, int64_t user) {
    int64_t end = ends_of(modes->ends, user);
    return end > modes->ticked ? end : 0;
}

void sharing_modes_tick(struct sharing_modes *modes) {
    const struct sharing_modes_options *options = &modes->options;
    int64_t user, time;
    if (!options->now) return;
    modes->ticked = options->now(options->context);
    for (size_t i = 0; i < SHARING_MODES_A_TICK && ends_take(modes->ends, modes->ticked, &user, &time); i++) {
        uint64_t *value = maps_find(modes->maps, (uint64_t)user);
        int64_t offset = (int64_t)(*value >> OFFSET_SHIFT);
        *value = (uint64_t)offset << OFFSET_SHIFT | SHARING_OFF;
        if (options->on_change) options->on_change(options->context, user, SHARING_OFF, offset);
    }
}

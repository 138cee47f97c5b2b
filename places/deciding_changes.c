/* Changes of places. A place that is changed keeps its bit, and the next report judges it; one that is deleted makes no event. A user's first
 * place begins with `newest` at the arrival of the change, as of a user without places nothing is kept up to date; unless reports have times
 * of their own (clock=stream). */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "event/topics.h"
#include "places/deciding_private.h"
#include "users/user_key.h"

/* ---- reading ---- */

static bool well_placed(const struct place_command *command) {
    return command->radius >= PLACE_RADIUS_MIN_M && command->radius <= PLACE_RADIUS_MAX_M &&
           command->name.size <= PLACE_NAME_MAX && command->users.count <= PLACE_TOLD_MAX;
}

int deciding_read_change(struct deciding_places *deciding, const struct kafka_record *record, struct error *error) {
    struct place_command command;
    int64_t user;
    if (user_key_read(record, &user, error)) return -EBADMSG;
    if (!record->value) return error_set(error, -EBADMSG, "no value");
    if (event_decode_place_command(deciding->codec, record->value, record->value_size, &command, error))
        return -EBADMSG;
    if (command.user != user || hash_user_partition(user, deciding->options.partitions) != record->partition)
        return error_set(error, -EBADMSG, "not in its user's partition");
    if (command.kind != PLACE_COMMAND_FORGET && !place_id_is(command.id.data, command.id.size))
        return error_set(error, -EBADMSG, "a place's id has 1 to %d of A-Z, a-z, 0-9, _ and -", PLACE_ID_MAX);
    if (command.kind == PLACE_COMMAND_PUT && !well_placed(&command))
        return error_set(error, -EBADMSG, "no place may be like that");
    return 0;
}

/* ---- forgetting ---- */

static int forget_places(struct deciding_places *deciding, int32_t partition, struct standing_user *user,
                         struct error *error) {
    int code = 0;
    for (; !code && user->count; standing_place_remove(user, user->count - 1)) {
        const struct watched_place *place = &user->places[user->count - 1];
        const struct place_key key = {user->user, place->id, place->id_size};
        code = deciding_write_place(deciding, partition, &key, NULL, error);
    }
    return code;
}

/* The number stays until no report is read again that the user had sent before. */
static int forget(struct deciding_places *deciding, int32_t partition, struct standing_user *user,
                  struct error *error) {
    struct place_state *state = &user->state;
    int64_t position = deciding_position(deciding, partition);
    int code = forget_places(deciding, partition, user, error);
    for (int64_t number = state->first + 1; !code && number <= state->number; number++) {
        const struct place_event_key key = {user->user, number};
        code = deciding_write_event(deciding, partition, &key, NULL, error);
    }
    if (code) return code;
    *state = (struct place_state){.offset = state->offset > position ? state->offset : position,
                                  .left = -1,
                                  .number = state->number,
                                  .first = state->number,
                                  .bare = true};
    standing_bare(deciding->standing, partition, user);
    return deciding_write_state(deciding, partition, user, error);
}

/* ---- places ---- */

static int32_t free_slot(const struct standing_user *user) {
    int64_t used = 0;
    int32_t slot = 0;
    for (size_t i = 0; i < user->count; i++) used |= INT64_C(1) << user->places[i].slot;
    while (used >> slot & 1) slot++;
    return slot;
}

/* Before the place is there or gone: reports of a user without places were passed by unread, up to the next one that is taken. */
static void count_from_here(struct deciding_places *deciding, int32_t partition, struct standing_user *user) {
    int64_t from = user->count ? deciding_position(deciding, partition)
                               : decider_next(deciding->decider, &TOPIC_LOCATIONS, partition);
    if (from > user->state.offset) user->state.offset = from;
}

static int put(struct deciding_places *deciding, int32_t partition, struct standing_user *user,
               const struct place_command *command, int64_t arrived_ms, struct error *error) {
    size_t at;
    bool there = standing_place(user, command->id.data, command->id.size, &at);
    if (!there && user->count >= PLACES_MAX) return 0; // the row that is not there is the answer
    struct watched_place place = {.centre = {command->lat, command->lng},
                                  .radius = command->radius,
                                  .slot = there ? user->places[at].slot : free_slot(user),
                                  .id_size = (uint32_t)command->id.size};
    memcpy(place.id, command->id.data, command->id.size);
    count_from_here(deciding, partition, user);
    bool wall = deciding->options.ahead_ms != VERDICT_ANY_TIME;
    if (!user->count && wall && arrived_ms > user->state.newest) user->state.newest = arrived_ms;
    user->state.bare = false;
    standing_place_put(user, at, there, &place);
    const struct place_key key = {user->user, place.id, place.id_size};
    const struct user_place row = {.slot = place.slot,
                                   .name = command->name,
                                   .lat = command->lat,
                                   .lng = command->lng,
                                   .radius = command->radius,
                                   .friends = command->friends,
                                   .users = command->users,
                                   .since = user->state.offset};
    int code = deciding_write_place(deciding, partition, &key, &row, error);
    return code ? code : deciding_write_state(deciding, partition, user, error);
}

static int delete_place(struct deciding_places *deciding, int32_t partition, struct standing_user *user,
                        const struct place_command *command, struct error *error) {
    size_t at;
    if (!standing_place(user, command->id.data, command->id.size, &at)) return 0;
    count_from_here(deciding, partition, user);
    user->state.inside &= ~(INT64_C(1) << user->places[at].slot);
    standing_place_remove(user, at);
    const struct place_key key = {user->user, command->id.data, command->id.size};
    int code = deciding_write_place(deciding, partition, &key, NULL, error);
    return code ? code : deciding_write_state(deciding, partition, user, error);
}

/* One of whom nothing is in memory may still have a state: that of a user whose last place was deleted. */
static int find(struct deciding_places *deciding, int32_t partition, const struct placing_item *item, bool make,
                struct standing_user **found, struct error *error) {
    struct place_state state;
    *found = standing_find(deciding->standing, partition, item->user);
    if (*found) return standing_load(deciding->standing, partition, *found, error);
    int code = standing_stored(deciding->standing, partition, item->user, &state, error);
    if (code < 0 || (!code && !make)) return code;
    // Numbers rise with the times of changes, also after the user was forgotten.
    if (!code) state = (struct place_state){.left = -1, .number = item->arrived_ms, .first = item->arrived_ms};
    *found = standing_add(deciding->standing, partition, item->user, &state);
    (*found)->loaded = true;
    return 0;
}

int deciding_change(struct deciding_places *deciding, int32_t partition, const struct placing_item *item,
                    struct error *error) {
    struct place_command command;
    struct standing_user *user;
    int code = event_decode_place_command(deciding->codec, item->value, item->size, &command, error);
    if (!code) code = find(deciding, partition, item, command.kind == PLACE_COMMAND_PUT, &user, error);
    if (code || !user) return code;
    switch (command.kind) {
    case PLACE_COMMAND_PUT: return put(deciding, partition, user, &command, item->arrived_ms, error);
    case PLACE_COMMAND_DELETE: return delete_place(deciding, partition, user, &command, error);
    case PLACE_COMMAND_FORGET: return user->state.bare ? 0 : forget(deciding, partition, user, error);
    }
    return 0;
}

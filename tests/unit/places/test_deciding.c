/* Tests deciding.c, deciding_changes.c, standing.c and stores.c. Reports and changes of places over a Kafka in memory and the real stores, while
 * transactions fail, partitions are taken away, processes die, and disks are lost: `place-events` holds what the function gives over
 * `locations`, with each change at the offset that its state names. */
#include <math.h>

#include "base/bytes.h"
#include "base/chance.h"
#include "decider/command_offset.h"
#include "event/topics.h"
#include "fakes/kafka.h"
#include "places/deciding.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 2, USERS = 5, IDS = 3, STEPS = 5000, NEVER_MS = 1 << 30 };

static const struct topic *const COMMANDS[] = {&TOPIC_LOCATIONS, &TOPIC_PLACE_COMMANDS};
static const struct topic *const STATES[] = {&TOPIC_PLACES, &TOPIC_PLACE_STATES, &TOPIC_PLACE_EVENTS};
enum { COMMAND_TOPICS = 2, STATE_TOPICS = 3 };

struct world {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct kafka_consumer *consumer;
    struct place_stores *stores;
    struct deciding_places *deciding;
    struct codec *codec;
    struct chance chance;
    char *folder;
    int disks;
    int64_t now_ms, cover_ms, where[USERS], consents[USERS];
    bool assigned, begin_wanted;
};
static struct world *the_world;

static int32_t home_of(int64_t user) { return hash_user_partition(user, PARTITIONS); }
static uint32_t roll(struct world *w, uint32_t below) { return chance_next(&w->chance) % below; }

/* ---- what deciding tells ---- */

void tasks_decided(struct tasks *tasks) {}
void tasks_commands_lost(struct tasks *tasks) { the_world->begin_wanted = the_world->assigned; }
void tasks_damaged(struct tasks *tasks, int32_t partition, int code, const struct error *error) {
    if (code == -EBADMSG) fail_msg("%s", error->text);
}

/* ---- the owner ---- */

static struct table_store *table_of(struct world *w, size_t state) {
    return state == 0   ? place_stores_places(w->stores)
           : state == 1 ? place_stores_states(w->stores)
                        : place_stores_events(w->stores);
}

static void store_record(struct world *w, size_t state, const struct kafka_record *record) {
    const char *reason = NULL;
    if (!record->key_size) return; // a fence's
    assert_int_equal(TABLE_STORE_KIND.take(table_of(w, state), 0, record, &reason, &failure), 0);
    if (reason) fail_msg("%s: %s", STATES[state]->name, reason);
}

static void write_all(struct world *w) {
    for (size_t s = 0; s < STATE_TOPICS; s++) assert_int_equal(table_store_write(table_of(w, s), &failure), 0);
}

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) {
        size_t state = 0;
        while (state < STATE_TOPICS && STATES[state] != records[i].topic) state++;
        if (state < STATE_TOPICS)
            store_record(w, state, &records[i]);
        else
            decider_take(deciding_places_decider(w->deciding), &records[i]);
    }
    write_all(w);
    decider_run(deciding_places_decider(w->deciding));
}

static void on_drained(void *context) {
    struct world *w = context;
    for (size_t s = 0; w->deciding && s < STATE_TOPICS; s++) {
        for (int32_t p = 0; p < PARTITIONS; p++) {
            int64_t next = kafka_consumer_position(w->consumer, STATES[s], p);
            if (next >= 0) decider_read_back(deciding_places_decider(w->deciding), STATES[s], p, next);
        }
    }
}

static void on_assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct world *w = context;
    w->assigned = w->begin_wanted = true;
}

static void on_revoked(void *context, bool lost) {
    struct world *w = context;
    w->assigned = w->begin_wanted = false;
    if (w->deciding) decider_revoke(deciding_places_decider(w->deciding));
}

static int64_t offset_as_state(const struct topic *topic, int32_t partition) {
    int64_t next = 0;
    for (size_t i = 0; i < fake_count(&TOPIC_PLACE_OFFSETS, partition); i++) {
        struct fake_record record = fake_record_at(&TOPIC_PLACE_OFFSETS, partition, i);
        if (record.key_size == strlen(topic->name) && !memcmp(record.key, topic->name, record.key_size))
            assert_int_equal(command_offset_get(record.value, record.value_size, &next), 0);
    }
    return next;
}

static void restore(struct world *w, size_t state, int32_t partition) {
    for (size_t i = 0; i < fake_count(STATES[state], partition); i++) {
        struct fake_record found = fake_record_at(STATES[state], partition, i);
        const struct kafka_record record = {.topic = STATES[state],
                                            .partition = partition,
                                            .offset = found.offset,
                                            .key = found.key,
                                            .key_size = found.key_size,
                                            .value = found.value,
                                            .value_size = found.value_size};
        store_record(w, state, &record);
    }
}

static void begin(struct world *w) {
    struct kafka_position read[(COMMAND_TOPICS + STATE_TOPICS) * PARTITIONS];
    size_t count = 0;
    w->begin_wanted = false;
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (size_t s = 0; s < STATE_TOPICS; s++) {
            restore(w, s, p);
            read[count++] = (struct kafka_position){STATES[s], p, fake_end(STATES[s], p)};
        }
        write_all(w);
        for (size_t t = 0; t < COMMAND_TOPICS; t++) {
            struct kafka_position from = {.topic = COMMANDS[t], .partition = p};
            assert_int_equal(kafka_consumer_committed(w->consumer, &from, 1, 1000, NULL), 0);
            int64_t state = offset_as_state(COMMANDS[t], p);
            if (from.offset < state) from.offset = state;
            decider_begin(deciding_places_decider(w->deciding), from.topic, p, from.offset, fake_end(from.topic, p));
            read[count++] = from;
        }
    }
    assert_int_equal(kafka_consumer_read(w->consumer, read, count, NULL), 0);
}

static void turn(struct world *w) {
    const struct decider *decider = deciding_places_decider(w->deciding);
    if (w->begin_wanted && decider_ready(decider) && !decider_committing(decider)) begin(w);
    fake_turn(&w->loop);
}

#define UNTIL(w, condition)                                                                                            \
    do {                                                                                                               \
        int64_t began_us_ = clock_monotonic_us();                                                                      \
        while (!(condition)) {                                                                                         \
            if (clock_monotonic_us() - began_us_ > 60000000) fail_msg("never came: %s", #condition);                   \
            turn(w);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- the process ---- */

static void start(struct world *w) {
    FREED char *path = mem_format("%s/%d", w->folder, w->disks);
    assert_int_equal(place_stores_open(path, 16 << 20, PARTITIONS, &w->stores, &failure), 0);
    for (size_t s = 0; s < STATE_TOPICS; s++)
        for (int32_t p = 0; p < PARTITIONS; p++)
            assert_int_equal(table_store_open(table_of(w, s), p, 0, 0, &failure), 0);
    w->deciding = deciding_places_new(&(struct deciding_places_options){.loop = &w->loop,
                                                                        .kafka = &w->settings,
                                                                        .metrics = kit_metrics(),
                                                                        .transactional_id = "one",
                                                                        .partitions = PARTITIONS,
                                                                        .batch = 20,
                                                                        .cover_ms = w->cover_ms,
                                                                        .ahead_ms = 60000,
                                                                        .stores = w->stores});
    struct kafka_consumer_options options = {.loop = &w->loop,
                                             .settings = &w->settings,
                                             .group = "group",
                                             .context = w,
                                             .on_records = on_records,
                                             .on_assigned = on_assigned,
                                             .on_revoked = on_revoked,
                                             .on_drained = on_drained};
    assert_int_equal(kafka_consumer_new(&options, &w->consumer, NULL), 0);
    decider_set_consumer(deciding_places_decider(w->deciding), w->consumer);
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, PARTITIONS - 1);
}

static void stop(struct world *w) {
    struct decider *decider = deciding_places_decider(w->deciding);
    decider_stop(decider);
    UNTIL(w, !decider_busy(decider));
    deciding_places_free(w->deciding);
    w->deciding = NULL;
    kafka_consumer_free(w->consumer);
    place_stores_close(w->stores);
    w->assigned = w->begin_wanted = false;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    the_world = w;
    kit_loop(&w->loop);
    w->settings = (struct kafka_settings){.bootstrap = "memory", .prefix = "", .client_id = "test"};
    w->codec = kit_codec();
    w->folder = kit_folder();
    w->cover_ms = NEVER_MS;
    w->now_ms = 1000000;
    fake_kafka_start();
    for (size_t t = 0; t < COMMAND_TOPICS; t++) fake_topic(COMMANDS[t], PARTITIONS);
    for (size_t s = 0; s < STATE_TOPICS; s++) fake_topic(STATES[s], PARTITIONS);
    fake_topic(&TOPIC_PLACE_OFFSETS, PARTITIONS);
    for (size_t t = 0; t < COMMAND_TOPICS; t++)
        for (int32_t p = 0; p < PARTITIONS; p++) fake_commit(COMMANDS[t], p, 0);
    start(w);
    return w;
}

TEAR_DOWN(struct world *w) { stop(w); }

/* ---- users ---- */

static void append(struct world *w, const struct topic *topic, int64_t user, const struct buffer *value) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    fake_now(w->now_ms);
    fake_append(topic, home_of(user), key, sizeof key, value->data, value->size);
}

static int32_t north(int64_t metres) { return 399847000 + (int32_t)(metres * 90); }

static void report(struct world *w, int64_t user, int64_t metres, int64_t time, enum location_kind kind, int64_t opted,
                   int32_t accuracy) {
    FREED_BUFFER value = {0};
    event_encode_location(&value, &(struct location){.user = user,
                                                     .lat = north(metres),
                                                     .lng = 1163184000,
                                                     .time = time,
                                                     .kind = kind,
                                                     .route = -1,
                                                     .opted = opted,
                                                     .accuracy = accuracy});
    append(w, &TOPIC_LOCATIONS, user, &value);
}

static void change(struct world *w, int64_t user, enum place_command_kind kind, const char *id, int64_t metres,
                   int32_t radius) {
    FREED_BUFFER value = {0};
    int64_t friend = 9;
    event_encode_place_command(&value, &(struct place_command){.kind = kind,
                                                               .user = user,
                                                               .id = {id, strlen(id)},
                                                               .name = {"A place", 7},
                                                               .lat = north(metres),
                                                               .lng = 1163184000,
                                                               .radius = radius,
                                                               .users = {&friend, metres & 1}});
    append(w, &TOPIC_PLACE_COMMANDS, user, &value);
}

/* ---- the judge ---- */

struct plain_event {
    int64_t offset, time;
    int32_t what;
    char id;
};

struct plain_user {
    struct {
        bool there, inside;
        struct geo_point centre;
        double radius;
    } places[IDS];
    int64_t newest, left;
    size_t count;
};

static void plain_change(struct plain_user *user, const struct place_command *command, int64_t arrived_ms) {
    size_t i = command->id.size ? (size_t)(command->id.data[0] - 'a') : 0;
    if (command->kind == PLACE_COMMAND_FORGET) {
        *user = (struct plain_user){.left = -1};
    } else if (command->kind == PLACE_COMMAND_DELETE) {
        memset(&user->places[i], 0, sizeof user->places[i]);
        user->count--;
    } else {
        if (!user->count && arrived_ms > user->newest) user->newest = arrived_ms;
        user->count += !user->places[i].there;
        user->places[i].there = true;
        user->places[i].centre = (struct geo_point){command->lat, command->lng};
        user->places[i].radius = command->radius;
    }
}

static size_t plain_report(struct plain_user *user, const struct location *event, const struct fake_record *record,
                           struct plain_event *events) {
    size_t count = 0;
    if (!user->count) return 0;
    if (event->kind == LOCATION_LEAVE && event->opted > user->left) user->left = event->opted;
    if (event->kind > LOCATION_JOIN || !event->time || event->time > record->timestamp + 60000) return 0;
    if (event->time < user->newest || (user->left >= 0 && event->opted <= user->left)) return 0;
    user->newest = event->time;
    double accuracy = event->accuracy > 0 ? event->accuracy : 0;
    for (int arrives = 0; arrives <= 1; arrives++) {
        for (size_t i = 0; i < IDS; i++) {
            if (!user->places[i].there || user->places[i].inside == arrives) continue;
            double far = geo_distance(user->places[i].centre, (struct geo_point){event->lat, event->lng});
            double radius = user->places[i].radius;
            bool turns = arrives ? far + accuracy <= radius : far - accuracy > radius + fmax(50, radius / 10);
            if (turns) events[count++] = (struct plain_event){record->offset, event->time, !arrives, (char)('a' + i)};
        }
    }
    for (size_t e = 0; e < count; e++) user->places[events[e].id - 'a'].inside = !events[e].what;
    return count;
}

/* The offsets at which the user's changes count, in their order: of each state that came with no new number. Nothing is covered here. */
static size_t offsets_of(struct world *w, int64_t user, int64_t *offsets) {
    size_t count = 0;
    int64_t number = -1;
    for (size_t i = 0; i < fake_count(&TOPIC_PLACE_STATES, home_of(user)); i++) {
        struct fake_record record = fake_record_at(&TOPIC_PLACE_STATES, home_of(user), i);
        struct place_state state;
        if (record.key_size != 8 || (int64_t)bytes_get_be64(record.key) != user) continue;
        if (!record.value) {
            number = -1;
            continue;
        }
        assert_int_equal(event_decode_place_state(w->codec, record.value, record.value_size, &state, &failure), 0);
        if (number < 0 || state.number == number) offsets[count++] = state.offset;
        number = state.number;
    }
    return count;
}

/* Whether the change leads to something. */
static bool leads(struct plain_user *has, const struct place_command *command, bool *known) {
    size_t i = command->id.size ? (size_t)(command->id.data[0] - 'a') : 0;
    bool does = command->kind == PLACE_COMMAND_PUT      ? true
                : command->kind == PLACE_COMMAND_DELETE ? has->places[i].there
                                                        : *known;
    if (!does) return false;
    *known = command->kind != PLACE_COMMAND_FORGET;
    if (command->kind == PLACE_COMMAND_FORGET)
        *has = (struct plain_user){.left = -1};
    else
        has->places[i].there = command->kind == PLACE_COMMAND_PUT;
    return true;
}

enum { EVENTS_MAX = 4000, CHANGES_MAX = 2000 };

static size_t expected_events(struct world *w, int64_t user, struct plain_event *events) {
    static int64_t offsets[CHANGES_MAX];
    struct plain_user state = {.left = -1}, has = {.left = -1};
    struct location event;
    size_t count = 0, since = 0, sinces = offsets_of(w, user, offsets), c = 0;
    bool known = false;
    for (size_t i = 0; i <= fake_count(&TOPIC_LOCATIONS, home_of(user)); i++) {
        bool end = i == fake_count(&TOPIC_LOCATIONS, home_of(user));
        struct fake_record record = {.offset = INT64_MAX};
        if (!end) record = fake_record_at(&TOPIC_LOCATIONS, home_of(user), i);
        for (; c < fake_count(&TOPIC_PLACE_COMMANDS, home_of(user)); c++) {
            struct fake_record found = fake_record_at(&TOPIC_PLACE_COMMANDS, home_of(user), c);
            struct place_command command;
            assert_int_equal(event_decode_place_command(w->codec, found.value, found.value_size, &command, &failure),
                             0);
            if (command.user != user) continue;
            struct plain_user before = has;
            bool knew = known;
            if (!leads(&has, &command, &known)) continue;
            if (since == sinces) fail_msg("a change was not decided");
            if (offsets[since] > record.offset) {
                has = before;
                known = knew;
                break;
            }
            plain_change(&state, &command, found.timestamp);
            since++;
        }
        if (end || (int64_t)bytes_get_be64(record.key) != user) continue;
        assert_int_equal(event_decode_location(w->codec, record.value, record.value_size, &event, &failure), 0);
        count += plain_report(&state, &event, &record, events + count);
    }
    assert_int_equal(since, sinces);
    return count;
}

static size_t check_user(struct world *w, int64_t user) {
    static struct plain_event events[EVENTS_MAX];
    size_t expected = expected_events(w, user, events), found = 0;
    int64_t last = -1;
    for (size_t i = 0; i < fake_count(&TOPIC_PLACE_EVENTS, home_of(user)); i++) {
        struct fake_record record = fake_record_at(&TOPIC_PLACE_EVENTS, home_of(user), i);
        struct place_event_key key;
        struct place_event event;
        if (!place_event_key_read(record.key, record.key_size, &key) || key.user != user || !record.value) continue;
        assert_int_equal(event_decode_place_event(w->codec, record.value, record.value_size, &event, &failure), 0);
        assert_true(key.number > last && found < expected);
        last = key.number;
        assert_int_equal(event.offset, events[found].offset);
        assert_int_equal(event.time, events[found].time);
        assert_int_equal(event.what, events[found].what);
        assert_true(event.place.size == 1 && event.place.data[0] == events[found].id && event.name.size == 7);
        found++;
    }
    assert_int_equal(found, expected);
    return found;
}

static bool all_decided(struct world *w) {
    const struct decider *decider = deciding_places_decider(w->deciding);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        if (decider_next(decider, &TOPIC_LOCATIONS, p) < fake_end(&TOPIC_LOCATIONS, p)) return false;
        if (decider_handled(decider, &TOPIC_PLACE_COMMANDS, p) < fake_end(&TOPIC_PLACE_COMMANDS, p)) {
            deciding_places_second(w->deciding);
            return false;
        }
    }
    return !decider_queued(decider) && !decider_committing(decider);
}

/* ---- trouble ---- */

static void trouble(struct world *w) {
    static const int CODES[] = {-EAGAIN, -ESTALE, -EIO};
    switch (roll(w, 9)) {
    case 0:
    case 1: fake_fail(FAKE_TRANSACTION_COMMIT, CODES[roll(w, 3)], 1); break;
    case 2: fake_commit_unanswered(roll(w, 2)); break;
    case 3: fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, PARTITIONS - 1); break;
    case 4: fake_revoke(w->consumer, roll(w, 2)); break;
    case 5: fake_fail(FAKE_SEND, -EAGAIN, 1); break;
    case 6: fake_delete_group(); break;
    default:
        stop(w);
        if (roll(w, 2)) w->disks++;
        start(w);
        break;
    }
}

/* Most troubles are over before the next thing happens. */
static void recover(struct world *w) {
    if (!roll(w, 4)) return;
    if (!w->assigned) fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, PARTITIONS - 1);
    for (int i = 0; i < 20; i++) turn(w);
    UNTIL(w, decider_ready(deciding_places_decider(w->deciding)) && !w->begin_wanted);
}

static void step(struct world *w) {
    static const int64_t TIMES[] = {0, 0, 0, -400, -3000, 90000};
    static const int32_t ACCURACIES[] = {-1, 0, 30, 400};
    static const int32_t RADIUS[] = {50, 100, 600};
    static const char *const NAMES[IDS] = {"a", "b", "c"};
    int64_t user = roll(w, USERS);
    uint32_t dice = roll(w, 100);
    w->now_ms += roll(w, 300);
    if (dice < 50) {
        w->where[user] = (w->where[user] + (int64_t)roll(w, 400) - 200) % 1000;
        report(w, user, w->where[user], w->now_ms + TIMES[roll(w, 6)], roll(w, 6) ? LOCATION_REPORT : roll(w, 4),
               w->consents[user], ACCURACIES[roll(w, 4)]);
    } else if (dice < 52) {
        report(w, user, 0, w->now_ms, LOCATION_LEAVE, w->consents[user], -1);
        w->consents[user] += roll(w, 4) > 0;
    } else if (dice < 62) {
        change(w, user, PLACE_COMMAND_PUT, NAMES[roll(w, IDS)], w->where[user] + roll(w, 200), RADIUS[roll(w, 3)]);
    } else if (dice < 66) {
        change(w, user, PLACE_COMMAND_DELETE, NAMES[roll(w, IDS)], 0, 0);
    } else if (dice < 67) {
        change(w, user, PLACE_COMMAND_FORGET, "", 0, 0);
    } else if (dice < 68) {
        if (roll(w, 3)) return;
        trouble(w);
        recover(w);
    } else if (dice < 73) {
        deciding_places_second(w->deciding);
    } else {
        turn(w);
    }
}

static void catch_up(struct world *w) {
    fake_fail(FAKE_TRANSACTION_COMMIT, 0, 0);
    if (!w->assigned) fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, PARTITIONS - 1);
    UNTIL(w, all_decided(w));
}

TEST(events_are_what_the_function_gives_whatever_happens, struct world *w) {
    size_t events = 0;
    w->chance.state = 4711;
    UNTIL(w, decider_ready(deciding_places_decider(w->deciding)) && !w->begin_wanted);
    for (int i = 1; i <= STEPS; i++) {
        step(w);
        if (i % 50 == 0) catch_up(w);
    }
    for (int64_t user = 0; user < USERS; user++) events += check_user(w, user);
    assert_true(events > 100);
}

/* ---- what is committed, and what is covered ---- */

static int64_t committed(int64_t user) { return fake_committed(&TOPIC_LOCATIONS, home_of(user)); }

static size_t states_of(int64_t user) {
    size_t count = 0;
    for (size_t i = 0; i < fake_count(&TOPIC_PLACE_STATES, home_of(user)); i++)
        count += bytes_get_be64(fake_record_at(&TOPIC_PLACE_STATES, home_of(user), i).key) == (uint64_t)user;
    return count;
}

TEST(reports_of_users_without_places_are_passed_by_and_a_report_that_waits_holds_the_position, struct world *w) {
    int64_t stranger = 50;
    while (home_of(stranger) != home_of(1)) stranger++;
    change(w, 1, PLACE_COMMAND_PUT, "a", 0, 100);
    UNTIL(w, states_of(1) == 1);
    for (int i = 0; i < 10; i++) report(w, stranger, 0, w->now_ms, LOCATION_REPORT, 1, -1);
    UNTIL(w, (deciding_places_second(w->deciding), committed(1) == 10));
    report(w, 1, 5000, w->now_ms + 1, LOCATION_REPORT, 1, -1);
    for (int i = 0; i < 10; i++) report(w, stranger, 0, w->now_ms, LOCATION_REPORT, 1, -1);
    UNTIL(w, all_decided(w));
    for (int i = 0; i < 20; i++) {
        deciding_places_second(w->deciding);
        turn(w);
    }
    assert_int_equal(committed(1), 10);
    assert_int_equal(states_of(1), 1);
    report(w, 1, 0, w->now_ms + 2, LOCATION_REPORT, 1, -1); // an arrival, whose state covers both
    UNTIL(w, (deciding_places_second(w->deciding), committed(1) == 22));
    assert_int_equal(states_of(1), 2);
    assert_int_equal(fake_dead_count(&TOPIC_LOCATIONS), 0);
}

TEST(whoever_waits_for_long_is_covered_once, struct world *w) {
    stop(w);
    w->cover_ms = 50;
    start(w);
    change(w, 1, PLACE_COMMAND_PUT, "a", 0, 100);
    UNTIL(w, states_of(1) == 1);
    report(w, 1, 5000, w->now_ms + 1, LOCATION_REPORT, 1, -1);
    UNTIL(w, (deciding_places_second(w->deciding), committed(1) == 1));
    assert_int_equal(states_of(1), 2);
}

TEST(nothing_is_left_of_who_is_forgotten, struct world *w) {
    change(w, 1, PLACE_COMMAND_PUT, "a", 0, 100);
    UNTIL(w, states_of(1) == 1);
    report(w, 1, 0, w->now_ms, LOCATION_REPORT, 1, -1);
    UNTIL(w, states_of(1) == 2);
    change(w, 1, PLACE_COMMAND_FORGET, "", 0, 0);
    UNTIL(w, (deciding_places_second(w->deciding), states_of(1) == 4)); // bare, and gone
    for (size_t s = 0; s < STATE_TOPICS; s++) {
        size_t count = fake_count(STATES[s], home_of(1));
        assert_null(fake_record_at(STATES[s], home_of(1), count - 1).value);
    }
}

TEST(there_are_so_many_places_at_most, struct world *w) {
    char id[16];
    for (int i = 0; i <= PLACES_MAX; i++) {
        snprintf(id, sizeof id, "p%d", i);
        change(w, 1, PLACE_COMMAND_PUT, id, i * 1000, 100);
    }
    UNTIL(w, (deciding_places_second(w->deciding), all_decided(w)));
    assert_int_equal(fake_count(&TOPIC_PLACES, home_of(1)), PLACES_MAX);
    change(w, 1, PLACE_COMMAND_DELETE, "p7", 0, 0);
    change(w, 1, PLACE_COMMAND_PUT, "q", 5, 100);
    UNTIL(w, fake_count(&TOPIC_PLACES, home_of(1)) == PLACES_MAX + 2);
    struct fake_record record = fake_record_at(&TOPIC_PLACES, home_of(1), PLACES_MAX + 1);
    struct user_place place;
    assert_int_equal(event_decode_user_place(w->codec, record.value, record.value_size, &place, &failure), 0);
    assert_int_equal(place.slot, 7);
}

TEST(changes_that_are_none_are_dead_letters, struct world *w) {
    change(w, 1, PLACE_COMMAND_PUT, "a", 0, PLACE_RADIUS_MIN_M - 1);
    change(w, 1, PLACE_COMMAND_PUT, "a", 0, PLACE_RADIUS_MAX_M + 1);
    change(w, 1, PLACE_COMMAND_PUT, "a b", 0, 100);
    change(w, 1, PLACE_COMMAND_DELETE, "", 0, 0);
    change(w, 1, PLACE_COMMAND_DELETE, "a", 0, 0); // of a place that is not there: nothing
    UNTIL(w, (deciding_places_second(w->deciding), all_decided(w)));
    assert_int_equal(fake_dead_count(&TOPIC_PLACE_COMMANDS), 4);
    assert_int_equal(states_of(1), 0);
}

/* The log of reports was lost, or the topics were copied: a state's offset beyond its end means nothing. */
TEST(reports_of_a_topic_that_was_made_anew_are_judged, struct world *w) {
    FREED_BUFFER place = {0}, state = {0};
    uint8_t key[PLACE_KEY_MAX];
    size_t size = place_key_write(key, &(struct place_key){1, "a", 1});
    event_encode_user_place(
        &place, &(struct user_place){.name = {"A place", 7}, .lat = north(0), .lng = 1163184000, .radius = 100});
    event_encode_place_state(&state,
                             &(struct place_state){.offset = 1000, .newest = 5, .left = -1, .number = 7, .first = 7});
    fake_append(&TOPIC_PLACES, home_of(1), key, size, place.data, place.size);
    fake_append(&TOPIC_PLACE_STATES, home_of(1), key, 8, state.data, state.size);
    stop(w);
    start(w);
    report(w, 1, 0, w->now_ms, LOCATION_REPORT, 1, -1);
    UNTIL(w, fake_count(&TOPIC_PLACE_EVENTS, home_of(1)) == 1);
    struct place_event_key event;
    struct fake_record record = fake_record_at(&TOPIC_PLACE_EVENTS, home_of(1), 0);
    assert_true(place_event_key_read(record.key, record.key_size, &event) && event.number == 8);
}

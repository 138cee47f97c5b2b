/* An author's followers, requests and visibility, decided over a Kafka in memory and the real stores, against brute force: what is decided
 * is read back now and then, so that most commands find what the ones before have left in the overlays. */
#include "base/bytes.h"
#include "base/chance.h"
#include "base/hash.h"
#include "event/topics.h"
#include "fakes/kafka.h"
#include "feed/commands.h"
#include "feed/rules.h"
#include "unit/feed/relation_steps.h"
#include "unit/kit/kit.h"
#include "users/notice.h"

enum { PARTITIONS = 2, USERS = 5, ROUNDS = 400, FULL = 7, NOT_REFUSED = -1 };

static const struct topic *const COMMANDS[] = {&TOPIC_FOLLOW_COMMANDS, &TOPIC_FOLLOWER_COMMANDS, &TOPIC_POST_COMMANDS,
                                               &TOPIC_NAME_COMMANDS, &TOPIC_NOTICE_COMMANDS};
static const struct topic *const STATES[] = {&TOPIC_FOLLOWS, &TOPIC_POSTS,           &TOPIC_POST_TEXTS,
                                             &TOPIC_NAMES,   &TOPIC_FOLLOW_REFUSALS, &TOPIC_VISIBILITY,
                                             &TOPIC_NOTICES, &TOPIC_FEED_OFFSETS,    &TOPIC_NOTICE_SETTINGS};

/* Of an author and a reader, as brute force or the topic has it. */
struct state {
    bool follows[USERS][USERS], requested[USERS][USERS], for_followers[USERS];
    size_t notices[USERS][NOTICE_KINDS];
};

struct world {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct kafka_consumer *consumer;
    struct feed_commands *commands;
    struct store *store;
    struct table_store *blocks;
    struct visibility_store *visibility;
    struct relation_lists *relations;
    struct codec *codec;
    struct chance chance;
    int64_t read[2][PARTITIONS], time; /* read: of follows, and of visibility */
    int64_t block_offset;
    bool begun;
    bool blocked[USERS][USERS];
    struct state expected;
};

static int32_t home_of(int64_t user) { return hash_user_partition(user, PARTITIONS); }

static uint32_t roll(struct world *w, uint32_t below) { return chance_next(&w->chance) % below; }

/* ---- what the commands tell ---- */

void tasks_decided(struct tasks *tasks) {}

void tasks_commands_lost(struct tasks *tasks) { fail_msg("a transaction failed"); }

void tasks_damaged(struct tasks *tasks, int32_t partition, int code, const struct error *error) {
    fail_msg("%s", error->text);
}

static void lists_failed(void *context, int32_t partition, int code, const struct error *error) {
    fail_msg("%s", error->text);
}

static const char *no_take(void *context, struct table_store *table, const struct kafka_record *record,
                           struct error *error) {
    return NULL;
}

/* ---- the world ---- */

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) decider_take(feed_commands_decider(w->commands), &records[i]);
    decider_run(feed_commands_decider(w->commands));
}

static void on_drained(void *context) {}

static void on_assigned(void *context, const struct kafka_position *owned, size_t count) {
    ((struct world *)context)->begun = true;
}

static void on_revoked(void *context, bool lost) {}

static void open_stores(struct world *w) {
    char *folder = kit_folder();
    int64_t from;
    FREED char *lists = mem_format("%s/lists", folder);
    FREED char *rows = mem_format("%s/rows", folder);
    assert_int_equal(store_open(rows, &(struct store_options){.memory_bytes = 0}, &w->store, &failure), 0);
    w->blocks = blocks_new(w->store, PARTITIONS, no_take, NULL);
    w->visibility = visibility_store_new(w->store, PARTITIONS);
    assert_int_equal(relation_lists_open(&(struct relation_lists_options){.path = lists,
                                                                          .partitions = PARTITIONS,
                                                                          .memory_bytes = 8 << 20,
                                                                          .max_age_ms = INT64_C(1) << 50,
                                                                          .failed = lists_failed},
                                         &w->relations, &failure),
                     0);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        assert_int_equal(table_store_open(w->blocks, p, 0, 0, &failure), 0);
        assert_int_equal(table_store_open(visibility_table(w->visibility), p, 0, 0, &failure), 0);
        assert_int_equal(relation_lists_attach(w->relations, p, 0, &from, &failure), 0);
        assert_int_equal(relation_lists_finish(w->relations, p, 0, &failure), 0);
    }
}

static void begin(struct world *w) {
    struct kafka_position read[PARTITIONS];
    FAKE_UNTIL(&w->loop, w->begun && decider_ready(feed_commands_decider(w->commands)));
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (size_t t = 0; t < ARRAY_SIZE(COMMANDS); t++)
            decider_begin(feed_commands_decider(w->commands), COMMANDS[t], p, 0, 0);
        read[p] = (struct kafka_position){.topic = &TOPIC_FOLLOWER_COMMANDS, .partition = p};
    }
    assert_int_equal(kafka_consumer_read(w->consumer, read, PARTITIONS, NULL), 0);
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    kit_loop(&w->loop);
    w->settings = (struct kafka_settings){.bootstrap = "memory", .prefix = "", .client_id = "test"};
    w->chance.state = 7;
    w->time = 1;
    w->codec = kit_codec();
    fake_kafka_start();
    for (size_t t = 0; t < ARRAY_SIZE(COMMANDS); t++) fake_topic(COMMANDS[t], PARTITIONS);
    for (size_t t = 0; t < ARRAY_SIZE(STATES); t++) fake_topic(STATES[t], PARTITIONS);
    open_stores(w);
    w->commands = feed_commands_new(&(struct feed_commands_options){.loop = &w->loop,
                                                                    .kafka = &w->settings,
                                                                    .metrics = kit_metrics(),
                                                                    .relations = w->relations,
                                                                    .blocks = w->blocks,
                                                                    .visibility = w->visibility,
                                                                    .transactional_id = "one",
                                                                    .partitions = PARTITIONS,
                                                                    .batch = 100,
                                                                    .following_max = FULL});
    struct kafka_consumer_options options = {.loop = &w->loop,
                                             .settings = &w->settings,
                                             .group = "group",
                                             .context = w,
                                             .on_records = on_records,
                                             .on_assigned = on_assigned,
                                             .on_revoked = on_revoked,
                                             .on_drained = on_drained};
    assert_int_equal(kafka_consumer_new(&options, &w->consumer, NULL), 0);
    decider_set_consumer(feed_commands_decider(w->commands), w->consumer);
    fake_assign_range(w->consumer, &TOPIC_FOLLOWER_COMMANDS, 0, PARTITIONS - 1);
    begin(w);
    return w;
}

TEAR_DOWN(struct world *w) {
    struct decider *decider = feed_commands_decider(w->commands);
    decider_stop(decider);
    FAKE_UNTIL(&w->loop, !decider_busy(decider));
    feed_commands_free(w->commands);
    kafka_consumer_free(w->consumer);
    relation_lists_close(w->relations);
    table_store_free(w->blocks);
    visibility_store_free(w->visibility);
    store_close(w->store);
}

/* ---- what is decided, from the topics ---- */

static bool half_of(const struct fake_record *record, struct relation_half *half) {
    return relation_key_read(record->key, record->key_size, half);
}

static void read_topics(struct state *seen, struct state *mirrored) {
    *seen = *mirrored = (struct state){.notices = {{0}}};
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (size_t i = 0; i < fake_count(&TOPIC_FOLLOWS, p); i++) {
            struct fake_record record = fake_record_at(&TOPIC_FOLLOWS, p, i);
            struct relation_half half;
            bool set = record.value;
            assert_true(half_of(&record, &half));
            assert_int_equal(home_of(half.user), p);
            if (half.relation == RELATION_FOLLOWER) seen->follows[half.user][half.other] = set;
            if (half.relation == RELATION_REQUESTED) seen->requested[half.user][half.other] = set;
            if (half.relation == RELATION_FOLLOWING) mirrored->follows[half.other][half.user] = set;
            if (half.relation == RELATION_REQUESTING) mirrored->requested[half.other][half.user] = set;
        }
        for (size_t i = 0; i < fake_count(&TOPIC_VISIBILITY, p); i++) {
            struct fake_record record = fake_record_at(&TOPIC_VISIBILITY, p, i);
            seen->for_followers[bytes_get_be64(record.key)] = record.value;
        }
        for (size_t i = 0; i < fake_count(&TOPIC_NOTICES, p); i++) {
            struct fake_record record = fake_record_at(&TOPIC_NOTICES, p, i);
            struct notice_key key;
            struct notice notice;
            assert_true(notice_key_read(record.key, record.key_size, &key));
            assert_int_equal(event_decode_notice(kit_codec(), record.value, record.value_size, &notice, &failure), 0);
            assert_true(home_of(key.user) == p && notice.user == key.number && notice.time == key.time);
            assert_int_equal(notice.what + 1, key.kind);
            seen->notices[key.user][key.kind]++;
        }
    }
}

static void check_topics(const struct world *w) {
    struct state seen, mirrored;
    read_topics(&seen, &mirrored);
    assert_memory_equal(seen.follows, w->expected.follows, sizeof seen.follows);
    assert_memory_equal(seen.requested, w->expected.requested, sizeof seen.requested);
    assert_memory_equal(mirrored.follows, w->expected.follows, sizeof seen.follows);
    assert_memory_equal(mirrored.requested, w->expected.requested, sizeof seen.requested);
    assert_memory_equal(seen.for_followers, w->expected.for_followers, sizeof seen.for_followers);
    assert_memory_equal(seen.notices, w->expected.notices, sizeof seen.notices);
}

/* ---- reading back ---- */

static void read_back(struct world *w, int32_t p) {
    struct decider *decider = feed_commands_decider(w->commands);
    struct table_store *table = visibility_table(w->visibility);
    for (size_t i = 0; i < fake_count(&TOPIC_FOLLOWS, p); i++) {
        struct fake_record record = fake_record_at(&TOPIC_FOLLOWS, p, i);
        struct relation_half half;
        if (record.offset < w->read[0][p] || !half_of(&record, &half)) continue;
        relation_lists_take(w->relations, p, record.offset, 0, &half, record.value);
    }
    w->read[0][p] = fake_end(&TOPIC_FOLLOWS, p);
    assert_int_equal(relation_lists_apply(w->relations, p, w->read[0][p], 0, false, &failure), 0);
    for (size_t i = 0; i < fake_count(&TOPIC_VISIBILITY, p); i++) {
        struct fake_record read = fake_record_at(&TOPIC_VISIBILITY, p, i);
        const struct kafka_record record = {.partition = p,
                                            .offset = read.offset,
                                            .key = read.key,
                                            .key_size = read.key_size,
                                            .value = read.value,
                                            .value_size = read.value_size};
        const char *reason = NULL;
        if (read.offset < w->read[1][p]) continue;
        assert_int_equal(TABLE_STORE_KIND.take(table, 0, &record, &reason, &failure), 0);
        assert_null(reason);
    }
    w->read[1][p] = fake_end(&TOPIC_VISIBILITY, p);
    assert_int_equal(table_store_write(table, &failure), 0);
    decider_read_back(decider, &TOPIC_FOLLOWS, p, w->read[0][p]);
    decider_read_back(decider, &TOPIC_VISIBILITY, p, w->read[1][p]);
}

/* ---- brute force ---- */

static void make(struct state *state, int64_t author, int64_t reader) {
    state->notices[reader][NOTICE_OF_ACCEPTED] += state->requested[author][reader];
    state->requested[author][reader] = false;
    state->follows[author][reader] = true;
}

/* Why it is refused. */
static int expect_ask(struct world *w, const struct follower_command *command) {
    struct state *state = &w->expected;
    int64_t author = command->author, reader = command->reader;
    bool only = state->for_followers[author];
    if (state->follows[author][reader] || (only && state->requested[author][reader])) return NOT_REFUSED;
    if (w->blocked[author][reader]) return FOLLOW_REFUSAL_BLOCKED;
    if (command->following >= FULL) return FOLLOW_REFUSAL_FULL;
    state->notices[author][only ? NOTICE_OF_REQUEST : NOTICE_OF_FOLLOW]++;
    if (only)
        state->requested[author][reader] = true;
    else
        make(state, author, reader);
    return NOT_REFUSED;
}

static int expect(struct world *w, const struct follower_command *command) {
    struct state *state = &w->expected;
    int64_t author = command->author, reader = command->reader;
    switch (command->kind) {
    case FOLLOWER_COMMAND_ASK: return expect_ask(w, command);
    case FOLLOWER_COMMAND_ACCEPT:
        if (state->requested[author][reader] && !w->blocked[author][reader]) make(state, author, reader);
        break;
    case FOLLOWER_COMMAND_END: state->follows[author][reader] = state->requested[author][reader] = false; break;
    case FOLLOWER_COMMAND_FOLLOWERS: state->for_followers[author] = true; break;
    case FOLLOWER_COMMAND_EVERYBODY:
        for (int64_t other = 0; state->for_followers[author] && other < USERS; other++) {
            if (state->requested[author][other] && !w->blocked[author][other]) make(state, author, other);
            state->requested[author][other] = false;
        }
        state->for_followers[author] = false;
    }
    return NOT_REFUSED;
}

/* ---- commands ---- */

static int64_t tell(struct world *w, const struct follower_command *command) {
    FREED_BUFFER value = {.size = 0};
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)command->author);
    event_encode_follower_command(&value, command);
    return fake_append(&TOPIC_FOLLOWER_COMMANDS, home_of(command->author), key, sizeof key, value.data, value.size);
}

static void until_decided(struct world *w) {
    for (int32_t p = 0; p < PARTITIONS; p++)
        FAKE_UNTIL(&w->loop, decider_handled(feed_commands_decider(w->commands), &TOPIC_FOLLOWER_COMMANDS, p) >=
                                 fake_end(&TOPIC_FOLLOWER_COMMANDS, p));
}

static struct follower_command draw(struct world *w) {
    static const enum follower_command_kind KINDS[] = {
        FOLLOWER_COMMAND_ASK, FOLLOWER_COMMAND_ASK,       FOLLOWER_COMMAND_ASK,       FOLLOWER_COMMAND_ACCEPT,
        FOLLOWER_COMMAND_END, FOLLOWER_COMMAND_FOLLOWERS, FOLLOWER_COMMAND_FOLLOWERS, FOLLOWER_COMMAND_EVERYBODY};
    struct follower_command command = {.kind = KINDS[roll(w, ARRAY_SIZE(KINDS))],
                                       .author = roll(w, USERS),
                                       .time = w->time++,
                                       .following = roll(w, FULL + 1)};
    bool of_all = command.kind == FOLLOWER_COMMAND_FOLLOWERS || command.kind == FOLLOWER_COMMAND_EVERYBODY;
    command.reader = of_all ? -1 : (command.author + 1 + roll(w, USERS - 1)) % USERS;
    return command;
}

static void block(struct world *w) {
    int64_t one = roll(w, USERS), other = (one + 1 + roll(w, USERS - 1)) % USERS;
    bool set = roll(w, 2);
    w->blocked[one][other] = w->blocked[other][one] = set;
    blocks_take(w->blocks, home_of(one), w->block_offset++, one, other, set);
    blocks_take(w->blocks, home_of(other), w->block_offset++, other, one, set);
    assert_int_equal(table_store_write(w->blocks, &failure), 0);
}

static void check_refusal(const struct world *w, const struct follower_command *command, int64_t offset, int expected) {
    enum follow_refusal_reason reason;
    bool refused = feed_commands_refused(w->commands, home_of(command->author), offset, &reason);
    assert_int_equal(refused ? (int)reason : NOT_REFUSED, expected);
}

TEST(what_is_decided_is_what_brute_force_says, struct world *w) {
    for (int i = 0; i < ROUNDS; i++) {
        struct follower_command commands[6];
        int64_t offsets[6];
        int expected[6];
        size_t count = 1 + roll(w, 6);
        if (!roll(w, 3)) block(w);
        for (size_t k = 0; k < count; k++) {
            commands[k] = draw(w);
            // The two partitions are decided in any order: that of the topics' records is that of commands about one author.
            expected[k] = expect(w, &commands[k]);
            offsets[k] = tell(w, &commands[k]);
        }
        until_decided(w);
        check_topics(w);
        for (size_t k = 0; k < count; k++) check_refusal(w, &commands[k], offsets[k], expected[k]);
        if (!roll(w, 4)) read_back(w, roll(w, PARTITIONS));
    }
}

TEST(what_is_read_back_is_told, struct world *w) {
    const struct follower_command asks = {.kind = FOLLOWER_COMMAND_ASK, .author = 1, .reader = 2, .time = 5},
                                  hides = {.kind = FOLLOWER_COMMAND_FOLLOWERS, .author = 1, .reader = -1, .time = 6};
    tell(w, &asks);
    tell(w, &hides);
    until_decided(w);
    assert_false(feed_commands_follower_read(w->commands, 1, 2));
    assert_true(feed_commands_follower_read(w->commands, 1, 3));
    assert_false(feed_commands_visibility_read(w->commands, 1));
    for (int32_t p = 0; p < PARTITIONS; p++) read_back(w, p);
    assert_true(feed_commands_follower_read(w->commands, 1, 2));
    assert_true(feed_commands_visibility_read(w->commands, 1));
}

/* Also of those that are not read back yet. */
TEST(an_author_has_so_many_requests, struct world *w) {
    enum { FIRST = 100 };
    struct follower_command command = {.kind = FOLLOWER_COMMAND_FOLLOWERS, .author = 1, .reader = -1, .time = 5};
    tell(w, &command);
    command.kind = FOLLOWER_COMMAND_ASK;
    for (int64_t i = 0; i < FOLLOWER_REQUESTS_MAX; i++) {
        command.reader = FIRST + i;
        tell(w, &command);
        if (i == FOLLOWER_REQUESTS_MAX / 2) {
            until_decided(w);
            for (int32_t p = 0; p < PARTITIONS; p++) read_back(w, p);
        }
    }
    command.reader = FIRST - 1;
    int64_t crowded = tell(w, &command);
    command.kind = FOLLOWER_COMMAND_END;
    command.reader = FIRST;
    tell(w, &command);
    command.kind = FOLLOWER_COMMAND_ASK;
    command.reader = FIRST - 2;
    int64_t fits = tell(w, &command);
    until_decided(w);
    check_refusal(w, &command, crowded, FOLLOW_REFUSAL_REQUESTS);
    check_refusal(w, &command, fits, NOT_REFUSED);
}

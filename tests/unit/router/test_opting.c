/* Sharing of many users that ends in the same moment: how much is done at a time, and what is written. */
#include "base/bytes.h"
#include "event/codec.h"
#include "event/topics.h"
#include "fakes/kafka.h"
#include "router/opting.h"
#include "unit/kit/kit.h"

enum { USERS = 10000, INACTIVE_MS = 600000, AT_ONCE = 4000 };

struct world {
    uv_loop_t loop;
    struct kafka_settings kafka;
    struct log *log;
    struct metrics *registry;
    struct router_metrics metrics;
    struct presence *presence;
    struct report_clock *clock;
    struct record_collector *collector;
    struct opting *opting;
    struct epochs *epochs;
    int64_t now;
    uint64_t told, lost; /* the last epochs of opt-outs */
    int64_t linked;      /* the user who has links */
    bool unknown;        /* who that is */
};

static void on_leave(void *context, uint64_t ticket, bool stored) {
    struct world *w = context;
    if (!opting_acknowledge(w->opting, ticket, stored)) *(stored ? &w->told : &w->lost) = ticket;
}

static bool owns(void *context, int32_t partition) { return true; }

static enum opting_links links_of(void *context, int32_t partition, int64_t user) {
    const struct world *w = context;
    if (w->unknown) return OPTING_LINKS_UNKNOWN;
    return w->linked == user ? OPTING_LINKS : OPTING_NO_LINKS;
}

static void end(void *it) {
    struct world *w = it;
    record_collector_free(w->collector);
    opting_free(w->opting);
    kit_loop_end(&w->loop);
    report_clock_free(w->clock);
    presence_free(w->presence);
}

static struct world *world_new(void) {
    struct world *w = kit_zero(sizeof *w);
    *w = (struct world){
        .log = kit_log(),
        .registry = kit_metrics(),
        .presence = presence_new(600000),
        .clock = report_clock_new(true, 1, 0, INT64_MAX / 2),
        .epochs = kit_epochs(),
        .now = 1000000,
        .linked = -1,
    };
    w->kafka = (struct kafka_settings){.log = w->log};
    uv_loop_init(&w->loop);
    fake_kafka_start();
    fake_topic(&TOPIC_LOCATIONS, 1);
    fake_topic(&TOPIC_LINK_COMMANDS, 1);
    router_metrics_init(&w->metrics, w->registry);
    const struct record_collector_options collector = {.loop = &w->loop,
                                                       .kafka = &w->kafka,
                                                       .log = w->log,
                                                       .metrics = &w->metrics,
                                                       .queue_bytes = 1 << 24,
                                                       .context = w,
                                                       .on_leave = on_leave};
    assert_int_equal(record_collector_new(&collector, &w->collector, &failure), 0);
    w->opting = opting_new(&(struct opting_options){.partitions = 1,
                                                    .inactive_ms = INACTIVE_MS,
                                                    .presence = w->presence,
                                                    .clock = w->clock,
                                                    .collector = w->collector,
                                                    .epochs = w->epochs,
                                                    .context = w,
                                                    .owns = owns,
                                                    .links = links_of});
    assert_int_equal(SHARING_KIND.open(w->opting, 0, 0, 0, &failure), 0);
    kit_after(end, w);
    return w;
}

/* The stream's time. */
static void advance(struct world *w, int64_t now) {
    struct location report = {.user = USERS, .time = now, .kind = LOCATION_REPORT, .route = -1, .opted = -1};
    w->now = now;
    assert_true(report_clock_accept(w->clock, 0, &report));
}

struct sharing_record {
    struct kafka_record record;
    struct buffer value;
    uint8_t key[8];
};

/* The record of a user has the user's number as its offset. */
static void make_record(struct sharing_record *made, int64_t user, const struct sharing *sharing) {
    *made = (struct sharing_record){.value = {.data = NULL}};
    bytes_put_be64(made->key, (uint64_t)user);
    if (sharing) event_encode_sharing(&made->value, sharing);
    made->record = (struct kafka_record){.topic = &TOPIC_SHARING,
                                         .offset = user,
                                         .key = made->key,
                                         .key_size = sizeof made->key,
                                         .value = made->value.data,
                                         .value_size = made->value.size};
}

static void share_until(struct world *w, int64_t user, int64_t until) {
    struct sharing_record made;
    make_record(&made, user, &(struct sharing){.mode = SHARING_FRIENDS, .until = until});
    const char *reason = NULL;
    assert_int_equal(SHARING_KIND.take(w->opting, 0, &made.record, &reason, &failure), 0);
    assert_null(reason);
    buffer_free(&made.value);
    const struct location report = {.user = user, .time = w->now, .kind = LOCATION_REPORT, .route = -1, .opted = user};
    assert_true(presence_apply(w->presence, &report, report.time, NULL, NULL) != PRESENCE_UNCHANGED);
}

static size_t leaves(struct world *w) {
    for (int i = 0; i < 3; i++) fake_turn(&w->loop);
    return (size_t)w->metrics.leaves->value;
}

/* The router reads its own LEAVEs. */
static void read_leaves(struct world *w) {
    struct codec *codec = kit_codec();
    struct location event;
    for (size_t i = 0; i < fake_count(&TOPIC_LOCATIONS, 0); i++) {
        struct fake_record record = fake_record_at(&TOPIC_LOCATIONS, 0, i);
        assert_int_equal(event_decode_location(codec, record.value, record.value_size, &event, NULL), 0);
        presence_apply(w->presence, &event, event.time, NULL, NULL);
    }
}

SET_UP() { return world_new(); }

TEST(ends_that_fall_together, struct world *w) {
    int64_t offset;
    advance(w, w->now);
    for (int64_t user = 0; user < USERS; user++) share_until(w, user, w->now + 1000);
    opting_tenth(w->opting);
    assert_int_equal(leaves(w), 0);
    advance(w, w->now + 1000);
    // Before each report, too, and that is no way to more of it.
    for (int i = 0; i < USERS; i++) opting_tick(w->opting);
    assert_in_range(leaves(w), 1, AT_ONCE);
    for (int64_t user = 0; user < USERS; user++) assert_true(opting_refuses(w->opting, 0, user, user, &offset));
    for (int tenth = 0; leaves(w) < USERS; tenth++) {
        size_t before = leaves(w);
        assert_true(tenth < 20);
        opting_tenth(w->opting);
        assert_in_range(leaves(w), before + 1, before + AT_ONCE);
    }
    // Presence has read none of them for seconds: each was sent once all the same.
    for (int tenth = 0; tenth < 100; tenth++) opting_tenth(w->opting);
    assert_int_equal(leaves(w), USERS);
    read_leaves(w);
    for (int64_t user = 0; user < USERS; user++) assert_true(presence_find(w->presence, user)->left);
    for (int tenth = 0; tenth < 100; tenth++) opting_tenth(w->opting);
    assert_int_equal(leaves(w), USERS);
}

/* Those that Kafka did not take go out again. */
TEST(lost_leaves_are_sent_again, struct world *w) {
    enum { LOST = 10, FEW = 50 };
    advance(w, w->now);
    for (int64_t user = 0; user < FEW; user++) share_until(w, user, w->now + 1000);
    fake_fail_reports(LOST, -EIO, false);
    advance(w, w->now + 1000);
    for (int tenth = 0; tenth < 30; tenth++) {
        opting_tenth(w->opting);
        leaves(w);
    }
    read_leaves(w);
    for (int64_t user = 0; user < FEW; user++) assert_true(presence_find(w->presence, user)->left);
}

/* Returns what opting_tell does. *reason: NULL or not. */
static int tell(struct world *w, int64_t user, const struct sharing *sharing, size_t key_size, const char **reason) {
    struct sharing_record made;
    *reason = NULL;
    make_record(&made, user, sharing);
    made.record.key_size = key_size;
    int code = opting_tell(w->opting, &made.record, reason, &failure);
    buffer_free(&made.value);
    return code;
}

TEST(opt_outs_are_effects, struct world *w) {
    const char *reason;
    advance(w, w->now);
    assert_true(epochs_close(w->epochs));
    assert_int_equal(tell(w, 5, &(struct sharing){.mode = SHARING_OFF}, 8, &reason), 0);
    assert_int_equal(tell(w, 6, NULL, 8, &reason), 0); // a tombstone
    assert_null(reason);
    assert_true(epochs_close(w->epochs));
    assert_int_equal(epochs_settled(w->epochs), 2); // nothing of it is stored yet
    assert_int_equal(leaves(w), 2);
    FAKE_UNTIL(&w->loop, w->told == 2);
    assert_int_equal(tell(w, 7, &(struct sharing){.mode = SHARING_PUBLIC}, 8, &reason), 0);
    // One that will end is none, and one that cannot be read is for the dead letters.
    assert_int_equal(tell(w, 8, &(struct sharing){.mode = SHARING_FRIENDS, .until = 1}, 8, &reason), 0);
    assert_null(reason);
    assert_int_equal(tell(w, 9, NULL, 7, &reason), 0);
    assert_non_null(reason);
    assert_int_equal(leaves(w), 2);
    fake_fail_reports(1, -EIO, false);
    assert_int_equal(tell(w, 10, NULL, 8, &reason), 0);
    assert_int_equal(leaves(w), 3);
    FAKE_UNTIL(&w->loop, w->lost == 3);
}

/* The offset that the last command names; -2: there is none. */
static int64_t links_end(struct world *w, int64_t user) {
    struct codec *codec = kit_codec();
    struct link_command command;
    for (int i = 0; i < 3; i++) fake_turn(&w->loop);
    size_t count = fake_count(&TOPIC_LINK_COMMANDS, 0);
    if (!count) return -2;
    struct fake_record record = fake_record_at(&TOPIC_LINK_COMMANDS, 0, count - 1);
    assert_int_equal(event_decode_link_command(codec, record.value, record.value_size, &command, NULL), 0);
    assert_int_equal(command.kind, LINK_COMMAND_END_ALL);
    assert_int_equal(command.user, user);
    return command.opted;
}

TEST(an_opt_out_ends_the_links_of_who_has_some, struct world *w) {
    const char *reason;
    advance(w, w->now);
    w->linked = 6;
    assert_int_equal(tell(w, 5, NULL, 8, &reason), 0);
    assert_int_equal(links_end(w, 5), -2);
    assert_int_equal(tell(w, 6, &(struct sharing){.mode = SHARING_PUBLIC}, 8, &reason), 0);
    assert_int_equal(links_end(w, 6), -2);
    assert_int_equal(tell(w, 6, &(struct sharing){.mode = SHARING_OFF}, 8, &reason), 0);
    assert_int_equal(links_end(w, 6), 6);
    w->unknown = true;
    assert_int_equal(tell(w, 5, NULL, 8, &reason), 0);
    assert_int_equal(links_end(w, 5), 5);
}

TEST(so_does_the_end_of_sharing, struct world *w) {
    advance(w, w->now);
    w->linked = 3;
    for (int64_t user = 0; user < 5; user++) share_until(w, user, w->now + 1000);
    opting_tenth(w->opting);
    assert_int_equal(links_end(w, 3), -2);
    advance(w, w->now + 1000);
    opting_tenth(w->opting);
    assert_int_equal(links_end(w, 3), 3);
    w->linked = -1; // it is decided
    w->unknown = true;
    size_t sent = fake_count(&TOPIC_LINK_COMMANDS, 0);
    for (int tenth = 0; tenth < 30; tenth++) opting_tenth(w->opting);
    assert_int_equal(links_end(w, 3), 3);
    assert_int_equal(fake_count(&TOPIC_LINK_COMMANDS, 0), sent);
}

static void take(struct world *w, int64_t user, int64_t offset, enum sharing_mode mode) {
    struct sharing_record made;
    const char *reason = NULL;
    make_record(&made, user, &(struct sharing){.mode = mode});
    made.record.offset = offset;
    assert_int_equal(SHARING_KIND.take(w->opting, 0, &made.record, &reason, &failure), 0);
    buffer_free(&made.value);
}

/* Whatever comes after it, and before the end is decided. */
TEST(a_link_from_before_an_opt_out_is_over, struct world *w) {
    advance(w, w->now);
    w->linked = 7;
    take(w, 7, 10, SHARING_FRIENDS);
    assert_false(opting_ends_link(w->opting, 0, 7, 10));
    take(w, 7, 11, SHARING_PUBLIC);
    assert_false(opting_ends_link(w->opting, 0, 7, 10));
    take(w, 7, 12, SHARING_OFF);
    assert_true(opting_ends_link(w->opting, 0, 7, 10));
    assert_true(opting_ends_link(w->opting, 0, 7, 12));
    assert_false(opting_ends_link(w->opting, 0, 7, 13)); // by a consent that is read later
    take(w, 7, 13, SHARING_FRIENDS);
    assert_true(opting_ends_link(w->opting, 0, 7, 10));
    assert_true(opting_ends_link(w->opting, 0, 7, 11));
    assert_false(opting_ends_link(w->opting, 0, 7, 13));
    w->unknown = true; // while the partition is being restored
    take(w, 9, 20, SHARING_FRIENDS);
    take(w, 9, 21, SHARING_OFF);
    take(w, 9, 22, SHARING_FRIENDS);
    assert_true(opting_ends_link(w->opting, 0, 9, 20));
    assert_false(opting_ends_link(w->opting, 0, 9, 22));
}

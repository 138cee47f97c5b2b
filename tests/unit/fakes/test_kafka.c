/* The Kafka in memory that other tests rely on behaves as Kafka does where they look. */
#include "event/topics.h"
#include "fakes/kafka.h"
#include "unit/kit/kit.h"

struct world {
    uv_loop_t loop;
    struct kafka_settings settings;
    struct kafka_consumer *consumer;
    struct kafka_producer *producer;
    int64_t offsets[100];
    size_t count, drained, reports, failed_reports, lost;
    int revoked, assigned;
    bool was_lost;
};

static void on_records(void *context, const struct kafka_record *records, size_t count) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) w->offsets[w->count++] = records[i].offset;
}

static void on_assigned(void *context, const struct kafka_position *owned, size_t count) {
    ((struct world *)context)->assigned += (int)count;
}

static void on_revoked(void *context, bool lost) {
    struct world *w = context;
    w->revoked++;
    w->was_lost = lost;
}

static void on_drained(void *context) { ((struct world *)context)->drained++; }

static void on_offset_lost(void *context, const struct topic *topic, int32_t partition) {
    ((struct world *)context)->lost++;
}

static void on_delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                         int64_t offset) {
    struct world *w = context;
    w->reports++;
    w->failed_reports += code != 0;
}

static void tear_down(void *it) {
    struct world *w = it;
    kafka_consumer_free(w->consumer);
    kafka_producer_free(w->producer, 0);
    kit_loop_end(&w->loop);
}

static struct world *world_new(const char *transactional_id) {
    struct world *w = kit_zero(sizeof *w);
    uv_loop_init(&w->loop);
    fake_kafka_start();
    fake_topic(&TOPIC_LOCATIONS, 2);
    fake_topic(&TOPIC_FRIENDSHIPS, 2);
    w->settings = (struct kafka_settings){.bootstrap = "memory", .prefix = "", .client_id = "test"};
    struct kafka_consumer_options consumer = {.loop = &w->loop,
                                              .settings = &w->settings,
                                              .group = "group",
                                              .context = w,
                                              .on_records = on_records,
                                              .on_assigned = on_assigned,
                                              .on_revoked = on_revoked,
                                              .on_drained = on_drained,
                                              .on_offset_lost = on_offset_lost};
    struct kafka_producer_options producer = {.loop = &w->loop,
                                              .settings = &w->settings,
                                              .transactional_id = transactional_id,
                                              .context = w,
                                              .on_delivered = on_delivered};
    assert_int_equal(kafka_consumer_new(&consumer, &w->consumer, NULL), 0);
    assert_int_equal(kafka_producer_new(&producer, &w->producer, NULL), 0);
    kit_after(tear_down, w);
    return w;
}

static void read_from(struct world *w, int64_t offset) {
    struct kafka_position position = {.topic = &TOPIC_FRIENDSHIPS, .partition = 1, .offset = offset};
    assert_int_equal(kafka_consumer_read(w->consumer, &position, 1, NULL), 0);
}

TEST(nothing_is_read_without_an_assignment) {
    struct world *w = world_new(NULL);
    struct kafka_position position = {.topic = &TOPIC_FRIENDSHIPS, .partition = 1, .offset = 0};
    assert_int_equal(kafka_consumer_read(w->consumer, &position, 1, NULL), -ESTALE);
    assert_ptr_equal(fake_member(0), w->consumer);
    assert_null(fake_member(1));
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, 1);
    assert_int_equal(w->assigned, 2);
    fake_append(&TOPIC_FRIENDSHIPS, 1, "k", 1, "v", 1);
    read_from(w, KAFKA_OFFSET_BEGINNING);
    FAKE_UNTIL(&w->loop, w->drained == 1);
    assert_int_equal(w->count, 1);
    assert_int_equal(kafka_consumer_position(w->consumer, &TOPIC_FRIENDSHIPS, 1), 1);
    fake_revoke(w->consumer, true);
    assert_true(w->was_lost);
    assert_int_equal(kafka_consumer_read(w->consumer, &position, 1, NULL), -ESTALE);
}

TEST(what_was_deleted_is_a_lost_offset) {
    struct world *w = world_new(NULL);
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, 1);
    for (int i = 0; i < 5; i++) fake_append(&TOPIC_FRIENDSHIPS, 1, NULL, 0, "v", 1);
    fake_delete_before(&TOPIC_FRIENDSHIPS, 1, 3);
    read_from(w, 1);
    FAKE_UNTIL(&w->loop, w->lost == 1);
    read_from(w, KAFKA_OFFSET_BEGINNING);
    FAKE_UNTIL(&w->loop, w->count == 2);
    assert_int_equal(w->offsets[0], 3);
}

TEST(open_transactions_hold_readers_up) {
    struct world *w = world_new("one");
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, 1);
    read_from(w, 0);
    assert_int_equal(kafka_transactions_init(w->producer, 100, NULL), 0);
    struct kafka_position offset = {.topic = &TOPIC_LOCATIONS, .partition = 1, .offset = 7};
    for (int round = 0; round < 2; round++) {
        assert_int_equal(kafka_transaction_begin(w->producer, w->consumer, NULL), 0);
        assert_int_equal(kafka_producer_send(w->producer, &TOPIC_FRIENDSHIPS, 1, "k", 1, "v", 1, NULL), 0);
        fake_append(&TOPIC_FRIENDSHIPS, 1, NULL, 0, "v", 1);
        FAKE_UNTIL(&w->loop, w->reports == (size_t)round + 1);
        assert_int_equal(fake_count(&TOPIC_FRIENDSHIPS, 1), round);
        if (round == 0) assert_int_equal(kafka_transaction_abort(w->producer, 100, NULL), 0);
    }
    assert_int_equal(kafka_transaction_commit(w->producer, &offset, 1, 100, NULL), 0);
    assert_int_equal(fake_committed(&TOPIC_LOCATIONS, 1), 7);
    // aborted, the other's, marker, committed, the other's, marker
    assert_int_equal(fake_end(&TOPIC_FRIENDSHIPS, 1), 6);
    FAKE_UNTIL(&w->loop, kafka_consumer_position(w->consumer, &TOPIC_FRIENDSHIPS, 1) == 6);
    assert_int_equal(w->count, 3);
    assert_int_equal(w->offsets[0], 1);
    assert_int_equal(w->offsets[1], 3);
}

TEST(a_commit_for_an_old_assignment_is_refused) {
    struct world *w = world_new("one");
    struct kafka_position offset = {.topic = &TOPIC_LOCATIONS, .partition = 1, .offset = 7};
    assert_int_equal(kafka_transactions_init(w->producer, 100, NULL), 0);
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, 1);
    assert_int_equal(kafka_transaction_begin(w->producer, w->consumer, NULL), 0);
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, 0);
    assert_int_equal(kafka_transaction_commit(w->producer, &offset, 1, 100, NULL), -ESTALE);
    assert_int_equal(kafka_transaction_abort(w->producer, 100, NULL), 0);
    assert_int_equal(fake_committed(&TOPIC_LOCATIONS, 1), KAFKA_OFFSET_NONE);
}

TEST(a_producer_of_the_same_id_fences_the_older) {
    struct world *w = world_new("one");
    struct kafka_producer *newer;
    struct kafka_producer_options options = {
        .loop = &w->loop, .settings = &w->settings, .transactional_id = "one", .context = w};
    assert_int_equal(kafka_transactions_init(w->producer, 100, NULL), 0);
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 0, 1);
    assert_int_equal(kafka_transaction_begin(w->producer, w->consumer, NULL), 0);
    assert_int_equal(kafka_producer_send(w->producer, &TOPIC_FRIENDSHIPS, 1, "k", 1, "v", 1, NULL), 0);
    FAKE_UNTIL(&w->loop, w->reports == 1);
    assert_int_equal(kafka_producer_new(&options, &newer, NULL), 0);
    assert_int_equal(kafka_transactions_init(newer, 100, NULL), 0);
    assert_int_equal(kafka_transaction_commit(w->producer, NULL, 0, 100, NULL), -EIO);
    assert_int_equal(fake_count(&TOPIC_FRIENDSHIPS, 1), 0);
    kafka_producer_free(newer, 0);
}

TEST(reports_come_late_or_fail) {
    struct world *w = world_new(NULL);
    fake_hold_reports(true);
    fake_fail_reports(1, -ETIMEDOUT, true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(kafka_producer_send(w->producer, &TOPIC_FRIENDSHIPS, 0, "k", 1, "v", 1, NULL), 0);
    fake_turn(&w->loop);
    assert_int_equal(w->reports, 0);
    assert_int_equal(kafka_producer_pending(w->producer), 3);
    assert_int_equal(fake_count(&TOPIC_FRIENDSHIPS, 0), 3);
    fake_hold_reports(false);
    FAKE_UNTIL(&w->loop, w->reports == 3);
    assert_int_equal(w->failed_reports, 1);
}

TEST(members_are_described) {
    struct world *w = world_new(NULL);
    struct kafka_admin *admin;
    struct kafka_group group;
    assert_int_equal(kafka_admin_new(&w->settings, &admin, NULL), 0);
    fake_assign_range(w->consumer, &TOPIC_LOCATIONS, 1, 1);
    struct kafka_position owned = {.topic = &TOPIC_LOCATIONS, .partition = 0};
    fake_other_member("other-1", NULL, "other@host:1", &owned, 1);
    assert_int_equal(kafka_group_describe(admin, "group", &group, 100, NULL), 0);
    assert_int_equal(group.count, 2);
    assert_string_equal(group.state, "Stable");
    assert_string_equal(group.members[0].id, kafka_consumer_member(w->consumer));
    assert_int_equal(group.members[0].owned[0].partition, 1);
    assert_string_equal(group.members[1].client_id, "other@host:1");
    kafka_group_clear(&group);
    fake_other_leaves("other-1");
    fake_fail(FAKE_DESCRIBE, -EHOSTDOWN, 1);
    assert_int_equal(kafka_group_describe(admin, "group", &group, 100, NULL), -EHOSTDOWN);
    assert_int_equal(kafka_group_describe(admin, "group", &group, 100, NULL), 0);
    assert_int_equal(group.count, 1);
    kafka_group_clear(&group);
    kafka_admin_free(admin);
}

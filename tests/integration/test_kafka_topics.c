/* Tests admin.c, inspect.c, placing.c, topics.c and waiting.c. Topics: made once, kept as they should be, and refused when they are not. */
#include <librdkafka/rdkafka.h>

#include "base/bytes.h"
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "world.h"

static const struct topics_plan PLAN = {.topics = &TOPICS_ALL, .partitions = WORLD_PARTITIONS, .replication = -1};

static void create(struct world *world) {
    if (kafka_topics_create(world->admin, &PLAN, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
}

/* librdkafka itself, to look at topics and to make wrong ones. */
static rd_kafka_t *stranger(struct world *world) {
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", world->settings.bootstrap, reason, sizeof reason);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    assert_non_null(client);
    return client;
}

static void make_topic(struct world *world, const struct topic *topic, int partitions) {
    char reason[256];
    rd_kafka_t *client = stranger(world);
    FREED char *name = topic_full_name(&world->settings, topic, false);
    rd_kafka_NewTopic_t *new = rd_kafka_NewTopic_new(name, partitions, 1, reason, sizeof reason);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    rd_kafka_CreateTopics(client, &new, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, PATIENCE_MS);
    assert_non_null(event);
    assert_int_equal(rd_kafka_event_error(event), 0);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(new);
    // Until it shows.
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client, name, NULL);
    for (bool there = false; !there;) {
        assert_int_equal(rd_kafka_metadata(client, 0, handle, &metadata, PATIENCE_MS), 0);
        there = metadata->topics[0].partition_cnt == partitions;
        rd_kafka_metadata_destroy(metadata);
    }
    rd_kafka_topic_destroy(handle);
    rd_kafka_destroy(client);
}

/* A topic's setting; alter: gives it that value first. Caller frees. */
static char *setting(struct world *world, const struct topic *topic, bool dead, const char *name, const char *alter) {
    rd_kafka_t *client = stranger(world);
    FREED char *full = topic_full_name(&world->settings, topic, dead);
    rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, full);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    rd_kafka_event_t *event;
    if (alter) {
        rd_kafka_ConfigResource_set_config(resource, name, alter); // and nothing else: all others are gone
        rd_kafka_AlterConfigs(client, &resource, 1, NULL, queue);
        event = rd_kafka_queue_poll(queue, PATIENCE_MS);
        assert_non_null(event);
        assert_int_equal(rd_kafka_event_error(event), 0);
        rd_kafka_event_destroy(event);
    }
    rd_kafka_DescribeConfigs(client, &resource, 1, NULL, queue);
    event = rd_kafka_queue_poll(queue, PATIENCE_MS);
    assert_non_null(event);
    size_t count = 0;
    const rd_kafka_ConfigResource_t **found =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count);
    assert_int_equal(count, 1);
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(found[0], &count);
    char *value = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(rd_kafka_ConfigEntry_name(entries[i]), name))
            value = mem_string(rd_kafka_ConfigEntry_value(entries[i]));
    }
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_ConfigResource_destroy(resource);
    rd_kafka_destroy(client);
    return value;
}

/* Acknowledged changes reach what a broker answers a moment later. */
static void until_setting(struct world *world, const struct topic *topic, bool dead, const char *name, bool equal,
                          const char *expected) {
    for (int tries = 0; tries < 600; tries++) {
        char *value = setting(world, topic, dead, name, NULL);
        bool settled = value && !strcmp(value, expected) == equal;
        free(value);
        if (settled) return;
        world_run(world, 50);
    }
    fail_msg("%s of %s does not become %s%s", name, topic->name, equal ? "" : "other than ", expected);
}

static void assert_setting(struct world *world, const struct topic *topic, bool dead, const char *name,
                           const char *expected) {
    until_setting(world, topic, dead, name, true, expected);
}

SET_UP() { return world_create(false); }

TEST(test_creates_and_verifies, struct world *world) {
    struct topics_shape shape = {.partitions = {0}};
    struct error error = {.text = ""};
    assert_int_equal(kafka_topics_verify(world->admin, &TOPICS_ALL, &shape, PATIENCE_MS, &error), -ENOENT);
    assert_non_null(strstr(error.text, TOPICS_ALL.items[0]->name));
    assert_non_null(strstr(error.text, "starling topics create")); // however many are missing
    create(world);
    create(world);
    if (kafka_topics_verify(world->admin, &TOPICS_ALL, &shape, PATIENCE_MS, &error)) fail_msg("%s", error.text);
    assert_int_equal(shape.partitions[TOPIC_SPACE_USERS], PARTITIONS);
    assert_int_equal(shape.partitions[TOPIC_SPACE_ROUTES], DELIVERY_PARTITIONS);

    assert_setting(world, &TOPIC_LOCATIONS, false, "retention.ms", "86400000");
    assert_setting(world, &TOPIC_LOCATIONS, false, "message.timestamp.type", "LogAppendTime");
    assert_setting(world, &TOPIC_FRIEND_COMMANDS, false, "retention.ms", "86400000");
    const struct topic *const compacted[] = {&TOPIC_FRIENDSHIPS, &TOPIC_PROFILES, &TOPIC_SHARING};
    for (size_t t = 0; t < ARRAY_SIZE(compacted); t++) {
        assert_setting(world, compacted[t], false, "cleanup.policy", "compact");
        assert_setting(world, compacted[t], false, "delete.retention.ms", "604800000");
    }
    assert_setting(world, &TOPIC_DELIVERIES, false, "retention.ms", "600000");
    assert_setting(world, &TOPIC_DELIVERIES, false, "segment.ms", "60000");
    assert_setting(world, &TOPIC_SHARING, true, "cleanup.policy", "delete");
    assert_setting(world, &TOPIC_SHARING, true, "retention.ms", "604800000");
}

/* Kafka deletes whole segments: records of a quiet topic stay for as long as the segment that they are in is open. */
TEST(test_segments_are_closed_within_the_retention, struct world *world) {
    create(world);
    for (size_t i = 0; i < 2 * TOPICS_ALL.count; i++) {
        const struct topic *topic = TOPICS_ALL.items[i / 2];
        if (topic->cleanup == TOPIC_COMPACTED && i % 2 == 0) continue;
        FREED char *kept = setting(world, topic, i % 2, "retention.ms", NULL);
        FREED char *open = setting(world, topic, i % 2, "segment.ms", NULL);
        FREED char *bytes = setting(world, topic, i % 2, "segment.bytes", NULL);
        assert_true(strtoll(open, NULL, 10) * 10 <= strtoll(kept, NULL, 10));
        assert_true(strtoll(bytes, NULL, 10) <= 256 << 20);
    }
}

/* An upgrade adds topics: processes that do not need them go on. */
TEST(test_looks_only_at_what_is_named, struct world *world) {
    struct error error = {.text = ""};
    struct topics_shape shape;
    const struct topic *const named[] = {&TOPIC_PROFILES, &TOPIC_DELIVERIES};
    const struct topic_list list = {named, ARRAY_SIZE(named)};
    make_topic(world, &TOPIC_PROFILES, 3);
    make_topic(world, &TOPIC_SHARING, 5); // of the same space, and of another count: not ours to judge
    assert_int_equal(kafka_topics_verify(world->admin, &list, &shape, PATIENCE_MS, &error), -ENOENT);
    assert_non_null(strstr(error.text, "deliveries"));
    assert_null(strstr(error.text, "locations"));
    make_topic(world, &TOPIC_DELIVERIES, 2);
    if (kafka_topics_verify(world->admin, &list, &shape, PATIENCE_MS, &error)) fail_msg("%s", error.text);
    assert_int_equal(shape.partitions[TOPIC_SPACE_USERS], 3);
    assert_int_equal(shape.partitions[TOPIC_SPACE_ROUTES], 2);
    assert_int_equal(shape.partitions[TOPIC_SPACE_SUBJECTS], 0);
}

TEST(test_sets_how_many_copies_must_be_written, struct world *world) {
    struct topics_plan plan = PLAN;
    plan.min_insync = 1;
    create(world);
    assert_int_equal(kafka_topics_create(world->admin, &plan, PATIENCE_MS, NULL), 0);
    assert_setting(world, &TOPIC_LOCATIONS, false, "min.insync.replicas", "1");
    assert_setting(world, &TOPIC_LOCATIONS, true, "min.insync.replicas", "1");
}

TEST(test_mends_settings_and_keeps_what_an_operator_set, struct world *world) {
    create(world);
    free(setting(world, &TOPIC_LOCATIONS, false, "max.message.bytes", "2000000"));
    until_setting(world, &TOPIC_LOCATIONS, false, "retention.ms", false, "86400000");
    create(world);
    assert_setting(world, &TOPIC_LOCATIONS, false, "retention.ms", "86400000");
    assert_setting(world, &TOPIC_LOCATIONS, false, "message.timestamp.type", "LogAppendTime");
    assert_setting(world, &TOPIC_LOCATIONS, false, "max.message.bytes", "2000000");
}

TEST(test_completes_what_is_half_there, struct world *world) {
    struct topics_shape shape;
    make_topic(world, &TOPIC_PROFILES, PARTITIONS);
    create(world);
    assert_int_equal(kafka_topics_verify(world->admin, &TOPICS_ALL, &shape, PATIENCE_MS, NULL), 0);
    assert_setting(world, &TOPIC_PROFILES, false, "cleanup.policy", "compact");
}

TEST(test_never_changes_partitions, struct world *world) {
    struct error error = {.text = ""};
    struct topics_shape shape;
    make_topic(world, &TOPIC_FRIENDSHIPS, PARTITIONS + 1);
    assert_int_equal(kafka_topics_create(world->admin, &PLAN, PATIENCE_MS, &error), -EINVAL);
    assert_non_null(strstr(error.text, "friendships has 5 partitions, not 4"));
    assert_int_equal(kafka_topics_verify(world->admin, &TOPICS_ALL, &shape, PATIENCE_MS, &error),
                     -ENOENT); // nothing was made
    assert_non_null(strstr(error.text, "locations"));
}

TEST(test_refuses_counts_that_differ, struct world *world) {
    struct error error = {.text = ""};
    struct topics_shape shape;
    for (size_t t = 0; t < TOPICS_ALL.count; t++) {
        const struct topic *topic = TOPICS_ALL.items[t];
        make_topic(world, topic, topic == &TOPIC_SHARING ? 3 : 4);
    }
    assert_int_equal(kafka_topics_verify(world->admin, &TOPICS_ALL, &shape, PATIENCE_MS, &error), -EINVAL);
    assert_non_null(strstr(error.text, "sharing has 3"));
    assert_non_null(strstr(error.text, "locations has 4"));
}

static void place(rd_kafka_topic_t *handle, int64_t user, int32_t partition) {
    uint8_t key[8];
    char value[] = "x";
    bytes_put_be64(key, (uint64_t)user);
    assert_int_equal(rd_kafka_produce(handle, partition, RD_KAFKA_MSG_F_COPY, value, 1, key, sizeof key, NULL), 0);
}

struct users {
    int64_t first;
    int count;
};

/* One record a user, where partitioning among `partitions` puts it, or so many partitions further. */
static void place_profiles(struct world *world, struct users users, int partitions, int further) {
    rd_kafka_t *client = stranger(world);
    FREED char *name = topic_full_name(&world->settings, &TOPIC_PROFILES, false);
    rd_kafka_topic_t *handle = rd_kafka_topic_new(client, name, NULL);
    for (int64_t user = users.first; user < users.first + users.count; user++)
        place(handle, user, (hash_user_partition(user, partitions) + further) % PARTITIONS);
    assert_int_equal(rd_kafka_flush(client, PATIENCE_MS), 0);
    rd_kafka_topic_destroy(handle);
    rd_kafka_destroy(client);
}

static int placed(struct world *world, struct error *error) {
    const struct topics_shape shape = {.partitions = {PARTITIONS, PARTITIONS, DELIVERY_PARTITIONS}};
    return kafka_topics_placed(world->admin, &TOPICS_ALL, &shape, PATIENCE_MS, error);
}

TEST(test_says_that_records_were_placed_among_fewer_partitions, struct world *world) {
    create(world);
    if (placed(world, &failure)) fail_msg("%s", failure.text); // nothing is there
    place_profiles(world, (struct users){1, 40}, 3, 0);
    assert_fails(placed(world, &failure), -EINVAL, "have 4 partitions, and their records were placed among 3");
}

/* Also when the added partitions have records already, which lie where they belong. */
TEST(test_finds_partitions_that_were_added_before_others_wrote, struct world *world) {
    create(world);
    place_profiles(world, (struct users){1, 40}, 2, 0);
    place_profiles(world, (struct users){1000, 80}, PARTITIONS, 0);
    assert_fails(placed(world, &failure), -EINVAL, "have 4 partitions, and their records were placed among 2");
}

/* What one bad program writes is for the dead letters, also if it puts everything into one partition. */
TEST(test_a_few_misplaced_records_are_no_others_business, struct world *world) {
    create(world);
    place_profiles(world, (struct users){1, 40}, PARTITIONS, 0);
    place_profiles(world, (struct users){1000, 12}, 1, 0);
    if (placed(world, &failure)) fail_msg("%s", failure.text);
}

/* Records that a bad program has written anywhere stop nobody, even where there are hardly any others. */
TEST(test_misplaced_records_that_no_fewer_partitions_explain_are_no_others_business, struct world *world) {
    create(world);
    place_profiles(world, (struct users){1, 2}, PARTITIONS, 0);
    for (int further = 1; further < PARTITIONS; further++)
        place_profiles(world, (struct users){1, 20}, PARTITIONS, further);
    if (placed(world, &failure)) fail_msg("%s", failure.text);
}

TEST(test_inspects_what_is_there, struct world *world) {
    FREED struct kafka_topic_found *found = mem_zero(2 * TOPICS_ALL.count, sizeof *found);
    make_topic(world, &TOPIC_PROFILES, 3);
    if (kafka_topics_inspect(world->admin, &TOPICS_ALL, found, PATIENCE_MS, &failure)) fail_msg("%s", failure.text);
    for (size_t i = 0; i < 2 * TOPICS_ALL.count; i++) {
        bool there = found[i].topic == &TOPIC_PROFILES && !found[i].dead_letters;
        assert_int_equal(found[i].partitions, there ? 3 : 0);
        assert_int_equal(found[i].copies, there);
        assert_int_equal(found[i].min_insync, there);
        if (there) assert_non_null(strstr(buffer_cstring(&found[i].differs), "cleanup.policy is delete, not compact"));
    }
    kafka_topics_found_clear(found, 2 * TOPICS_ALL.count);
}

TEST(test_no_broker_is_said_in_time) {
    struct kafka_settings nowhere = {.topics = &TOPICS_ALL, .bootstrap = "127.0.0.1:1", .prefix = "x."};
    struct kafka_admin *admin = NULL;
    struct topics_shape shape;
    struct kafka_group group;
    int64_t committed, end;
    assert_int_equal(kafka_admin_new(&nowhere, &admin, &failure), 0);
    assert_int_equal(kafka_topics_verify(admin, &TOPICS_ALL, &shape, 500, &failure), -EHOSTDOWN);
    assert_int_equal(kafka_topics_create(admin, &PLAN, 500, &failure), -EHOSTDOWN);
    assert_int_equal(kafka_group_describe(admin, "g", &group, 500, &failure), -EHOSTDOWN);
    assert_int_equal(kafka_group_offsets(admin, "g", &TOPIC_SHARING, 1, &committed, &end, 500, &failure), -EHOSTDOWN);
    kafka_admin_free(admin);
}

/* Tests topic.c. */
#include "topics/topic.h"
#include "unit/kit/kit.h"

static const struct topic WEEKLY = {.name = "weekly", .cleanup = TOPIC_DELETED, .retention_ms = 604800000};
static const struct topic SHORT = {.name = "short", .cleanup = TOPIC_DELETED, .retention_ms = 600000};
static const struct topic KEPT = {.name = "kept", .cleanup = TOPIC_COMPACTED, .retention_ms = 604800000};
static const struct topic STAMPED = {
    .name = "stamped", .cleanup = TOPIC_DELETED, .retention_ms = 86400000, .append_time = true};

static const char *value(const struct topic *topic, bool dead_letters, int min_insync, const char *name) {
    static struct topic_setting settings[TOPIC_SETTINGS_MAX];
    size_t count = topic_settings(topic, dead_letters, min_insync, settings);
    assert_true(count <= TOPIC_SETTINGS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(settings[i].name, name)) return settings[i].value;
    }
    return "";
}

TEST(test_what_is_kept_for_a_time_is_cut_into_segments) {
    assert_string_equal(value(&WEEKLY, false, 0, "cleanup.policy"), "delete");
    assert_string_equal(value(&WEEKLY, false, 0, "retention.ms"), "604800000");
    assert_string_equal(value(&WEEKLY, false, 0, "segment.ms"), "60480000");
    assert_string_equal(value(&WEEKLY, false, 0, "segment.bytes"), "268435456");
    assert_string_equal(value(&SHORT, false, 0, "segment.ms"), "60000");
    assert_string_equal(value(&SHORT, false, 0, "segment.bytes"), "67108864");
}

TEST(test_compacted_topics_keep_tombstones) {
    assert_string_equal(value(&KEPT, false, 0, "cleanup.policy"), "compact");
    assert_string_equal(value(&KEPT, false, 0, "delete.retention.ms"), "604800000");
    assert_string_equal(value(&KEPT, false, 0, "retention.ms"), "");
}

TEST(test_compacted_topics_are_compacted_in_time) {
    assert_string_equal(value(&KEPT, false, 0, "max.compaction.lag.ms"), "604800000");
    assert_string_equal(value(&WEEKLY, false, 0, "max.compaction.lag.ms"), "");
}

TEST(test_dead_letters_are_kept_for_a_week_whatever_the_topic_is) {
    assert_string_equal(value(&KEPT, true, 0, "cleanup.policy"), "delete");
    assert_string_equal(value(&SHORT, true, 0, "retention.ms"), "604800000");
    assert_string_equal(value(&STAMPED, true, 0, "message.timestamp.type"), "");
    assert_string_equal(value(&STAMPED, false, 0, "message.timestamp.type"), "LogAppendTime");
}

TEST(test_copies_are_the_brokers_business_unless_said) {
    assert_string_equal(value(&KEPT, false, 0, "min.insync.replicas"), "");
    assert_string_equal(value(&KEPT, false, 2, "min.insync.replicas"), "2");
}

TEST(test_topics_of_copied_records_keep_times_and_records) {
    struct topic_setting settings[TOPIC_SETTINGS_MAX];
    static const struct topic *const TOPICS[] = {&STAMPED, &WEEKLY, &KEPT};
    for (size_t t = 0; t < ARRAY_SIZE(TOPICS); t++) {
        size_t count = topic_settings(TOPICS[t], false, 2, settings), types = 0;
        topic_settings_of_copy(settings, &count);
        assert_true(count <= TOPIC_SETTINGS_MAX);
        for (size_t i = 0; i < count; i++) {
            if (!strcmp(settings[i].name, "retention.ms")) assert_string_equal(settings[i].value, "-1");
            if (strcmp(settings[i].name, "message.timestamp.type") != 0) continue;
            assert_string_equal(settings[i].value, "CreateTime");
            types++;
        }
        assert_int_equal(types, 1);
    }
}

TEST(test_finds_a_topic_by_its_whole_name) {
    const struct topic *const items[] = {&WEEKLY, &KEPT};
    const struct topic_list list = {items, ARRAY_SIZE(items)};
    assert_ptr_equal(topic_find(&list, "kept", 4), &KEPT);
    assert_ptr_equal(topic_find(&list, "kept.dlq", 4), &KEPT);
    assert_null(topic_find(&list, "kep", 3));
    assert_null(topic_find(&list, "kept.dlq", 8));
    assert_null(topic_find(&list, "short", 5));
}

TEST(test_keys_choose_partitions) {
    static const struct topic BY_USER = {.name = "u", .keyed = TOPIC_KEYED_BY_USER},
                              BY_NAME = {.name = "n", .keyed = TOPIC_KEYED_BY_NAME},
                              BY_SUBJECT = {.name = "s", .keyed = TOPIC_KEYED_BY_SUBJECT};
    static const uint8_t PAIR[16] = {0, 0, 0, 0, 0, 0, 0, 7, 1}, HANDLE[] = {0x80, 'a', 'd', 'a'};
    int32_t of_user = hash_partition(PAIR, 8, 97);
    assert_int_equal(topic_partition(&BY_USER, PAIR, sizeof PAIR, 97), of_user);
    assert_int_equal(topic_partition(&BY_USER, PAIR, 7, 97), -1);
    assert_int_equal(topic_partition(&BY_NAME, PAIR, 8, 97), of_user);
    assert_int_equal(topic_partition(&BY_NAME, PAIR, 9, 97), -1);
    assert_int_equal(topic_partition(&BY_NAME, HANDLE, sizeof HANDLE, 97), hash_partition("ada", 3, 97));
    assert_int_equal(topic_partition(&BY_SUBJECT, "post:1", 6, 97), hash_partition("post:1", 6, 97));
    assert_int_equal(topic_partition(&BY_SUBJECT, "post:1\0abcdefgh", 15, 97), hash_partition("post:1", 6, 97));
    assert_int_equal(topic_partition(&BY_SUBJECT, NULL, 0, 97), -1);
    assert_int_equal(topic_partition(&KEPT, PAIR, 8, 97), -1);
}

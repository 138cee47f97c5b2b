/* Tests topics.c. Which records each topic holds: all topics and all schemas have their place. */
#include "event/codec.h"
#include "event/topics.h"
#include "unit/kit/kit.h"

static bool has_schema(const char *record) {
    for (size_t i = 0; event_schema_at(i); i++)
        if (!strcmp(event_schema_at(i)->record, record)) return true;
    return false;
}

TEST(each_topic_is_there_once) {
    for (size_t i = 0; i < TOPICS_ALL.count; i++)
        for (size_t j = 0; j < i; j++) {
            assert_ptr_not_equal(TOPICS_ALL.items[i], TOPICS_ALL.items[j]);
            assert_string_not_equal(TOPICS_ALL.items[i]->name, TOPICS_ALL.items[j]->name);
        }
}

TEST(each_record_has_a_schema) {
    for (size_t t = 0; t < TOPICS_ALL.count; t++) {
        const struct topic *topic = TOPICS_ALL.items[t];
        assert_true(topic->values[0] || topic == &TOPIC_ERASURES); // of keys alone
        for (size_t i = 0; i < TOPIC_VALUES_MAX && topic->values[i]; i++)
            if (!has_schema(topic->values[i])) fail_msg("%s", topic->values[i]);
    }
}

TEST(schemas_come_by_rising_id) {
    for (size_t i = 0; event_schema_at(i); i++) {
        assert_ptr_equal(event_schema_find(event_schema_at(i)->id), event_schema_at(i));
        if (i) assert_true(event_schema_at(i - 1)->id < event_schema_at(i)->id);
    }
}

/* Which records each topic holds: all topics and all schemas have their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "event/codec.h"
#include "event/kinds.h"
#include "event/topics.h"

static bool has_schema(const char *record) {
    for (size_t i = 0; event_schema_at(i); i++)
        if (!strcmp(event_schema_at(i)->record, record)) return true;
    return false;
}

static void each_topic_is_there_once(void **state) {
    (void)state;
    for (size_t i = 0; i < TOPICS_ALL.count; i++) {
        size_t found = 0;
        for (const struct event_kinds *kinds = EVENT_KINDS; kinds->topic; kinds++)
            found += kinds->topic == TOPICS_ALL.items[i];
        if (found != 1) fail_msg("%s is there %zu times", TOPICS_ALL.items[i]->name, found);
    }
}

static void each_record_has_a_schema(void **state) {
    (void)state;
    for (const struct event_kinds *kinds = EVENT_KINDS; kinds->topic; kinds++) {
        assert_true(kinds->records[0] || kinds->topic == &TOPIC_ERASURES); // of keys alone
        for (size_t i = 0; i < EVENT_KINDS_MAX && kinds->records[i]; i++)
            if (!has_schema(kinds->records[i])) fail_msg("%s", kinds->records[i]);
    }
}

static void schemas_come_by_rising_id(void **state) {
    (void)state;
    for (size_t i = 0; event_schema_at(i); i++) {
        assert_ptr_equal(event_schema_find(event_schema_at(i)->id), event_schema_at(i));
        if (i) assert_true(event_schema_at(i - 1)->id < event_schema_at(i)->id);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_topic_is_there_once),
        cmocka_unit_test(each_record_has_a_schema),
        cmocka_unit_test(schemas_come_by_rising_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* `starling status` prints a group for people and for programs. */
#include "cli/status_verdict.h"
#include "event/topics.h"
#include "json/json.h"
#include "kafka/consumer.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 4 };

/* Two routers, nobody else; friend-commands of one partition were never handled. */
struct fixture {
    struct status status;
    int64_t zeros[PARTITIONS], ends[2][PARTITIONS], done[2][PARTITIONS], commands[PARTITIONS], command_ends[PARTITIONS];
    int64_t nothing[PARTITIONS];
    struct kafka_position owned[2][4];
    struct kafka_member members[2];
    struct status_topic topics[64]; /* TOPICS_ALL.count of them */
};

static const struct kafka_settings SETTINGS = {.topics = &TOPICS_ALL, .prefix = "s."};

static char MEMBER_A[] = "starling-router@a:1", MEMBER_B[] = "starling-router@b:2", HOST[] = "/127.0.0.1";
static char STABLE[] = "Stable", EMPTY[] = "Empty", DEAD[] = "Dead";

static void fill(struct fixture *f) {
    *f = (struct fixture){
        .ends = {{100, 100, 0, 100}, {150, 100, 0, 100}},
        .done = {{80, 100, KAFKA_OFFSET_NONE, 100}, {120, 100, KAFKA_OFFSET_NONE, 97}},
        .commands = {KAFKA_OFFSET_NONE, 5, 5, 5},
        .command_ends = {5, 5, 5, 5},
        .nothing = {KAFKA_OFFSET_NONE, KAFKA_OFFSET_NONE, KAFKA_OFFSET_NONE, KAFKA_OFFSET_NONE},
        .owned = {{{&TOPIC_LOCATIONS, 1, 0},
                   {&TOPIC_LOCATIONS, 0, 0},
                   {&TOPIC_FRIEND_COMMANDS, 0, 0},
                   {&TOPIC_FRIEND_COMMANDS, 1, 0}},
                  {{&TOPIC_LOCATIONS, 3, 0}, {&TOPIC_FRIEND_COMMANDS, 3, 0}}},
    };
    f->members[0] = (struct kafka_member){.client_id = MEMBER_A, .host = HOST, .owned = f->owned[0], .owned_count = 4};
    f->members[1] = (struct kafka_member){.client_id = MEMBER_B, .host = HOST, .owned = f->owned[1], .owned_count = 2};
    const struct status_topic locations = {
        &TOPIC_LOCATIONS, PARTITIONS, {f->done[0], f->ends[0]}, {f->done[1], f->ends[1]}};
    const struct status_topic commands = {
        &TOPIC_FRIEND_COMMANDS, PARTITIONS, {f->commands, f->command_ends}, {f->commands, f->command_ends}};
    const struct status_topic deliveries = {
        &TOPIC_DELIVERIES, PARTITIONS, {f->nothing, f->zeros}, {f->nothing, f->zeros}};
    assert_true(TOPICS_ALL.count <= ARRAY_SIZE(f->topics));
    f->status = (struct status){
        .settings = &SETTINGS, .time_ms = 12345, .seconds = 2, .topics = f->topics, .topic_count = TOPICS_ALL.count};
    for (size_t i = 0; i < TOPICS_ALL.count; i++) {
        f->topics[i] = TOPICS_ALL.items[i] == &TOPIC_LOCATIONS ? locations : deliveries;
        f->topics[i].topic = TOPICS_ALL.items[i];
    }
    f->status.groups[0] =
        (struct status_group){"r", "routers", {STABLE, f->members, 2}, {locations, commands}, 2, true};
    f->status.groups[1] = (struct status_group){"f", "edges", {EMPTY, NULL, 0}, {deliveries}, 1, false};
    f->status.groups[2] = (struct status_group){"h", "history sinks", {DEAD, NULL, 0}, {locations}, 1, true};
    f->status.groups[3] = (struct status_group){"p", "feed processes", {EMPTY, NULL, 0}, {commands}, 1, true};
    f->status.groups[4] = (struct status_group){"c", "comments processes", {EMPTY, NULL, 0}, {commands}, 1, true};
    f->status.groups[5] = (struct status_group){"m", "moderation processes", {EMPTY, NULL, 0}, {commands}, 1, true};
}

TEST(ranges_are_short) {
    static const struct {
        int numbers[6];
        size_t count;
        const char *text;
    } CASES[] = {
        {{0}, 0, ""},
        {{7}, 1, "7"},
        {{3, 1, 2}, 3, "1-3"},
        {{9, 0, 1, 5, 6, 3}, 6, "0-1,3,5-6,9"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED_BUFFER out = {.size = 0};
        status_ranges(&out, CASES[i].numbers, CASES[i].count);
        assert_string_equal(buffer_cstring(&out), CASES[i].text);
    }
}

TEST(lag_is_what_waits) {
    struct fixture f;
    fill(&f);
    const struct status_topic *locations = &f.status.groups[0].topics[0], *commands = &f.status.groups[0].topics[1];
    assert_int_equal(status_lag(locations, 0), 30);
    assert_int_equal(status_lag(locations, 1), 0);
    assert_int_equal(status_lag(locations, 2), 0); // nothing was ever there
    assert_int_equal(status_lag(locations, 3), 3);
    assert_int_equal(status_lag_total(locations), 33);
    assert_int_equal(status_lag(commands, 0), STATUS_UNKNOWN);
    assert_int_equal(status_lag_total(commands), STATUS_UNKNOWN);
}

TEST(people_see_members_lag_and_rates) {
    struct fixture f;
    FREED_BUFFER out = {.size = 0};
    fill(&f);
    struct status_verdict verdict;
    status_judge(&f.status, &verdict);
    status_text(&out, &f.status, &verdict, false);
    const char *text = buffer_cstring(&out);
    assert_ptr_equal(strstr(text, "down\n  no history sinks run (group h)\n"), text);
    assert_non_null(strstr(text, "s.locations"));
    assert_non_null(strstr(text, " 25.0\n")); // 50 in 2 s
    assert_non_null(strstr(text, "routers: group r, Stable, 2 members\n"));
    assert_non_null(strstr(text, "locations 0-1; friend-commands 0-1\n"));
    assert_non_null(strstr(text, "lag 33, 18.5/s handled\n"));
    assert_non_null(strstr(text, "lag unknown"));
    assert_null(strstr(text, "partition 1 "));
    assert_null(strstr(text, "end 100          starling-router@b:2")); // few wait, and somebody owns them
    assert_non_null(strstr(text, "edges: group f, Empty, 0 members\n"));
    assert_non_null(strstr(text, "(nobody's)"));
    buffer_clear(&out);
    status_text(&out, &f.status, &verdict, true);
    assert_non_null(strstr(buffer_cstring(&out), "partition 1    lag 0 "));
    assert_non_null(strstr(buffer_cstring(&out), "end 100          starling-router@b:2"));
    status_verdict_clear(&verdict);
}

static const json_t *at(const json_t *value, const char *key, size_t index) {
    return json_array_get(json_object_get(value, key), index);
}

TEST(programs_get_everything) {
    struct fixture f;
    FREED_BUFFER out = {.size = 0};
    fill(&f);
    struct status_verdict verdict;
    status_judge(&f.status, &verdict);
    status_json(&out, &f.status, &verdict);
    FREED_JSON *all = json_parse(out.data, out.size, &failure);
    assert_non_null(all);
    assert_int_equal(json_integer_value(json_object_get(all, "time")), 12345);
    assert_string_equal(json_string_value(json_object_get(all, "verdict")), "down");
    assert_int_equal(json_array_size(json_object_get(all, "reasons")), verdict.reason_count);
    status_verdict_clear(&verdict);
    assert_int_equal(json_array_size(json_object_get(all, "topics")), TOPICS_ALL.count);
    const json_t *routers = at(all, "groups", 0), *edges = at(all, "groups", 1);
    const json_t *locations = at(routers, "topics", 0), *commands = at(routers, "topics", 1);
    assert_int_equal(json_integer_value(json_object_get(locations, "lag")), 33);
    assert_true(json_real_value(json_object_get(locations, "handled_per_s")) == 18.5);
    assert_true(json_is_null(json_object_get(commands, "lag")));
    assert_true(json_is_null(json_object_get(at(commands, "partitions", 0), "committed")));
    assert_string_equal(json_string_value(json_object_get(at(locations, "partitions", 3), "owner")),
                        "starling-router@b:2");
    assert_true(json_is_null(json_object_get(at(locations, "partitions", 2), "owner")));
    const json_t *owned = json_object_get(json_object_get(at(routers, "members", 0), "partitions"), "s.locations");
    assert_int_equal(json_array_size(owned), 2);
    assert_int_equal(json_integer_value(json_array_get(owned, 0)), 0);
    assert_true(json_is_null(json_object_get(at(edges, "topics", 0), "lag")));
}

/* Tests acls.c and lib/event/programs.c: what `starling topics acls` prints. */
#include "cli/acls.h"
#include "event/topics.h"
#include "json/json.h"
#include "unit/kit/kit.h"

static const struct cli_settings SETTINGS = {
    .prefix = "p.",
    .router_group = "routers",
    .fanout_group = "edges",
    .history_group = "sinks",
    .feed_group = "feeds",
    .comments_group = "threads",
    .places_group = "placers",
    .moderation_group = "moderators",
};
static const struct acls_form PLAIN = {.principal = "User:%", .bootstrap = "b:1", .command_config = ""};

static char *commands(const struct cli_settings *settings, const struct program *program,
                      const struct acls_form *form) {
    struct acls acls;
    struct buffer text = {.data = NULL};
    acls_make(&acls, settings, program);
    acls_put_commands(&text, &acls, program ? program->name : "starling", form);
    acls_clear(&acls);
    char *copy = strdup(buffer_cstring(&text));
    buffer_free(&text);
    return copy;
}

TEST(each_operation_is_one_command) {
    FREED char *text = commands(&SETTINGS, &PROGRAM_HISTORY_SINK, &PLAIN);
    assert_string_equal(
        text, "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal User:starling-history-sink "
              "--operation Read --resource-pattern-type literal --topic p.locations --topic p.erasures "
              "--group sinks\n"
              "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal User:starling-history-sink "
              "--operation Write --resource-pattern-type literal --topic p.locations.dlq --topic p.erasures.dlq\n"
              "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal User:starling-history-sink "
              "--operation Describe --resource-pattern-type literal --group starling-reader\n"
              "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal User:starling-history-sink "
              "--operation DescribeConfigs --resource-pattern-type literal --topic p.locations\n");
}

TEST(operations_on_the_same_resources_share_a_command) {
    FREED char *text = commands(&SETTINGS, NULL, &PLAIN);
    assert_string_equal(text,
                        "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal User:starling "
                        "--operation Create --operation AlterConfigs --operation DescribeConfigs --operation Read "
                        "--operation Write --operation Delete --resource-pattern-type prefixed --topic p.\n"
                        "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal User:starling "
                        "--operation Describe --resource-pattern-type literal --group routers --group edges "
                        "--group feeds --group threads --group placers --group sinks "
                        "--group moderators --group starling-reader\n");
}

TEST(transactional_ids_begin_with_prefix_and_group) {
    FREED char *text = commands(&SETTINGS, &PROGRAM_ROUTER, &PLAIN);
    assert_non_null(strstr(text, "--operation Write --resource-pattern-type prefixed --transactional-id p.routers-\n"));
}

TEST(without_a_prefix_the_command_may_do_so_with_all_topics) {
    struct cli_settings settings = SETTINGS;
    settings.prefix = "";
    FREED char *text = commands(&settings, NULL, &PLAIN);
    assert_non_null(strstr(text, "--resource-pattern-type literal --topic '*'\n"));
}

TEST(what_a_shell_would_take_apart_is_quoted) {
    const struct acls_form form = {
        .principal = "User:CN=%,O=Friend's & Co", .bootstrap = "b:1,b:2", .command_config = "/etc/my kafka"};
    FREED char *text = commands(&SETTINGS, &PROGRAM_MODERATION, &form);
    static const char FIRST[] =
        "kafka-acls.sh --bootstrap-server b:1,b:2 --command-config '/etc/my kafka' --add --allow-principal "
        "'User:CN=starling-moderation,O=Friend'\\''s & Co' --operation Read ";
    assert_memory_equal(text, FIRST, sizeof FIRST - 1);
}

TEST(json_has_one_object_an_acl) {
    FREED_BUFFER text = {.size = 0};
    struct acls acls;
    size_t count = 0;
    buffer_byte(&text, '[');
    for (size_t i = 0; PROGRAMS[i]; i++) {
        acls_make(&acls, &SETTINGS, PROGRAMS[i]);
        acls_put_json(&text, &acls, PROGRAMS[i]->name, &PLAIN, i > 0);
        count += acls.count;
        acls_clear(&acls);
    }
    buffer_byte(&text, ']');
    FREED_JSON *list = json_parse(text.data, text.size, &failure);
    assert_non_null(list);
    assert_int_equal(json_array_size(list), count);
    const char *value;
    assert_int_equal(json_want_text(json_array_get(list, 0), "name", &value, &failure), 0);
    assert_string_equal(value, "p.profiles");
}

/* A topic that nobody writes, or nobody reads, has been forgotten in the tables. */
TEST(each_topic_has_somebody_who_writes_it) {
    for (size_t i = 0; i < TOPICS_ALL.count; i++) {
        bool written = false, twice = false;
        for (size_t p = 0; PROGRAMS[p]; p++) {
            size_t rows = 0;
            written |= topic_used(&PROGRAMS[p]->uses, TOPICS_ALL.items[i], TOPIC_WRITES);
            for (size_t u = 0; u < PROGRAMS[p]->uses.count; u++)
                rows += PROGRAMS[p]->uses.items[u].topic == TOPICS_ALL.items[i];
            twice |= rows > 1;
        }
        assert_true(written);
        assert_false(twice);
    }
}

/* Tests config.c, config_document.c and config_value.c. Configuration from every source, and its page. */
#include <fcntl.h>

#include "unit/kit/kit.h"

struct settings {
    bool on;
    int64_t window_ms, any;
    double radius;
    const char *dir, *servers, *token;
    int clock;
};

static const char *const CLOCKS[] = {"wall", "stream", NULL};

static const struct config_property COMMON[] = {
    {"kafka.bootstrap.servers", CONFIG_STRING, offsetof(struct settings, servers), "localhost:9092",
     .doc = "Where Kafka is."},
    {"clock", CONFIG_CHOICE, offsetof(struct settings, clock), "wall", .choices = CLOCKS, .doc = "Whose time."},
};
static const struct config_property SECRETS[] = {
    {"peer.token", CONFIG_STRING, offsetof(struct settings, token), "", .doc = "A secret.", .secret = true},
};
static const struct config_property EDGE[] = {
    {"flush.window.ms", CONFIG_INT, offsetof(struct settings, window_ms), "1000", .min = 0, .max = 60000,
     .doc = "How long updates are gathered, in ms."},
    {"any.number", CONFIG_INT, offsetof(struct settings, any), "-1", .doc = "Any | at all."},
    {"radius.m", CONFIG_DOUBLE, offsetof(struct settings, radius), "8046.72", .min = 1, .max = 1e6,
     .doc = "Radius in metres."},
    {"enabled", CONFIG_BOOL, offsetof(struct settings, on), "true", .doc = "Whether."},
    {"data.dir", CONFIG_STRING, offsetof(struct settings, dir), NULL, .doc = "Where data is."},
};

struct fixture {
    struct settings settings;
    struct config *config;
    char path[64];
};

SET_UP() {
    static const struct settings NOTHING = {.window_ms = -77};
    struct fixture *fixture = kit_zero(sizeof *fixture);
    fixture->settings = NOTHING;
    struct config_section sections[] = {{"Common", COMMON, ARRAY_SIZE(COMMON), &fixture->settings},
                                        {"Edge", EDGE, ARRAY_SIZE(EDGE), &fixture->settings},
                                        {"Secrets", SECRETS, ARRAY_SIZE(SECRETS), &fixture->settings}};
    fixture->config = config_new(sections, 3);
    snprintf(fixture->path, sizeof fixture->path, "%s/file", kit_folder());
    return fixture;
}

TEAR_DOWN(struct fixture *fixture) { config_free(fixture->config); }

static int load(struct fixture *fixture, const char *text) {
    kit_write(fixture->path, text);
    return config_load_file(fixture->config, fixture->path, &failure);
}

static int load_variable(struct fixture *fixture, const char *variable) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", variable);
    char path[] = "PATH=/bin", *environment[] = {path, copy, NULL};
    return config_load_environment(fixture->config, environment, &failure);
}

static int set(struct fixture *fixture, const char *assignment) {
    return config_set(fixture->config, assignment, &failure);
}

static int finish(struct fixture *fixture) { return config_finish(fixture->config, &failure); }

TEST(defaults, struct fixture *fixture) {
    const struct settings *settings = &fixture->settings;
    assert_int_equal(set(fixture, "data.dir="), 0);
    assert_int_equal(finish(fixture), 0);
    assert_true(settings->on);
    assert_int_equal(settings->window_ms, 1000);
    assert_int_equal(settings->any, -1);
    assert_true(settings->radius == 8046.72);
    assert_string_equal(settings->dir, "");
    assert_string_equal(settings->servers, "localhost:9092");
    assert_int_equal(settings->clock, 0);
    size_t count = 5;
    config_kafka(fixture->config, &count);
    assert_int_equal(count, 0);
}

TEST(all_types_from_a_file, struct fixture *fixture) {
    const struct settings *settings = &fixture->settings;
    assert_int_equal(load(fixture, "enabled = FALSE\nflush.window.ms: 60000 \nradius.m 1.5e3\nclock=stream\n"
                                   "any.number=-9223372036854775808\ndata.dir=/var/lib/star ling \n"),
                     0);
    assert_int_equal(finish(fixture), 0);
    assert_false(settings->on);
    assert_int_equal(settings->window_ms, 60000);
    assert_true(settings->any == INT64_MIN);
    assert_true(settings->radius == 1500);
    assert_int_equal(settings->clock, 1);
    assert_string_equal(settings->dir, "/var/lib/star ling ");
}

TEST(later_sources_win_in_any_order, struct fixture *fixture) {
    assert_int_equal(set(fixture, "data.dir=set"), 0);
    assert_int_equal(load_variable(fixture, "STARLING_DATA_DIR=environment"), 0);
    assert_int_equal(load_variable(fixture, "STARLING_FLUSH_WINDOW_MS=2"), 0);
    assert_int_equal(load(fixture, "data.dir=file\nflush.window.ms=1\nany.number=1\nany.number=2\n"), 0);
    assert_int_equal(load(fixture, "any.number=3\n"), 0);
    assert_int_equal(finish(fixture), 0);
    assert_string_equal(fixture->settings.dir, "set");
    assert_int_equal(fixture->settings.window_ms, 2);
    assert_int_equal(fixture->settings.any, 3);
}

TEST(kafka_keys_pass_through, struct fixture *fixture) {
    assert_int_equal(load(fixture, "kafka.fetch.min.bytes=1\nkafka.client.rack=a\n"
                                   "kafka.bootstrap.servers=broker:1\ndata.dir=x"),
                     0);
    assert_int_equal(load_variable(fixture, "STARLING_KAFKA_FETCH_MIN_BYTES=2"), 0);
    assert_int_equal(load_variable(fixture, "STARLING_KAFKA_SSL_KEY_LOCATION=/key"), 0);
    assert_int_equal(set(fixture, "kafka.client.rack=b=c"), 0);
    assert_int_equal(finish(fixture), 0);
    assert_string_equal(fixture->settings.servers, "broker:1");
    size_t count;
    const struct config_pair *pairs = config_kafka(fixture->config, &count);
    assert_int_equal(count, 3);
    static const struct config_pair EXPECTED[] = {
        {"fetch.min.bytes", "2"}, {"client.rack", "b=c"}, {"ssl.key.location", "/key"}};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(pairs[i].key, EXPECTED[i].key);
        assert_string_equal(pairs[i].value, EXPECTED[i].value);
    }
}

TEST(environment_of_a_kafka_property, struct fixture *fixture) {
    assert_int_equal(load_variable(fixture, "STARLING_KAFKA_BOOTSTRAP_SERVERS=e:1"), 0);
    assert_int_equal(set(fixture, "data.dir=x"), 0);
    assert_int_equal(finish(fixture), 0);
    assert_string_equal(fixture->settings.servers, "e:1");
}

TEST(unknown_keys_are_refused_with_the_nearest, struct fixture *fixture) {
    char expected[256];
    assert_int_equal(load(fixture, "# first\n\nflush.windows.ms=5\n"), -EINVAL);
    snprintf(expected, sizeof expected,
             "%s:3: unknown key \"flush.windows.ms\"; the nearest valid one is \"flush.window.ms\"", fixture->path);
    assert_string_equal(failure.text, expected);

    assert_fails_saying(load_variable(fixture, "STARLING_RADIUS=5"), -EINVAL,
                        "environment variable STARLING_RADIUS: unknown key \"radius\"; "
                        "the nearest valid one is \"radius.m\"");
    assert_fails_saying(set(fixture, "dat.dir=5"), -EINVAL,
                        "--set dat.dir: unknown key \"dat.dir\"; the nearest valid one is \"data.dir\"");
    assert_int_equal(set(fixture, "kafka.=5"), -EINVAL);
    assert_int_equal(load_variable(fixture, "STARLING_=5"), -EINVAL);
    assert_int_equal(load_variable(fixture, "STARLINGS=5"), 0);
    assert_int_equal(load_variable(fixture, "STARLING_WITHOUT_EQUALS"), 0);
}

TEST(a_name_that_is_not_near_is_not_suggested, struct fixture *fixture) {
    static const struct {
        const char *assignment, *reason;
    } CASES[] = {
        {"frobnicate=1", "unknown key \"frobnicate\"; --help lists the valid ones"},
        {"d=1", "unknown key \"d\"; --help lists the valid ones"},
        {"security.protocol=ssl", "unknown key \"security.protocol\"; librdkafka's keys have \"kafka.\" in front: "
                                  "\"kafka.security.protocol\""},
        {"ssl.ca.location=x", "unknown key \"ssl.ca.location\"; librdkafka's keys have \"kafka.\" in front: "
                              "\"kafka.ssl.ca.location\""},
        {"radius.mm=1", "unknown key \"radius.mm\"; the nearest valid one is \"radius.m\""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        assert_fails(set(fixture, CASES[i].assignment), -EINVAL, CASES[i].reason);
    }
}

TEST(malformed_values_are_refused_where_they_stand, struct fixture *fixture) {
    static const struct {
        const char *assignment, *reason;
    } CASES[] = {
        {"flush.window.ms=1s", "\"flush.window.ms\" is \"1s\", but must be a whole number from 0 to 60000"},
        {"flush.window.ms=", "\"flush.window.ms\" is \"\", but must be a whole number from 0 to 60000"},
        {"flush.window.ms=-1", "\"flush.window.ms\" is \"-1\", but must be a whole number from 0 to 60000"},
        {"flush.window.ms=60001", "\"flush.window.ms\" is \"60001\", but must be a whole number from 0 to 60000"},
        {"flush.window.ms=1.0", "\"flush.window.ms\" is \"1.0\", but must be a whole number from 0 to 60000"},
        {"any.number=9223372036854775808", "\"any.number\" is \"9223372036854775808\", but must be a whole number"},
        {"radius.m=0.5", "\"radius.m\" is \"0.5\", but must be a number from 1 to 1000000"},
        {"radius.m=nan", "\"radius.m\" is \"nan\", but must be a number from 1 to 1000000"},
        {"radius.m=0x10", "\"radius.m\" is \"0x10\", but must be a number from 1 to 1000000"},
        {"radius.m=5e", "\"radius.m\" is \"5e\", but must be a number from 1 to 1000000"},
        {"radius.m=1e999", "\"radius.m\" is \"1e999\", but must be a number from 1 to 1000000"},
        {"enabled=yes", "\"enabled\" is \"yes\", but must be true or false"},
        {"clock=Wall", "\"clock\" is \"Wall\", but must be one of wall, stream"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        char expected[512];
        assert_int_equal(set(fixture, CASES[i].assignment), -EINVAL);
        snprintf(expected, sizeof expected, "--set %.*s: %s", (int)strcspn(CASES[i].assignment, "="),
                 CASES[i].assignment, CASES[i].reason);
        assert_string_equal(failure.text, expected);

        char text[256];
        snprintf(text, sizeof text, "\n%s\n", CASES[i].assignment);
        assert_int_equal(load(fixture, text), -EINVAL);
        snprintf(expected, sizeof expected, "%s:2: %s", fixture->path, CASES[i].reason);
        assert_string_equal(failure.text, expected);
    }
    assert_int_equal(set(fixture, "data.dir=x"), 0);
    assert_int_equal(finish(fixture), 0); // none of the refused values has stayed
    assert_int_equal(fixture->settings.window_ms, 1000);
}

TEST(a_property_without_default_must_be_given, struct fixture *fixture) {
    assert_fails_saying(finish(fixture), -EINVAL,
                        "\"data.dir\" must be given: in a --config file, as STARLING_DATA_DIR, or by "
                        "--set data.dir=...");
    assert_int_equal(fixture->settings.window_ms, -77); // nothing was written
}

TEST(assignments_need_a_key, struct fixture *fixture) {
    assert_fails_saying(set(fixture, "enabled"), -EINVAL, "--set enabled: must be key=value");
    assert_int_equal(set(fixture, "=true"), -EINVAL);
}

/* A file with this content, whose name the caller frees. */
static char *secret_file(const char *content, size_t size) {
    char *path = mem_format("%s/secret", kit_folder());
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, content, size), size);
    close(fd);
    return path;
}

TEST(secrets_may_stand_in_files) {
    static const struct {
        const char *content, *secret;
    } CASES[] = {{"s3cret", "s3cret"}, {"s3cret\n", "s3cret"}, {"s3cret\r\n", "s3cret"}, {" a b \n\n", " a b \n"}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct fixture *fixture = set_up();
        FREED char *path = secret_file(CASES[i].content, strlen(CASES[i].content));
        char line[256];
        snprintf(line, sizeof line, "data.dir=x\npeer.token.file=%s\nkafka.sasl.password.file=%s\n", path, path);
        assert_int_equal(load(fixture, line), 0);
        assert_int_equal(finish(fixture), 0);
        assert_string_equal(fixture->settings.token, CASES[i].secret);
        size_t count;
        const struct config_pair *pairs = config_kafka(fixture->config, &count);
        assert_int_equal(count, 1);
        assert_string_equal(pairs[0].key, "sasl.password");
        assert_string_equal(pairs[0].value, CASES[i].secret);
        tear_down(fixture);
    }
}

TEST(a_secrets_file_is_a_value_like_others, struct fixture *fixture) {
    FREED char *path = secret_file("filed", 5);
    char text[256];
    // The stronger source wins, whichever of the two forms it has.
    snprintf(text, sizeof text, "STARLING_PEER_TOKEN_FILE=%s", path);
    assert_int_equal(load_variable(fixture, text), 0);
    snprintf(text, sizeof text, "STARLING_KAFKA_SASL_PASSWORD_FILE=%s", path);
    assert_int_equal(load_variable(fixture, text), 0);
    assert_int_equal(set(fixture, "kafka.sasl.password=plain"), 0);
    assert_int_equal(load(fixture, "peer.token=weaker\ndata.dir=x\n"), 0);
    assert_int_equal(finish(fixture), 0);
    assert_string_equal(fixture->settings.token, "filed");
    size_t count;
    const struct config_pair *pairs = config_kafka(fixture->config, &count);
    assert_int_equal(count, 1);
    assert_string_equal(pairs[0].value, "plain");
}

TEST(a_secrets_file_that_is_no_use, struct fixture *fixture) {
    static const struct {
        const char *content;
        size_t size;
        const char *reason;
    } CASES[] = {{"", 0, "it is empty"}, {"\n", 1, "it is empty"}, {"hush\0hush", 9, "it holds a NUL byte"}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED char *path = secret_file(CASES[i].content, CASES[i].size);
        char text[256], expected[256];
        snprintf(text, sizeof text, "peer.token.file=%s", path);
        assert_int_equal(set(fixture, text), -EINVAL);
        snprintf(expected, sizeof expected, "--set peer.token.file: %s: %s", path, CASES[i].reason);
        assert_string_equal(failure.text, expected);
    }
    assert_fails(load(fixture, "\npeer.token.file=/nonexistent/token\n"), -ENOENT,
                 ":2: /nonexistent/token: No such file or directory");
    // Only secrets are read from files.
    assert_int_equal(set(fixture, "data.dir.file=/dev/null"), -EINVAL);
    assert_int_equal(set(fixture, "data.dir=x"), 0);
    assert_int_equal(set(fixture, "kafka.sasl.mechanisms.file=/dev/null"),
                     0); // librdkafka will say that it has no such property
    assert_int_equal(finish(fixture), 0);
    size_t count;
    assert_string_equal(config_kafka(fixture->config, &count)[0].key, "sasl.mechanisms.file");
}

TEST(files_that_cannot_be_read, struct fixture *fixture) {
    assert_fails_saying(config_load_file(fixture->config, "/nonexistent/x.properties", &failure), -ENOENT,
                        "/nonexistent/x.properties: No such file or directory");
    assert_int_equal(config_load_file(fixture->config, "/tmp", &failure), -EISDIR);
    assert_fails(load(fixture, "enabled=\\u12"), -EINVAL, ":1: malformed \\uXXXX escape");
}

TEST(large_files, struct fixture *fixture) {
    FILE *stream = fopen(fixture->path, "w");
    for (int i = 0; i < 3000; i++) fprintf(stream, "# line %d\nany.number=%d\n", i, i);
    fputs("data.dir=x", stream);
    fclose(stream);
    assert_int_equal(config_load_file(fixture->config, fixture->path, &failure), 0);
    assert_int_equal(finish(fixture), 0);
    assert_int_equal(fixture->settings.any, 2999);
}

TEST(a_wrong_default_is_found) {
    static const struct config_property WRONG[] = {{"n", CONFIG_INT, 0, "x", .doc = "A mistake."}};
    int64_t n = 5;
    struct config_section section = {"Wrong", WRONG, 1, &n};
    struct config *config = config_new(&section, 1);
    assert_fails_saying(config_finish(config, &failure), -EINVAL,
                        "default: \"n\" is \"x\", but must be a whole number");
    assert_int_equal(n, 5);
    config_free(config);
    config_free(NULL);
}

TEST(the_page) {
    struct config_section sections[] = {{"Common", COMMON, ARRAY_SIZE(COMMON), NULL},
                                        {"Edge", EDGE, ARRAY_SIZE(EDGE), NULL},
                                        {"Secrets", SECRETS, ARRAY_SIZE(SECRETS), NULL}};
    FREED char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    config_document(sections, 3, stream);
    fclose(stream);
    assert_memory_equal(text, "# Configuration\n\n", 17);
    const char *tables = strstr(text, "\n## ");
    assert_non_null(tables);
    assert_string_equal(tables, "\n## Common\n\n"
                                "| key | default | allowed | meaning |\n"
                                "|---|---|---|---|\n"
                                "| `kafka.bootstrap.servers` | `localhost:9092` | text | Where Kafka is. |\n"
                                "| `clock` | `wall` | one of wall, stream | Whose time. |\n"
                                "\n## Edge\n\n"
                                "| key | default | allowed | meaning |\n"
                                "|---|---|---|---|\n"
                                "| `flush.window.ms` | `1000` | a whole number from 0 to 60000 | How long updates are "
                                "gathered, in ms. |\n"
                                "| `any.number` | `-1` | a whole number | Any \\| at all. |\n"
                                "| `radius.m` | `8046.72` | a number from 1 to 1000000 | Radius in metres. |\n"
                                "| `enabled` | `true` | true or false | Whether. |\n"
                                "| `data.dir` | **must be given** | text | Where data is. |\n"
                                "\n## Secrets\n\n"
                                "| key | default | allowed | meaning |\n"
                                "|---|---|---|---|\n"
                                "| `peer.token` | (empty) | text | A secret. `peer.token.file` may name a file that "
                                "holds it. |\n");
}

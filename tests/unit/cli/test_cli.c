#include "cli/cli.h"
#include "unit/kit/kit.h"

static int unused(struct cli *cli, int argc, char **argv) { return 0; }

static const struct cli_command COMMAND = {
    .name = "test", .synopsis = "FILE [--level N]", .summary = "is tested", .run = unused};

enum { SAID = 512 };

/* Keeps what is said on standard error. */
struct hearing {
    FILE *file;
    int kept;
};

static struct hearing hear(void) {
    struct hearing hearing = {tmpfile(), dup(STDERR_FILENO)};
    fflush(stderr);
    dup2(fileno(hearing.file), STDERR_FILENO);
    return hearing;
}

static void heard(struct hearing hearing, char said[SAID]) {
    fflush(stderr);
    dup2(hearing.kept, STDERR_FILENO);
    close(hearing.kept);
    rewind(hearing.file);
    said[fread(said, 1, SAID - 1, hearing.file)] = '\0';
    fclose(hearing.file);
}

struct outcome {
    struct cli cli;
    const char *level, *name;
    bool quick, done;
    int code;
    char said[SAID]; /* on standard error */
};

/* Parses as a subcommand does; standard error is kept. arguments ends with NULL. */
static void parse(struct outcome *out, char **arguments) {
    *out = (struct outcome){.level = "3"};
    const struct cli_option options[] = {
        {"level", "N", "how much", &out->level, NULL},
        {"name", "NAME", "whose", &out->name, NULL},
        {"quick", NULL, "at once", NULL, &out->quick},
    };
    int argc = 0;
    while (arguments[argc]) argc++;
    struct hearing hearing = hear();
    int code = cli_open(&out->cli, &COMMAND, argc, arguments, options, ARRAY_SIZE(options));
    out->done = code == CLI_DONE;
    out->code = out->done ? 0 : code;
    heard(hearing, out->said);
}

#define PARSE(out, ...) parse(out, (char *[]){(char[]){"test"}, ##__VA_ARGS__, NULL})
#define ARG(text) ((char[]){text})

TEST(options_stand_before_and_after_arguments) {
    struct outcome out;
    PARSE(&out, ARG("--quick"), ARG("one"), ARG("--level"), ARG("-5"), ARG("two"), ARG("--name=a=b"));
    assert_int_equal(out.code, 0);
    assert_int_equal(out.cli.argument_count, 2);
    assert_string_equal(out.cli.arguments[0], "one");
    assert_string_equal(out.cli.arguments[1], "two");
    assert_string_equal(out.level, "-5");
    assert_string_equal(out.name, "a=b");
    assert_true(out.quick);
    cli_close(&out.cli);
}

TEST(options_that_are_not_given_keep_their_value_and_the_last_counts) {
    struct outcome out;
    PARSE(&out, ARG("--name"), ARG("a"), ARG("--name"), ARG("b"));
    assert_int_equal(out.code, 0);
    assert_string_equal(out.level, "3");
    assert_string_equal(out.name, "b");
    assert_false(out.quick);
    assert_int_equal(out.cli.argument_count, 0);
    cli_close(&out.cli);
}

TEST(two_dashes_end_the_options_and_one_is_an_argument) {
    struct outcome out;
    PARSE(&out, ARG("-"), ARG("--"), ARG("--level"));
    assert_int_equal(out.code, 0);
    assert_int_equal(out.cli.argument_count, 2);
    assert_string_equal(out.cli.arguments[0], "-");
    assert_string_equal(out.cli.arguments[1], "--level");
    cli_close(&out.cli);
}

TEST(wrong_options_are_named_with_the_usage) {
    static const struct {
        const char *argument, *reason;
    } WRONG[] = {
        {"--levle", "starling test: unknown option --levle\n"},
        {"-l", "unknown option -l\n"},
        {"--levels=3", "unknown option --levels=3\n"},
        {"--level", "--level needs a value\n"},
        {"--quick=yes", "--quick takes no value\n"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        struct outcome out;
        char argument[32];
        snprintf(argument, sizeof argument, "%s", WRONG[i].argument);
        PARSE(&out, argument);
        assert_int_equal(out.code, 2);
        assert_non_null(strstr(out.said, WRONG[i].reason));
        assert_non_null(strstr(out.said, "usage: starling test FILE [--level N]\n"));
    }
}

TEST(settings_come_from_set_and_kafka_is_passed_on) {
    struct outcome out;
    PARSE(&out, ARG("--set"), ARG("topics.prefix=x."), ARG("--set=kafka.client.rack=r1"));
    assert_int_equal(out.code, 0);
    assert_string_equal(out.cli.kafka.prefix, "x.");
    assert_string_equal(out.cli.kafka.bootstrap, "127.0.0.1:9092");
    assert_string_equal(out.cli.settings.router_group, "starling-router");
    assert_int_equal(out.cli.kafka.extra_count, 1);
    assert_string_equal(out.cli.kafka.extra[0].key, "client.rack");
    cli_close(&out.cli);
}

TEST(unknown_settings_are_refused_with_the_nearest) {
    struct outcome out;
    PARSE(&out, ARG("--set"), ARG("topic.prefix=x."));
    assert_int_equal(out.code, 2);
    assert_non_null(strstr(out.said, "topics.prefix"));
}

TEST(the_environment_counts_but_not_what_is_for_daemons) {
    struct outcome out;
    setenv("STARLING_TOPICS_PREFIX", "env.", 1);
    setenv("STARLING_EDGE_LISTEN", "127.0.0.1:1", 1);
    setenv("STARLING_KAFKA_CLIENT_RACK", "r2", 1);
    PARSE(&out, ARG("x"));
    assert_int_equal(out.code, 0);
    assert_string_equal(out.cli.kafka.prefix, "env.");
    assert_int_equal(out.cli.kafka.extra_count, 1);
    cli_close(&out.cli);
    PARSE(&out, ARG("--set"), ARG("topics.prefix=set."));
    assert_string_equal(out.cli.kafka.prefix, "set.");
    cli_close(&out.cli);
    unsetenv("STARLING_TOPICS_PREFIX");
    unsetenv("STARLING_EDGE_LISTEN");
    unsetenv("STARLING_KAFKA_CLIENT_RACK");
}

TEST(the_default_broker_is_told_once_and_only_if_nothing_is_configured) {
    struct outcome out;
    PARSE(&out, ARG("x"));
    assert_int_equal(out.code, 0);
    assert_true(*out.cli.unsaid_broker);
    cli_say_broker(&out.cli);
    assert_false(*out.cli.unsaid_broker);
    cli_close(&out.cli);
    PARSE(&out, ARG("--set"), ARG("topics.prefix=x."));
    assert_false(*out.cli.unsaid_broker);
    cli_close(&out.cli);
    setenv("STARLING_TOPICS_PREFIX", "env.", 1);
    PARSE(&out, ARG("x"));
    assert_false(*out.cli.unsaid_broker);
    cli_close(&out.cli);
    unsetenv("STARLING_TOPICS_PREFIX");
}

TEST(help_and_version_are_no_failures) {
    struct outcome out;
    PARSE(&out, ARG("--version"));
    assert_true(out.done && !out.code);
    PARSE(&out, ARG("x"), ARG("-h"));
    assert_true(out.done && !out.code);
    PARSE(&out, ARG("--help"));
    assert_true(out.done && !out.code);
}

TEST(a_command_may_have_its_own_code_for_wrong_usage) {
    static const struct cli_command OWN = {
        .name = "own", .synopsis = "", .summary = "", .run = unused, .usage_code = 3};
    char name[] = "own", wrong[] = "--wrong";
    char *arguments[] = {name, wrong, NULL};
    struct cli cli;
    assert_int_equal(cli_open(&cli, &OWN, 2, arguments, NULL, 0), 3);
}

TEST(users_are_numbers_from_0) {
    struct outcome out;
    int64_t user = 5;
    PARSE(&out, ARG("ada"));
    assert_int_equal(cli_one_user(&out.cli, &user), CLI_WRONG_USAGE);
    cli_close(&out.cli);
    PARSE(&out, ARG("1"), ARG("2"));
    assert_int_equal(cli_one_user(&out.cli, &user), CLI_WRONG_USAGE);
    assert_int_equal(user, 5);
    cli_close(&out.cli);
    PARSE(&out, ARG("7"));
    assert_int_equal(cli_one_user(&out.cli, &user), 0);
    assert_int_equal(user, 7);
    cli_close(&out.cli);
}

TEST(whole_numbers_are_whole_and_within_their_range) {
    static const char *const WRONG[] = {"",   " 1", "1 ", "+1", "0x1", "1.0", "-", "a", "9223372036854775808",
                                        "11", "-3"};
    int64_t value = 7;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) assert_false(cli_int(WRONG[i], -2, 10, &value));
    assert_int_equal(value, 7);
    assert_true(cli_int("-2", -2, 10, &value));
    assert_int_equal(value, -2);
    assert_true(cli_int("9223372036854775807", 0, INT64_MAX, &value));
    assert_int_equal(value, INT64_MAX);
}

TEST(real_numbers_are_finite_and_within_their_range) {
    static const char *const WRONG[] = {"", " 1", "nan", "inf", "0x1p3", "1e999", "1.5.2", "90.1", "--1", "e"};
    double value = 7;
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) assert_false(cli_real(WRONG[i], -90, 90, &value));
    assert_true(value == 7);
    assert_true(cli_real("-12.5", -90, 90, &value));
    assert_true(value == -12.5);
    assert_true(cli_real("1e1", -90, 90, &value));
    assert_true(value == 10);
}

TEST(options_with_numbers_are_named_with_their_range) {
    static const struct cli_command OWN = {
        .name = "own", .synopsis = "", .summary = "", .run = unused, .usage_code = 3};
    char said[SAID];
    int64_t whole = 7;
    double real = 7;
    struct hearing hearing = hear();
    assert_int_equal(cli_int_option(&COMMAND, "level", "11", 1, 10, &whole), CLI_WRONG_USAGE);
    assert_int_equal(cli_int_option(&COMMAND, "level", "0", 1, INT64_MAX, &whole), CLI_WRONG_USAGE);
    assert_int_equal(cli_real_option(&OWN, "speed", "x", 0.1, 1e6, &real), 3);
    assert_int_equal(cli_int_option(&COMMAND, "level", NULL, 1, 10, &whole), 0);
    assert_int_equal(cli_real_option(&COMMAND, "speed", NULL, 0, 1, &real), 0);
    heard(hearing, said);
    assert_string_equal(said, "starling test: --level 11: must be a whole number from 1 to 10\n"
                              "usage: starling test FILE [--level N]\n"
                              "starling test: --level 0: must be a whole number from 1\n"
                              "usage: starling test FILE [--level N]\n"
                              "starling own: --speed x: must be a number from 0.1 to 1000000\n"
                              "usage: starling own \n");
    assert_true(whole == 7 && real == 7);
    assert_int_equal(cli_int_option(&COMMAND, "level", "10", 1, 10, &whole), 0);
    assert_int_equal(cli_real_option(&COMMAND, "speed", "0.5", 0, 1, &real), 0);
    assert_true(whole == 10 && real == 0.5);
}

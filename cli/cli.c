#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "event/topics.h"
#include "json/json.h"

#define AT(member) offsetof(struct cli_settings, member)

static const struct config_property PROPERTIES[] = {
    {"kafka.bootstrap.servers", CONFIG_STRING, AT(bootstrap), "127.0.0.1:9092",
     .doc = "The Kafka brokers that are asked first: host:port, separated by commas."},
    {"topics.prefix", CONFIG_STRING, AT(prefix), "starling.", .doc = "The prefix of the names of all topics."},
    {"auth.hs256.key.file", CONFIG_STRING, AT(hs256_key_file), "",
     .doc = "File with the secret of the tokens signed with HS256, to sign tokens with; empty: none are signed."},
    {"peer.token", CONFIG_STRING, AT(peer_token), "", .secret = true,
     .doc = "Secret that the daemons share, to ask them; peer.token.file: a file that holds it."},
    {"api.url", CONFIG_STRING, AT(api_url), "http://127.0.0.1:8080",
     .doc = "Addresses of the gateways' HTTP API, separated by commas."},
    {"ws.url", CONFIG_STRING, AT(ws_url), "ws://127.0.0.1:8081/",
     .doc = "Addresses of the edges' WebSocket, separated by commas."},
    {"ops.addresses", CONFIG_STRING, AT(ops_addresses), CLI_OPS_ADDRESSES,
     .doc = "The daemons that status asks: where their ops.listen is reached, host:port, separated by commas."},
    {"router.group.id", CONFIG_STRING, AT(router_group), "starling-router", .doc = "Consumer group of the routers."},
    {"fanout.group.id", CONFIG_STRING, AT(fanout_group), "starling-fanout", .doc = "Consumer group of the edges."},
    {"history.group.id", CONFIG_STRING, AT(history_group), "starling-history-sink",
     .doc = "Consumer group of the history sinks."},
    {"feed.group.id", CONFIG_STRING, AT(feed_group), "starling-feed", .doc = "Consumer group of the feed processes."},
    {"comments.group.id", CONFIG_STRING, AT(comments_group), "starling-comments",
     .doc = "Consumer group of the comments processes."},
    {"places.group.id", CONFIG_STRING, AT(places_group), "starling-places",
     .doc = "Consumer group of the places processes."},
    {"moderation.group.id", CONFIG_STRING, AT(moderation_group), "starling-moderation",
     .doc = "Consumer group of the moderation processes."},
};

/* The variable is one that the command has, or is for librdkafka. Those of daemons may be set in the same shell. */
static bool variable_is_ours(const char *variable) {
    static const char OURS[] = "STARLING_", KAFKA[] = "KAFKA_";
    if (strncmp(variable, OURS, sizeof OURS - 1)) return false;
    variable += sizeof OURS - 1;
    if (!strncmp(variable, KAFKA, sizeof KAFKA - 1)) return true;
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < ARRAY_SIZE(PROPERTIES); i++) {
        const char *name = PROPERTIES[i].name;
        size_t same = 0;
        while (same < length && (name[same] == '.' ? '_' : toupper((unsigned char)name[same])) == variable[same])
            same++;
        if (name[same]) continue;
        static const char IN_FILE[] = "_FILE";
        bool file = PROPERTIES[i].secret && length - same == sizeof IN_FILE - 1 &&
                    !strncmp(variable + same, IN_FILE, sizeof IN_FILE - 1);
        if (same == length || file) return true;
    }
    return false;
}

static int load_environment(struct config *config, bool *configured, struct error *error) {
    int code = 0;
    for (char **variable = environ; *variable && !code; variable++) {
        char *one[] = {*variable, NULL};
        if (!variable_is_ours(*variable)) continue;
        *configured = true;
        code = config_load_environment(config, one, error);
    }
    return code;
}

static const char *program_of(const struct cli_command *command) {
    return command->program ? command->program : "starling";
}

static void print_help(const struct cli_command *command, const struct cli_option *options, size_t count) {
    printf("usage: %s %s %s\n\n%s\n\n", program_of(command), command->name, command->synopsis, command->summary);
    for (size_t i = 0; i < count; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", options[i].name, options[i].value_name ? " " : "",
                 options[i].value_name ? options[i].value_name : "");
        printf("  %-26s %s\n", left, options[i].help);
    }
    printf("  %-26s %s\n  %-26s %s\n  %-26s %s\n\n", "--config FILE", "settings from a .properties file",
           "--set KEY=VALUE", "one setting; stronger than files and than STARLING_... in the environment",
           "-h, --help, --version", "this; the version");
    if (command->notes) printf("%s\n\n", command->notes);
    printf("Settings:\n");
    for (size_t i = 0; i < ARRAY_SIZE(PROPERTIES); i++) {
        printf("  %-26s %s (%s)\n", PROPERTIES[i].name, PROPERTIES[i].doc,
               *PROPERTIES[i].fallback ? PROPERTIES[i].fallback : "none");
    }
    printf("  %-26s %s\n", "kafka.*", "Any property of librdkafka.");
}

int cli_usage_code(const struct cli_command *command) {
    return command->usage_code ? command->usage_code : CLI_WRONG_USAGE;
}

static void put_member(struct buffer *out, const char *before, const char *key, const char *value) {
    buffer_format(out, "%s\"%s\":", before, key);
    if (value)
        json_put_text(out, value, strlen(value));
    else
        buffer_string(out, "null");
}

/* The same as JSON. */
static void print_tables(const struct cli_command *command, const struct cli_option *options, size_t count) {
    struct buffer out = {.size = 0};
    put_member(&out, "{", "notes", command->notes);
    buffer_string(&out, ",\"options\":[");
    for (size_t i = 0; i < count; i++) {
        put_member(&out, i ? ",{" : "{", "name", options[i].name);
        put_member(&out, ",", "value", options[i].value_name);
        put_member(&out, ",", "help", options[i].help);
        buffer_byte(&out, '}');
    }
    buffer_string(&out, "],\"settings\":[");
    for (size_t i = 0; i < ARRAY_SIZE(PROPERTIES); i++) {
        put_member(&out, i ? ",{" : "{", "name", PROPERTIES[i].name);
        put_member(&out, ",", "default", PROPERTIES[i].fallback);
        put_member(&out, ",", "help", PROPERTIES[i].doc);
        buffer_byte(&out, '}');
    }
    buffer_string(&out, "]}");
    puts(buffer_cstring(&out));
    buffer_free(&out);
}

/* The argument is "--name" or "--name=VALUE"; *value: the text behind the equals sign, or NULL. */
static bool is_option(const char *argument, const char *name, const char **value) {
    size_t length = strlen(name);
    if (strncmp(argument, "--", 2) || strncmp(argument + 2, name, length)) return false;
    const char *rest = argument + 2 + length;
    if (*rest && *rest != '=') return false;
    *value = *rest ? rest + 1 : NULL;
    return true;
}

struct parse {
    const struct cli_command *command;
    const struct cli_option *options;
    size_t count;
    struct config *config;
    bool help, tables, version; /* --help, --help=json, --version */
    bool configured;            /* --config or --set */
};

static const struct cli_option *find_option(const struct parse *parse, const char *argument, const char **value) {
    for (size_t i = 0; i < parse->count; i++)
        if (is_option(argument, parse->options[i].name, value)) return &parse->options[i];
    return NULL;
}

/* One option; `next` is the argument behind it, or NULL. How many arguments it took, or -1: wrong, and said so. */
static int take_option(struct parse *parse, const char *argument, const char *next) {
    struct error error = {.text = ""};
    const char *value = NULL;
    if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
        parse->help = true;
        return 1;
    }
    if (!strcmp(argument, "--help=json")) {
        parse->tables = true;
        return 1;
    }
    if (!strcmp(argument, "--version")) {
        parse->version = true;
        return 1;
    }
    bool file = is_option(argument, "config", &value), set = !file && is_option(argument, "set", &value);
    const struct cli_option *option = file || set ? NULL : find_option(parse, argument, &value);
    if (!file && !set && !option) {
        CLI_WRONG(parse->command, "unknown option %s", argument);
        return -1;
    }
    if (option && !option->value_name) {
        if (value) {
            CLI_WRONG(parse->command, "--%s takes no value", option->name);
            return -1;
        }
        *option->flag = true;
        return 1;
    }
    int taken = value ? 1 : 2;
    if (!value) value = next;
    if (!value) {
        CLI_WRONG(parse->command, "%s needs a value", argument);
        return -1;
    }
    if (option) {
        *option->value = value;
        return taken;
    }
    if (file ? config_load_file(parse->config, value, &error) : config_set(parse->config, value, &error)) {
        CLI_WRONG(parse->command, "%s", error.text);
        return -1;
    }
    parse->configured = true;
    return taken;
}

/* Moves the arguments that are not options to the front of argv, behind the name. */
static int take_arguments(struct cli *cli, struct parse *parse, int argc, char **argv) {
    bool options_end = false;
    for (int i = 1; i < argc;) {
        if (!options_end && !strcmp(argv[i], "--")) {
            options_end = true;
            i++;
        } else if (options_end || argv[i][0] != '-' || !argv[i][1]) {
            cli->arguments[cli->argument_count++] = argv[i++];
        } else {
            int taken = take_option(parse, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
            if (taken < 0) return cli_usage_code(parse->command);
            i += taken;
        }
    }
    return 0;
}

/* Nothing that Kafka refuses comes by waiting for it. */
static void refused(void *context, const char *reason) {
    const struct cli_command *command = context;
    exit(cli_fail(command, command->refused_code ? command->refused_code : 1, "%s", reason));
}

int cli_open(struct cli *cli, const struct cli_command *command, int argc, char **argv,
             const struct cli_option *options, size_t count) {
    *cli = (struct cli){.arguments = argv + 1, .argument_count = 0, .command = command};
    const struct config_section section = {"Command", PROPERTIES, ARRAY_SIZE(PROPERTIES), &cli->settings};
    cli->config = config_new(&section, 1);
    struct parse parse = {.command = command, .options = options, .count = count, .config = cli->config};
    struct error error = {.text = ""};
    int code = take_arguments(cli, &parse, argc, argv);
    if (code) goto finish;
    if (parse.help || parse.tables || parse.version) {
        if (parse.version)
            printf("%s %s\n", program_of(command), STARLING_VERSION);
        else if (parse.tables)
            print_tables(command, options, count);
        else
            print_help(command, options, count);
        code = CLI_DONE;
        goto finish;
    }
    if (load_environment(cli->config, &parse.configured, &error) || config_finish(cli->config, &error)) {
        code = CLI_WRONG(command, "%s", error.text);
        goto finish;
    }
    cli->unsaid_broker = mem_alloc(sizeof *cli->unsaid_broker);
    *cli->unsaid_broker = !parse.configured;
    size_t extra_count;
    const struct config_pair *extra = config_kafka(cli->config, &extra_count);
    cli->kafka = (struct kafka_settings){
        .topics = &TOPICS_ALL,
        .bootstrap = cli->settings.bootstrap,
        .prefix = cli->settings.prefix,
        .client_id = program_of(command),
        .extra = extra,
        .extra_count = extra_count,
        .on_refused = refused,
        .refused_context = (void *)(uintptr_t)command,
    };
    return 0;
finish:
    cli_close(cli);
    return code;
}

void cli_close(struct cli *cli) {
    config_free(cli->config);
    free(cli->unsaid_broker);
    *cli = (struct cli){.config = NULL};
}

void cli_say_broker(const struct cli *cli) {
    if (!*cli->unsaid_broker) return;
    *cli->unsaid_broker = false;
    cli_note(cli->command,
             "no setting is given, so the broker is %s; ./dev starling knows the one that ./dev up started",
             cli->settings.bootstrap);
}

__attribute__((format(printf, 2, 0))) static void say(const struct cli_command *command, const char *format,
                                                      va_list arguments) {
    fflush(stdout);
    fprintf(stderr, "%s %s: ", program_of(command), command->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void cli_note(const struct cli_command *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
}

int cli_fail(const struct cli_command *command, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
    if (code == cli_usage_code(command))
        fprintf(stderr, "usage: %s %s %s\n", program_of(command), command->name, command->synopsis);
    return code;
}

int cli_user(const struct cli_command *command, const char *text, int64_t *user) {
    if (cli_int(text, 0, INT64_MAX, user)) return 0;
    return CLI_WRONG(command, "user %s: must be a number from 0", text);
}

int cli_one_user(const struct cli *cli, int64_t *user) {
    if (cli->argument_count != 1) return CLI_WRONG(cli->command, "one user must be given, not %d", cli->argument_count);
    return cli_user(cli->command, cli->arguments[0], user);
}

bool cli_int(const char *text, int64_t min, int64_t max, int64_t *value) {
    if (!isdigit((unsigned char)*text) && !(*text == '-' && isdigit((unsigned char)text[1]))) return false;
    char *end;
    errno = 0;
    long long read = strtoll(text, &end, 10);
    if (errno || *end || read < min || read > max) return false;
    *value = read;
    return true;
}

bool cli_real(const char *text, double min, double max, double *value) {
    // strtod would take blanks, hexadecimal and "nan" as well.
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false;
    char *end;
    errno = 0;
    double read = strtod(text, &end);
    if (*end || !isfinite(read) || read < min || read > max) return false;
    *value = read;
    return true;
}

int cli_int_option(const struct cli_command *command, const char *option, const char *text, int64_t min, int64_t max,
                   int64_t *value) {
    if (!text || cli_int(text, min, max, value)) return 0;
    if (max == INT64_MAX) return CLI_WRONG(command, "--%s %s: must be a whole number from %" PRId64, option, text, min);
    return CLI_WRONG(command, "--%s %s: must be a whole number from %" PRId64 " to %" PRId64, option, text, min, max);
}

int cli_real_option(const struct cli_command *command, const char *option, const char *text, double min, double max,
                    double *value) {
    if (!text || cli_real(text, min, max, value)) return 0;
    return CLI_WRONG(command, "--%s %s: must be a number from %.15g to %.15g", option, text, min, max);
}

bool cli_place(const char *text, struct geo_point *at) {
    char *copy = mem_string(text), *comma = strchr(copy, ',');
    double lat, lng;
    if (comma) *comma = '\0';
    bool good = comma && cli_real(copy, -90, 90, &lat) && cli_real(comma + 1, -180, 180, &lng);
    if (good) {
        *at = (struct geo_point){.lat = (int32_t)(lat * 1e7 + (lat < 0 ? -0.5 : 0.5)),
                                 .lng = (int32_t)(lng * 1e7 + (lng < 0 ? -0.5 : 0.5))};
    }
    free(copy);
    return good;
}

/* ---- a program of commands ---- */

static void print_usage(FILE *out, const struct cli_command *const *commands, size_t count) {
    const char *program = program_of(commands[0]);
    fprintf(out, "usage: %s COMMAND ...\n\n", program);
    for (size_t i = 0; i < count; i++) fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n%s COMMAND --help tells its arguments. All take --config FILE and --set key=value.\n", program);
}

static int run_command(const struct cli_command *command, int argc, char **argv) {
    struct cli cli = {.config = NULL};
    int code = command->run(&cli, argc, argv);
    cli_close(&cli);
    return code == CLI_DONE ? 0 : code;
}

static void print_commands(const struct cli_command *const *commands, size_t count) {
    struct buffer out = {.size = 0};
    printf("{\"commands\":[");
    for (size_t i = 0; i < count; i++) {
        char help[] = "--help=json", *arguments[] = {help, help, NULL};
        buffer_clear(&out);
        put_member(&out, i ? ",{" : "{", "name", commands[i]->name);
        put_member(&out, ",", "synopsis", commands[i]->synopsis);
        put_member(&out, ",", "summary", commands[i]->summary);
        printf("%s,\"tables\":", buffer_cstring(&out));
        run_command(commands[i], 2, arguments);
        putchar('}');
    }
    puts("]}");
    buffer_free(&out);
}

int cli_main(const struct cli_command *const *commands, size_t count, int argc, char **argv) {
    const char *word = argc < 2 ? "" : argv[1];
    for (size_t i = 0; i < count; i++)
        if (!strcmp(word, commands[i]->name)) return run_command(commands[i], argc - 1, argv + 1);
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
        print_usage(stdout, commands, count);
    } else if (!strcmp(word, "--help=json")) {
        print_commands(commands, count);
    } else if (!strcmp(word, "--version")) {
        printf("%s %s\n", program_of(commands[0]), STARLING_VERSION);
    } else {
        if (argc >= 2) fprintf(stderr, "%s: unknown command %s\n", program_of(commands[0]), word);
        print_usage(stderr, commands, count);
        return CLI_WRONG_USAGE;
    }
    return 0;
}

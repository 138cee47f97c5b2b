#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "service/internal.h"
#include "service/listen.h"

enum { SECTIONS_MAX = 8 };

static const char *const LOG_LEVELS[] = {"debug", "info", "warn", "error", NULL};
static const char *const LOG_FORMATS[] = {"logfmt", "json", NULL};
static const char *const USER_IDS[] = {"numbers", "directory", NULL};
static const char *const CLOCKS[] = {"wall", "stream", NULL};

#define AT(member) offsetof(struct service_settings, member)

/* ops.listen, peer.listen and data.dir have defaults of each daemon's own, from its definition. */
static const struct config_property COMMON[] = {
    {"kafka.bootstrap.servers", CONFIG_STRING, AT(kafka_bootstrap), "127.0.0.1:9092",
     .doc = "The Kafka brokers that are asked first: host:port, separated by commas."},
    {"topics.prefix", CONFIG_STRING, AT(topics_prefix), "starling.", .doc = "The prefix of the names of all topics."},
    {"ops.listen", CONFIG_STRING, AT(ops_listen), "",
     .doc =
         "host:port of /metrics, /healthz, /readyz and POST /drain. Only POST /drain asks for a token, the peer.token. Port 0 takes "
         "any free one. The field Host of requests here and at peer.listen must be an address, a name without a dot, this "
         "machine's name, or a host of ops.listen or peer.advertise: others get 421."},
    {"peer.listen", CONFIG_STRING, AT(peer_listen), "",
     .doc =
         "host:port for requests of other daemons; empty: none are answered. Here and in other addresses to listen on, an IPv6 "
         "host stands in brackets, and [::] is every interface, IPv4 included."},
    {"peer.advertise", CONFIG_STRING, AT(peer_advertise), "",
     .doc = "host:port under which other daemons reach peer.listen; they try all addresses of a name in turn. Empty: "
            "peer.listen itself, with this machine's name where it listens on every interface."},
    {"peer.token", CONFIG_STRING, AT(peer_token), "", .secret = true,
     .doc =
         "Secret that the daemons share: sent with requests to others and wanted in requests of others. Must be set unless "
         "peer.listen is empty."},
    {"log.level", CONFIG_CHOICE, AT(log_level), "info", .choices = LOG_LEVELS,
     .doc = "The least important lines that are logged."},
    {"log.format", CONFIG_CHOICE, AT(log_format), "logfmt", .choices = LOG_FORMATS,
     .doc = "How a line is written, to standard error."},
    {"auth.hs256.key.file", CONFIG_STRING, AT(auth_hs256_key_file), "",
     .doc =
         "File with the secret (at least 32 bytes; a newline at its end does not count) of the tokens signed with HS256; "
         "empty: such tokens are refused."},
    {"auth.rs256.public.key.file", CONFIG_STRING, AT(auth_rs256_public_key_file), "",
     .doc = "PEM file with the public key of the tokens signed with RS256; empty: such tokens are refused."},
    {"auth.jwks.file", CONFIG_STRING, AT(auth_jwks_file), "",
     .doc =
         "File with a JSON Web Key Set: a token whose `kid` is in it is checked by that key, with the key's algorithm "
         "(RS256, ES256 or HS256). It is read again when it changes; one without a usable key leaves the keys as they "
         "were. A key that is taken out ends the sessions of its tokens. Empty: none."},
    {"auth.jwks.url", CONFIG_STRING, AT(auth_jwks_url), "",
     .doc =
         "Address of such a set, in the place of auth.jwks.file, as a sign-in provider publishes it (jwks_uri). It is fetched again "
         "as its `max-age` says, a minute to an hour later, and within 8 s for a token with an unknown `kid`; the last good set "
         "counts while it is away. Secrets (HS256) in it do not count. Empty: none."},
    {"auth.audience", CONFIG_STRING, AT(auth_audience), "",
     .doc =
         "The audience that a token's `aud` must be, or hold: one of these, separated by commas or spaces; empty: `aud` is not "
         "checked."},
    {"auth.audience.claim", CONFIG_STRING, AT(auth_audience_claim), "aud",
     .doc = "The claim that holds the audience; Cognito's access tokens have it in `client_id`."},
    {"auth.issuer", CONFIG_STRING, AT(auth_issuer), "",
     .doc = "The issuer that a token's `iss` must be; empty: `iss` is not checked."},
    {"auth.user.claim", CONFIG_STRING, AT(auth_user_claim), "sub",
     .doc =
         "The claim that holds the user id: its name, or a path with dots (`app.user`). Not `sub`: it may be a number, too."},
    {"auth.user.ids", CONFIG_CHOICE, AT(auth_user_ids), "numbers", .choices = USER_IDS,
     .doc =
         "Kind of the user ids in tokens: numbers, or texts of 1 to 255 printable ASCII characters, which get a number each in a "
         "directory. The same for gateways and edges; do not change it later."},
    {"auth.token.max.life.s", CONFIG_INT, AT(auth_max_life_s), "2592000", .min = 0, .max = 1e10,
     .doc =
         "Longest life of a token, in seconds: from its `iat`, or without one from when a process first sees it. `exp` may end it "
         "earlier. 0: any."},
    {"data.dir", CONFIG_STRING, AT(data_dir), "",
     .doc = "Directory of what this process keeps on disk; every process has its own."},
    {"group.instance.id", CONFIG_STRING, AT(group_instance_id), "",
     .doc =
         "Kafka's static membership: a name that stays with this process over restarts, so that its partitions wait for "
         "it; empty: they move at once."},
    {"client.id.suffix", CONFIG_STRING, AT(client_id_suffix), "",
     .doc =
         "The suffix behind the daemon's name in the client.id that Kafka knows this process by (in its logs, quotas and "
         "lists of members), to tell apart processes that have no peer.listen to be told by."},
    {"clock", CONFIG_CHOICE, AT(clock), "wall", .choices = CLOCKS,
     .doc =
         "The present time: the machine's clock, or the highest time in the stream of reports, for replays (the same for "
         "routers and fanouts)."},
    {"radius.m", CONFIG_DOUBLE, AT(radius_m), "8046.72", .min = 1, .max = 20037508,
     .doc = "Friends within this distance, in metres, are near. The same for all daemons."},
    {"inactive.after.s", CONFIG_INT, AT(inactive_after_s), "600", .min = 1, .max = 604800,
     .doc = "A friend whose last report is older, in seconds, is not shown. The same for all daemons."},
    {"report.past.days", CONFIG_INT, AT(report_past_days), "366", .min = 0, .max = 36600,
     .doc =
         "Gateways and edges refuse a report that is older than so many days, as one whose time is in seconds seems to be; 0: "
         "they take any. Nothing is refused where the clock is the stream."},
    {"trace.every", CONFIG_INT, AT(trace_every), "0", .min = 0, .max = 1e9,
     .doc =
         "One record in so many that gateways and edges write for apps and phones begins a trace (`starling trace`); 0: "
         "none does. Requests with a sampled `traceparent` are traced whatever this says."},
    {"trace.max.per.s", CONFIG_INT, AT(trace_max_per_s), "10", .min = 0, .max = 1e6,
     .doc = "Traces that one process begins or follows in a second at most; 0: none."},
    {"otlp.url", CONFIG_STRING, AT(otlp_url), "",
     .doc =
         "The address that gets spans of traces, by OTLP over HTTP in JSON, such as http://collector:4318/v1/traces; empty: none."},
    {"otlp.headers", CONFIG_STRING, AT(otlp_headers), "", .secret = true,
     .doc = "Header fields for that collector, such as a key: NAME=VALUE, separated by commas."},
};

/* One block, so that whoever has the section can give it back: the properties come first. */
struct table {
    struct config_property properties[ARRAY_SIZE(COMMON)];
    char data_dir[128];
};

static void set_fallback(struct table *table, const char *name, const char *fallback) {
    for (size_t i = 0; i < ARRAY_SIZE(COMMON); i++)
        if (!strcmp(table->properties[i].name, name)) table->properties[i].fallback = fallback;
}

struct config_section service_section(const struct service_definition *definition, struct service_settings *values) {
    struct table *table = mem_alloc(sizeof *table);
    memcpy(table->properties, COMMON, sizeof COMMON);
    if (definition) {
        snprintf(table->data_dir, sizeof table->data_dir, "data/%s", definition->name);
        set_fallback(table, "ops.listen", definition->ops_listen);
        set_fallback(table, "peer.listen", definition->peer_listen ? definition->peer_listen : "");
        set_fallback(table, "data.dir", table->data_dir);
    }
    return (struct config_section){"All daemons", table->properties, ARRAY_SIZE(COMMON), values};
}

void service_section_free(struct config_section *section) {
    free((void *)(uintptr_t)section->properties);
    *section = (struct config_section){.properties = NULL};
}

/* The common section, the daemon's own and its products'. */
static size_t sections_of(const struct service *service, const struct config_section *sections[SECTIONS_MAX]) {
    const struct service_definition *definition = service->definition;
    size_t count = 0;
    sections[count++] = &service->common;
    if (definition->section) sections[count++] = definition->section;
    for (size_t i = 0; definition->more_sections && definition->more_sections[i]; i++) {
        assert(count < SECTIONS_MAX);
        sections[count++] = definition->more_sections[i];
    }
    return count;
}

static void print_usage(FILE *stream, const struct service *service) {
    fprintf(stream,
            "usage: %s [--config FILE]... [--set KEY=VALUE]... [--check] [--help] [--version]\n"
            "\n"
            "  --config FILE    reads settings from a .properties file\n"
            "  --set KEY=VALUE  sets one; stronger than files and than STARLING_... in the environment\n"
            "  --check          reads the configuration and says whether it is good (exit code 0, or 1)\n",
            service->definition->name);
}

static void print_section(const struct config_section *section) {
    printf("\n%s (docs/CONFIGURATION.md tells what they mean):\n", section->title);
    for (size_t i = 0; i < section->count; i++) {
        const struct config_property *property = &section->properties[i];
        printf("  %-32s %s\n", property->name, property->fallback ? property->fallback : "(must be given)");
    }
}

static void print_help(const struct service *service) {
    const struct config_section *sections[SECTIONS_MAX];
    size_t count = sections_of(service, sections);
    print_usage(stdout, service);
    for (size_t i = 0; i < count; i++) print_section(sections[i]);
}

/* Keys of librdkafka that are ours to set: peers find each other by client.id, and the rest would break groups silently. */
static int check_kafka(const struct config *config, struct error *error) {
    static const char *const OURS[] = {
        "client.id",  "group.id", "group.instance.id", "enable.auto.commit", "partition.assignment.strategy",
        "partitioner"};
    size_t count;
    const struct config_pair *pairs = config_kafka(config, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < ARRAY_SIZE(OURS); j++)
            if (!strcmp(pairs[i].key, OURS[j]))
                return error_set(error, -EINVAL, "kafka.%s cannot be set: the daemons depend on their own value",
                                 OURS[j]);
    return kafka_settings_check(pairs, count, error);
}

static int check_peers(const struct service_settings *settings, struct error *error) {
    struct address address;
    if (!*settings->peer_listen) return 0;
    int code = address_parse(settings->peer_listen, &address, error);
    if (code) return error_prefix(error, code, "peer.listen");
    if (!*settings->peer_token)
        return error_set(error, -EINVAL,
                         "peer.token (or peer.token.file) must be set: at peer.listen %s peers are known by it",
                         settings->peer_listen);
    if (*settings->peer_advertise && (code = address_parse(settings->peer_advertise, &address, error)))
        return error_prefix(error, code, "peer.advertise");
    return 0;
}

/* For --check only: a start finds these faults by itself when it comes to them. */
static int check_rest(const struct service_settings *settings, struct error *error) {
    struct address address;
    int code = address_parse(settings->ops_listen, &address, error);
    return code ? error_prefix(error, code, "ops.listen") : keys_check(settings, error);
}

/* The arguments. 1: --help or --version was asked for, and answered. */
static int read_arguments(struct service *service, int argc, char **argv, struct error *error) {
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
            print_help(service);
            return 1;
        }
        if (!strcmp(argument, "--version")) {
            printf("%s %s\n", service->definition->name, STARLING_VERSION);
            return 1;
        }
        if (!strcmp(argument, "--check")) {
            service->checks = true;
            continue;
        }
        bool file = !strcmp(argument, "--config");
        if (!file && strcmp(argument, "--set")) {
            print_usage(stderr, service);
            return error_set(error, -EINVAL, "unknown argument %s", argument);
        }
        if (++i == argc) return error_set(error, -EINVAL, "%s needs a value", argument);
        int code =
            file ? config_load_file(service->config, argv[i], error) : config_set(service->config, argv[i], error);
        if (code) return code;
    }
    return 0;
}

int service_configure(struct service *service, int argc, char **argv) {
    struct error error = {.text = ""};
    service->common = service_section(service->definition, &service->settings);
    const struct config_section *found[SECTIONS_MAX];
    struct config_section sections[SECTIONS_MAX];
    size_t count = sections_of(service, found);
    for (size_t i = 0; i < count; i++) sections[i] = *found[i];
    service->config = config_new(sections, count);
    int code = read_arguments(service, argc, argv, &error);
    if (!code) code = config_load_environment(service->config, environ, &error);
    if (!code) code = config_finish(service->config, &error);
    if (!code) code = check_kafka(service->config, &error);
    if (!code) code = check_peers(&service->settings, &error);
    if (!code) code = traces_check(&service->settings, &error);
    if (!code && service->definition->check) code = service->definition->check(&service->settings, &error);
    if (!code && service->checks) code = check_rest(&service->settings, &error);
    if (code < 0) fprintf(stderr, "%s: %s\n", service->definition->name, error.text);
    if (code || !service->checks) return code;
    printf("%s: the configuration is good\n", service->definition->name);
    return 1;
}

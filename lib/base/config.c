#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/config_value.h"
#include "base/mem.h"
#include "base/properties.h"
#include "base/text.h"

static const char KAFKA[] = "kafka.";
static const char ENVIRONMENT[] = "STARLING_";
static const char IN_FILE[] = ".file";

/* Where a setting comes from; a later one wins. */
enum source { SOURCE_NONE, SOURCE_FILE, SOURCE_ENVIRONMENT, SOURCE_SET };

struct setting {
    const struct config_property *property; /* NULL: passed through to librdkafka */
    void *values;                           /* of the property's section */
    char *key;                              /* of what is passed through, without "kafka." */
    char *text;                             /* NULL: not given, and without a default */
    enum source source;
};

struct config {
    struct setting *settings; /* those of properties, in the tables' order, then those passed through, as they came */
    size_t properties, count;
    struct config_pair *pairs; /* made by config_finish */
};

struct config *config_new(const struct config_section *sections, size_t count) {
    struct config *config = mem_zero(1, sizeof *config);
    for (size_t s = 0; s < count; s++) config->count += sections[s].count;
    config->properties = config->count;
    config->settings = mem_zero(config->count, sizeof *config->settings);
    struct setting *setting = config->settings;
    for (size_t s = 0; s < count; s++)
        for (size_t p = 0; p < sections[s].count; p++, setting++)
            *setting = (struct setting){.property = &sections[s].properties[p],
                                        .values = sections[s].values,
                                        .text = mem_string(sections[s].properties[p].fallback)};
    return config;
}

void config_free(struct config *config) {
    if (!config) return;
    for (size_t i = 0; i < config->count; i++) {
        free(config->settings[i].key);
        free(config->settings[i].text);
    }
    free(config->settings);
    free(config->pairs);
    free(config);
}

/* The name of a property or of what is passed through. */
static const char *passed_key(const char *name) {
    size_t prefix = sizeof KAFKA - 1;
    return strncmp(name, KAFKA, prefix) == 0 && name[prefix] ? name + prefix : NULL;
}

/* The setting of that name; one that is passed through is made when it is new. NULL: unknown. */
static struct setting *want_setting(struct config *config, const char *name) {
    for (size_t i = 0; i < config->properties; i++)
        if (strcmp(config->settings[i].property->name, name) == 0) return &config->settings[i];
    const char *key = passed_key(name);
    if (!key) return NULL;
    for (size_t i = config->properties; i < config->count; i++)
        if (strcmp(config->settings[i].key, key) == 0) return &config->settings[i];
    config->settings = mem_resize(config->settings, config->count + 1, sizeof *config->settings);
    struct setting *made = &config->settings[config->count++];
    *made = (struct setting){.key = mem_string(key)};
    return made;
}

bool config_kafka_secret(const char *key) {
    static const char *const SECRETS[] = {
        "sasl.password", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config", "ssl.key.password",
        "ssl.key.pem",   "ssl.keystore.password"};
    for (size_t i = 0; i < ARRAY_SIZE(SECRETS); i++)
        if (strcmp(SECRETS[i], key) == 0) return true;
    return false;
}

/* The key of the secret that `name`, such as peer.token.file, gives a file for; the caller frees it. NULL: it gives none. */
static char *secret_of(const struct config *config, const char *name) {
    size_t length = strlen(name), ending = sizeof IN_FILE - 1;
    if (length <= ending || strcmp(name + length - ending, IN_FILE) != 0) return NULL;
    char *key = mem_stringn(name, length - ending);
    const char *passed = passed_key(key);
    if (passed && config_kafka_secret(passed)) return key;
    for (size_t i = 0; i < config->properties; i++) {
        const struct config_property *property = config->settings[i].property;
        if (property->secret && strcmp(property->name, key) == 0) return key;
    }
    free(key);
    return NULL;
}

/* The property whose name is as good as the same: another one in a third of its letters at most. NULL: none is. */
static const char *nearest_name(const struct config *config, const char *name) {
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < config->properties; i++) {
        const char *known = config->settings[i].property->name;
        size_t distance = text_distance(name, known);
        if (distance >= least || distance * 3 > strlen(known)) continue;
        least = distance;
        nearest = known;
    }
    return nearest;
}

/* Whether librdkafka has keys that begin like this one. Not all of its keys: those that people set. */
static bool looks_like_kafka(const char *name) {
    static const char *const BEGINNINGS[] = {
        "acks",    "allow.",       "api.",     "auto.",     "batch.",  "bootstrap.",  "broker.",    "check.",
        "client.", "compression.", "debug",    "delivery.", "enable.", "fetch.",      "group.",     "heartbeat.",
        "linger.", "max.poll",     "message.", "metadata.", "queue",   "reconnect.",  "request.",   "retry.",
        "sasl.",   "security.",    "session.", "socket.",   "ssl.",    "statistics.", "transaction"};
    for (size_t i = 0; i < ARRAY_SIZE(BEGINNINGS); i++)
        if (!strncmp(name, BEGINNINGS[i], strlen(BEGINNINGS[i]))) return true;
    return false;
}

static int refuse_key(const struct config *config, const char *name, struct error *error) {
    const char *nearest = nearest_name(config, name);
    if (nearest) return error_set(error, -EINVAL, "unknown key \"%s\"; the nearest valid one is \"%s\"", name, nearest);
    if (looks_like_kafka(name))
        return error_set(error, -EINVAL, "unknown key \"%s\"; librdkafka's keys have \"kafka.\" in front: \"kafka.%s\"",
                         name, name);
    return error_set(error, -EINVAL, "unknown key \"%s\"; --help lists the valid ones", name);
}

/* Gives a setting its text. The caller says in front of a reason where the text stands. */
static int assign_text(struct config *config, enum source source, const char *name, const char *text,
                       struct error *error) {
    struct setting *setting = want_setting(config, name);
    if (!setting) return refuse_key(config, name, error);
    if (setting->property) {
        union config_value ignored;
        int code = config_value_parse(setting->property, text, &ignored, error);
        if (code) return code;
    }
    if (source < setting->source) return 0;
    char *copy = mem_string(text);
    free(setting->text);
    setting->text = copy;
    setting->source = source;
    return 0;
}

enum { AT_ONCE = 4096 };

/* Appends the content of a file. Negative errno; what was read before the failure stays in the buffer. */
static int file_read(const char *path, struct buffer *out) {
    FILE *stream = fopen(path, "re");
    if (!stream) return -errno;
    size_t got;
    do {
        got = fread(buffer_reserve(out, AT_ONCE), 1, AT_ONCE, stream);
        buffer_commit(out, got);
    } while (got);
    int code = ferror(stream) ? -errno : 0;
    fclose(stream);
    return code;
}

static int read_secret(const char *path, struct buffer *out, struct error *error) {
    int code = file_read(path, out);
    if (code) return error_set(error, code, "%s: %s", path, strerror(-code));
    if (out->size && out->data[out->size - 1] == '\n') out->size--;
    if (out->size && out->data[out->size - 1] == '\r') out->size--;
    // An empty secret would let everybody in, and a password that ends at a NUL byte is another one.
    if (!out->size || memchr(out->data, 0, out->size))
        return error_set(error, -EINVAL, "%s: %s", path, out->size ? "it holds a NUL byte" : "it is empty");
    return 0;
}

/* The same, where the text may be the name of a file that holds a secret. */
static int assign(struct config *config, enum source source, const char *name, const char *text, struct error *error) {
    char *secret = secret_of(config, name);
    if (!secret) return assign_text(config, source, name, text, error);
    struct buffer content = {0};
    int code = read_secret(text, &content, error);
    if (!code) code = assign_text(config, source, secret, buffer_cstring(&content), error);
    buffer_free(&content);
    free(secret);
    return code;
}

struct config_file {
    struct config *config;
    const char *path;
};

static int take_pair(void *context, int line, const char *key, const char *value, struct error *error) {
    const struct config_file *file = context;
    int code = assign(file->config, SOURCE_FILE, key, value, error);
    return code ? error_prefix(error, code, "%s:%d", file->path, line) : 0;
}

int config_load_file(struct config *config, const char *path, struct error *error) {
    struct buffer text = {0};
    int code = file_read(path, &text);
    if (code)
        error_set(error, code, "%s: %s", path, strerror(-code));
    else
        code = properties_read(path, buffer_cstring(&text), text.size, take_pair,
                               &(struct config_file){.config = config, .path = path}, error);
    buffer_free(&text);
    return code;
}

/* kafka.bootstrap.servers -> KAFKA_BOOTSTRAP_SERVERS */
static void environment_name(struct buffer *out, const char *name) {
    buffer_clear(out);
    for (; *name; name++)
        buffer_byte(out, isalnum((unsigned char)*name) ? (uint8_t)toupper((unsigned char)*name) : '_');
}

/* KAFKA_FETCH_MIN_BYTES -> kafka.fetch.min.bytes */
static void dotted_name(struct buffer *out, const char *variable) {
    buffer_clear(out);
    for (; *variable; variable++) buffer_byte(out, *variable == '_' ? '.' : (uint8_t)tolower((unsigned char)*variable));
}

/* The property that the variable (without STARLING_) sets; otherwise its name with dots. */
static const char *variable_key(const struct config *config, const char *variable, struct buffer *scratch) {
    for (size_t i = 0; i < config->properties; i++) {
        environment_name(scratch, config->settings[i].property->name);
        if (strcmp(buffer_cstring(scratch), variable) == 0) return config->settings[i].property->name;
    }
    dotted_name(scratch, variable);
    return buffer_cstring(scratch);
}

static int load_variable(struct config *config, const char *variable, struct error *error) {
    size_t prefix = sizeof ENVIRONMENT - 1;
    const char *equals = strchr(variable, '=');
    if (!equals || strncmp(variable, ENVIRONMENT, prefix) != 0) return 0;

    struct buffer scratch = {0};
    char *name = mem_stringn(variable, (size_t)(equals - variable));
    const char *key = variable_key(config, name + prefix, &scratch);
    int code = assign(config, SOURCE_ENVIRONMENT, key, equals + 1, error);
    if (code) error_prefix(error, code, "environment variable %s", name);
    free(name);
    buffer_free(&scratch);
    return code;
}

int config_load_environment(struct config *config, char *const *environment, struct error *error) {
    int code = 0;
    for (; *environment && !code; environment++) code = load_variable(config, *environment, error);
    return code;
}

int config_set(struct config *config, const char *assignment, struct error *error) {
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment) return error_set(error, -EINVAL, "--set %s: must be key=value", assignment);
    char *key = mem_stringn(assignment, (size_t)(equals - assignment));
    int code = assign(config, SOURCE_SET, key, equals + 1, error);
    if (code) error_prefix(error, code, "--set %s", key);
    free(key);
    return code;
}

static int missing(const struct config_property *property, struct error *error) {
    struct buffer variable = {0};
    environment_name(&variable, property->name);
    int code = error_set(error, -EINVAL, "\"%s\" must be given: in a --config file, as %s%s, or by --set %s=...",
                         property->name, ENVIRONMENT, buffer_cstring(&variable), property->name);
    buffer_free(&variable);
    return code;
}

int config_finish(struct config *config, struct error *error) {
    // Everything is checked before anything is written.
    for (size_t i = 0; i < config->properties; i++) {
        const struct setting *setting = &config->settings[i];
        union config_value value;
        if (!setting->text) return missing(setting->property, error);
        int code = config_value_parse(setting->property, setting->text, &value, error);
        if (code) return error_prefix(error, code, "default");
    }
    for (size_t i = 0; i < config->properties; i++) {
        const struct setting *setting = &config->settings[i];
        union config_value value;
        config_value_parse(setting->property, setting->text, &value, NULL);
        config_value_store(setting->property, &value, setting->values);
    }
    config->pairs = mem_zero(config->count - config->properties, sizeof *config->pairs);
    for (size_t i = config->properties; i < config->count; i++)
        config->pairs[i - config->properties] =
            (struct config_pair){.key = config->settings[i].key, .value = config->settings[i].text};
    return 0;
}

const struct config_pair *config_kafka(const struct config *config, size_t *count) {
    *count = config->pairs ? config->count - config->properties : 0;
    return config->pairs;
}

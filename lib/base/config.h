/* Configuration: one table of properties parses, validates and documents it.
 *
 *     static const struct config_property PROPERTIES[] = {
 *         {"flush.window.ms", CONFIG_INT, offsetof(struct settings, flush_ms), "1000", .min = 0, .max = 60000,
 *          .doc = "How long updates to one screen are gathered into one frame."},
 *     };
 *     struct config_section section = {"Edge", PROPERTIES, ARRAY_SIZE(PROPERTIES), &settings};
 *
 * Sources, later ones win whatever order they are loaded in: defaults, .properties files, STARLING_ environment variables
 * (STARLING_FLUSH_WINDOW_MS), --set key=value. Keys starting with `kafka.` that are no property are passed through to
 * librdkafka. Unknown keys and malformed values fail with file:line and the valid name that is near, if one is. One thread.
 *
 * A secret (a property that says so, or one of librdkafka's) may also stand in a file of its own: KEY.file=PATH gives KEY the file's
 * content, without the newline at its end. Reasons name the file and never the secret.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum config_type {
    CONFIG_BOOL,   /* bool: true, false */
    CONFIG_INT,    /* int64_t */
    CONFIG_DOUBLE, /* double */
    CONFIG_STRING, /* const char *, owned by the config, never NULL */
    CONFIG_CHOICE  /* int: index into choices */
};

struct config_property {
    const char *name;
    enum config_type type;
    size_t offset;              /* of the value within the section's values */
    const char *fallback;       /* default, as text; NULL: must be given */
    double min, max;            /* of numbers, both inclusive; both 0: any */
    const char *const *choices; /* CONFIG_CHOICE: NULL-terminated */
    const char *doc;            /* one or two sentences with the unit */
    bool secret;                /* CONFIG_STRING: may be given as a file */
};

struct config_section {
    const char *title;
    const struct config_property *properties;
    size_t count;
    void *values; /* the caller's struct, filled by config_finish */
};

struct config_pair {
    const char *key; /* without the leading "kafka." */
    const char *value;
};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct config;

/* The tables of properties and the values are referenced and outlive the config; the array of sections need not. */
struct config *config_new(const struct config_section *sections, size_t count);
void config_free(struct config *config); /* strings in the values die with it; NULL is fine */

/* Each checks at once what it takes: -EINVAL for an unknown key or a malformed value, another code for a file that cannot be
 * read. Within one kind of source the later value wins. */
int config_load_file(struct config *config, const char *path, struct error *error);
int config_load_environment(struct config *config, char *const *environment, struct error *error);
int config_set(struct config *config, const char *assignment, struct error *error); /* "key=value" of --set */

/* Validates everything and fills the values; call once, last. -EINVAL, and no value written, when one is missing. */
int config_finish(struct config *config, struct error *error);

/* The kafka.* pairs that go to librdkafka as they are. Valid as long as the config. */
const struct config_pair *config_kafka(const struct config *config, size_t *count);

/* Whether a property of librdkafka (without "kafka.") is a secret, which no message may show. */
bool config_kafka_secret(const char *key);

/* The page docs/CONFIGURATION.md of these sections (Markdown tables). */
void config_document(const struct config_section *sections, size_t count, FILE *stream);

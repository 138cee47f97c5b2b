#include "ingest/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/schema_text.h"

enum {
    NO_SUBJECT = 40401,
    NO_VERSION = 40402,
    NO_SCHEMA = 40403,
    BAD_SCHEMA = 42201,
    BAD_VERSION = 42202,
    READ_ONLY = 42205,
    LATEST = -1
};
enum { SCHEMA_BODY_MAX = 16384, BODY_VALUES_MAX = 256 };

struct registry_subject {
    char *name;
    const char *record; /* as schemas/ids.txt calls it */
    bool of_topic;
};

struct registry {
    struct registry_subject *subjects; /* by name */
    size_t count;
};

/* ---- subjects ---- */

static void add_subject(struct registry *registry, char *name, const char *record, bool of_topic) {
    registry->subjects = mem_resize(registry->subjects, registry->count + 1, sizeof *registry->subjects);
    registry->subjects[registry->count++] =
        (struct registry_subject){.name = name, .record = record, .of_topic = of_topic};
}

static int by_name(const void *left, const void *right) {
    const struct registry_subject *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* The newest schema's full name is that of all versions. */
static void full_name(const char *record, struct buffer *name) {
    for (size_t i = 0; event_schema_at(i); i++) {
        const struct event_schema *schema = event_schema_at(i);
        if (strcmp(schema->record, record)) continue;
        buffer_clear(name);
        schema_text_name(schema->json, name);
    }
}

static bool is_first(size_t index) {
    for (size_t i = 0; i < index; i++)
        if (!strcmp(event_schema_at(i)->record, event_schema_at(index)->record)) return false;
    return true;
}

struct registry *registry_new(const char *topics_prefix) {
    struct registry *registry = mem_zero(1, sizeof *registry);
    struct buffer name = {0};
    for (size_t t = 0; t < TOPICS_ALL.count; t++) {
        const struct topic *topic = TOPICS_ALL.items[t];
        if (topic->values[0] && !topic->values[1])
            add_subject(registry, mem_format("%s%s-value", topics_prefix, topic->name), topic->values[0], true);
        for (size_t i = 0; topic->values[1] && i < TOPIC_VALUES_MAX; i++) {
            full_name(topic->values[i], &name);
            add_subject(registry, mem_format("%s%s-%s", topics_prefix, topic->name, buffer_cstring(&name)),
                        topic->values[i], true);
        }
    }
    for (size_t i = 0; event_schema_at(i); i++) {
        if (!is_first(i)) continue;
        full_name(event_schema_at(i)->record, &name);
        add_subject(registry, mem_string(buffer_cstring(&name)), event_schema_at(i)->record, false);
    }
    buffer_free(&name);
    qsort(registry->subjects, registry->count, sizeof *registry->subjects, by_name);
    return registry;
}

void registry_free(struct registry *registry) {
    if (!registry) return;
    for (size_t i = 0; i < registry->count; i++) free(registry->subjects[i].name);
    free(registry->subjects);
    free(registry);
}

/* The subject's schema of that version, from 1, or LATEST; NULL: it does not exist. */
static const struct event_schema *schema_of(const struct registry_subject *subject, int64_t version) {
    const struct event_schema *found = NULL;
    int64_t seen = 0;
    for (size_t i = 0; event_schema_at(i); i++) {
        if (strcmp(event_schema_at(i)->record, subject->record)) continue;
        found = event_schema_at(i);
        if (++seen == version) return found;
    }
    return version == LATEST ? found : NULL;
}

struct registry_entry registry_entry(const struct registry *registry, size_t subject, int64_t version) {
    if (subject >= registry->count) return (struct registry_entry){.subject = NULL};
    const struct registry_subject *entry = &registry->subjects[subject];
    return (struct registry_entry){
        .subject = entry->name, .of_topic = entry->of_topic, .schema = schema_of(entry, version)};
}

static int64_t version_of(const struct event_schema *schema) {
    int64_t version = 0;
    for (size_t i = 0; event_schema_at(i) != schema; i++)
        version += !strcmp(event_schema_at(i)->record, schema->record);
    return version + 1;
}

/* ---- answers ---- */

static void send_json(const struct call *call, unsigned status, const struct buffer *body) {
    http_reply(call->request, status, "application/vnd.schemaregistry.v1+json", body->data, body->size, NULL, 0);
}

static void send_text(const struct call *call, const char *text) {
    struct buffer body = {0};
    buffer_string(&body, text);
    send_json(call, 200, &body);
    buffer_free(&body);
}

static void send_error(const struct call *call, int error, const char *message) {
    struct buffer body = {0};
    buffer_format(&body, "{\"error_code\":%d,\"message\":", error);
    json_put_text(&body, message, strlen(message));
    buffer_byte(&body, '}');
    send_json(call, (unsigned)error / 100, &body);
    buffer_free(&body);
}

static void send_version(const struct call *call, const struct registry_subject *subject,
                         const struct event_schema *schema) {
    struct buffer body = {0};
    json_member_text(&body, "{\"subject\":", subject->name);
    buffer_format(&body, ",\"version\":%" PRId64 ",\"id\":%" PRIu32, version_of(schema), schema->id);
    json_member_text(&body, ",\"schema\":", schema->json);
    buffer_byte(&body, '}');
    send_json(call, 200, &body);
    buffer_free(&body);
}

/* ---- what a path names; NULL: answered ---- */

static const struct registry_subject *subject_of(const struct registry *registry, const struct call *call) {
    const struct path_value *value = &call->values[0];
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_subject *subject = &registry->subjects[i];
        if (strlen(subject->name) == value->size && !memcmp(subject->name, value->text, value->size)) return subject;
    }
    send_error(call, NO_SUBJECT, "Subject not found.");
    return NULL;
}

static const struct event_schema *schema_of_path(const struct call *call, const struct registry_subject *subject) {
    const struct path_value *value = &call->values[1];
    int64_t version = LATEST;
    bool latest =
        (value->size == 6 && !memcmp(value->text, "latest", 6)) || (value->size == 2 && !memcmp(value->text, "-1", 2));
    if (!latest && (!text_number(value->text, value->size, INT32_MAX, &version) || version < 1)) {
        send_error(call, BAD_VERSION,
                   "The specified version is not a valid version id. Allowed values are between [1, 2^31-1] and the "
                   "string \"latest\"");
        return NULL;
    }
    const struct event_schema *schema = schema_of(subject, version);
    if (!schema) send_error(call, NO_VERSION, "Version not found.");
    return schema;
}

static const struct event_schema *schema_of_id(const struct call *call) {
    int64_t id;
    const struct path_value *value = &call->values[0];
    const struct event_schema *schema =
        text_number(value->text, value->size, INT32_MAX, &id) ? event_schema_find((uint32_t)id) : NULL;
    if (!schema) send_error(call, NO_SCHEMA, "Schema not found");
    return schema;
}

/* The schema of the body, among the subject's. BODY_BAD: answered. */
enum body_schema { BODY_FOUND, BODY_OTHER, BODY_BAD };
static enum body_schema schema_of_body(const struct call *call, const struct registry_subject *subject,
                                       const struct event_schema **schema) {
    size_t size;
    const char *text, *type = "AVRO";
    const void *body = http_body(call->request, &size);
    // Anybody may ask, and reading is work for the loop: no schema of ours is as large.
    json_t *object = size <= SCHEMA_BODY_MAX ? json_parse_within(body, size, BODY_VALUES_MAX, NULL) : NULL;
    enum body_schema result = BODY_OTHER;
    if (!object || json_want_text(object, "schema", &text, NULL) || !schema_text_valid(text) ||
        json_want_text(object, "schemaType", &type, NULL) == -EINVAL || strcmp(type, "AVRO")) {
        send_error(call, BAD_SCHEMA, "Invalid schema");
        result = BODY_BAD;
    }
    for (int64_t version = 1; result == BODY_OTHER && (*schema = schema_of(subject, version)); version++)
        if (schema_text_same(text, (*schema)->json)) result = BODY_FOUND;
    json_decref(object);
    return result;
}

/* ---- endpoints ---- */

static void get_subjects(void *state, const struct call *call) {
    const struct registry *registry = state;
    struct buffer body = {0};
    for (size_t i = 0; i < registry->count; i++) json_member_text(&body, i ? "," : "[", registry->subjects[i].name);
    buffer_byte(&body, ']');
    send_json(call, 200, &body);
    buffer_free(&body);
}

static void get_versions(void *state, const struct call *call) {
    const struct registry_subject *subject = subject_of(state, call);
    struct buffer body = {0};
    if (!subject) return;
    for (int64_t version = 1; schema_of(subject, version); version++)
        buffer_format(&body, "%s%" PRId64, version > 1 ? "," : "[", version);
    buffer_byte(&body, ']');
    send_json(call, 200, &body);
    buffer_free(&body);
}

static void get_version(void *state, const struct call *call) {
    const struct registry_subject *subject = subject_of(state, call);
    const struct event_schema *schema = subject ? schema_of_path(call, subject) : NULL;
    if (schema) send_version(call, subject, schema);
}

static void get_version_schema(void *state, const struct call *call) {
    const struct registry_subject *subject = subject_of(state, call);
    const struct event_schema *schema = subject ? schema_of_path(call, subject) : NULL;
    if (schema) send_text(call, schema->json);
}

static void post_lookup(void *state, const struct call *call) {
    const struct registry_subject *subject = subject_of(state, call);
    const struct event_schema *schema;
    enum body_schema found = subject ? schema_of_body(call, subject, &schema) : BODY_BAD;
    if (found == BODY_FOUND)
        send_version(call, subject, schema);
    else if (found == BODY_OTHER)
        send_error(call, NO_SCHEMA, "Schema not found");
}

static void post_version(void *state, const struct call *call) {
    const struct registry_subject *subject = subject_of(state, call);
    const struct event_schema *schema;
    enum body_schema found = subject ? schema_of_body(call, subject, &schema) : BODY_BAD;
    struct buffer body = {0};
    if (found == BODY_FOUND) {
        buffer_format(&body, "{\"id\":%" PRIu32 "}", schema->id);
        send_json(call, 200, &body);
    } else if (found == BODY_OTHER) {
        send_error(call, READ_ONLY, "Subject is in read-only mode");
    }
    buffer_free(&body);
}

static void get_schema(void *state, const struct call *call) {
    const struct event_schema *schema = schema_of_id(call);
    struct buffer body = {0};
    if (!schema) return;
    json_member_text(&body, "{\"schema\":", schema->json);
    buffer_byte(&body, '}');
    send_json(call, 200, &body);
    buffer_free(&body);
}

static void get_bare_schema(void *state, const struct call *call) {
    const struct event_schema *schema = schema_of_id(call);
    if (schema) send_text(call, schema->json);
}

static void get_references(void *state, const struct call *call) {
    if (schema_of_id(call)) send_text(call, "[]");
}

/* The subjects of an id; with its version in each, or without. */
static void send_subjects(const struct registry *registry, const struct call *call, bool versions) {
    const struct event_schema *schema = schema_of_id(call);
    struct buffer body = {0};
    if (!schema) return;
    buffer_byte(&body, '[');
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_subject *subject = &registry->subjects[i];
        if (strcmp(subject->record, schema->record)) continue;
        json_member_text(&body, body.size > 1 ? (versions ? ",{\"subject\":" : ",") : (versions ? "{\"subject\":" : ""),
                         subject->name);
        if (versions) buffer_format(&body, ",\"version\":%" PRId64 "}", version_of(schema));
    }
    buffer_byte(&body, ']');
    send_json(call, 200, &body);
    buffer_free(&body);
}

static void get_id_subjects(void *state, const struct call *call) { send_subjects(state, call, false); }
static void get_id_versions(void *state, const struct call *call) { send_subjects(state, call, true); }

static void get_types(void *state, const struct call *call) { send_text(call, "[\"AVRO\"]"); }

/* CONTRIBUTING.md: the next version is readable in both directions of an upgrade. */
static void get_compatibility(void *state, const struct call *call) {
    send_text(call, "{\"compatibilityLevel\":\"FULL\"}");
}

static void get_mode(void *state, const struct call *call) { send_text(call, "{\"mode\":\"READONLY\"}"); }

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/registry/subjects", get_subjects, NEEDS_NOTHING},
    {"POST", "/registry/subjects/{subject:text}", post_lookup, NEEDS_NOTHING},
    {"GET", "/registry/subjects/{subject:text}/versions", get_versions, NEEDS_NOTHING},
    {"POST", "/registry/subjects/{subject:text}/versions", post_version, NEEDS_NOTHING},
    {"GET", "/registry/subjects/{subject:text}/versions/{version:text}", get_version, NEEDS_NOTHING},
    {"GET", "/registry/subjects/{subject:text}/versions/{version:text}/schema", get_version_schema, NEEDS_NOTHING},
    {"GET", "/registry/schemas/ids/{number:text}", get_schema, NEEDS_NOTHING},
    {"GET", "/registry/schemas/ids/{number:text}/schema", get_bare_schema, NEEDS_NOTHING},
    {"GET", "/registry/schemas/ids/{number:text}/subjects", get_id_subjects, NEEDS_NOTHING},
    {"GET", "/registry/schemas/ids/{number:text}/versions", get_id_versions, NEEDS_NOTHING},
    {"GET", "/registry/apis/registry/v2/ids/contentIds/{number:text}", get_bare_schema, NEEDS_NOTHING},
    {"GET", "/registry/apis/registry/v2/ids/contentIds/{number:text}/references", get_references, NEEDS_NOTHING},
    {"GET", "/registry/schemas/types", get_types, NEEDS_NOTHING},
    {"GET", "/registry/config", get_compatibility, NEEDS_NOTHING},
    {"GET", "/registry/config/{subject:text}", get_compatibility, NEEDS_NOTHING},
    {"GET", "/registry/mode", get_mode, NEEDS_NOTHING},
    {"GET", "/registry/mode/{subject:text}", get_mode, NEEDS_NOTHING},
};
const struct endpoint_list REGISTRY_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};

#include "ingest/registry_sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/schema_text.h"
#include "json/json.h"
#include "service/http_client.h"

enum { TIMEOUT_MS = 10000, AGAIN_MS = 5000, OK = 200, NOT_FOUND = 404, BAD_METHOD = 405, TOLD_MAX = 200 };

enum sync_step { STEP_LOOK, STEP_IMPORT, STEP_REGISTER, STEP_RESTORE, STEP_MODE };

struct registry_sync {
    struct service *service;
    const struct registry *registry;
    char *url; /* without / at its end */
    struct http_client *client;
    struct loop_timer *again;
    enum sync_step step;
    size_t subject; /* the one at hand */
    int64_t version;
    size_t registered;
    bool refused;     /* the schema at hand was; its subject gets its mode back before that is tried again */
    bool was_left_so; /* all of the subject is there, but its mode is IMPORT still */
};

static void begin_step(struct registry_sync *sync);

static struct registry_entry entry_of(const struct registry_sync *sync) {
    return registry_entry(sync->registry, sync->subject, sync->version);
}

/* ---- what the registry says ---- */

static void complain(struct registry_sync *sync, const char *event, unsigned status, const char *text, size_t size) {
    const struct registry_entry entry = entry_of(sync);
    const char *message = NULL;
    char plain[TOLD_MAX + 1];
    json_t *reply = size ? json_parse(text, size, NULL) : NULL;
    if (reply) json_want_text(reply, "message", &message, NULL);
    if (!message) {
        snprintf(plain, sizeof plain, "%.*s", size < TOLD_MAX ? (int)size : TOLD_MAX, size ? text : "");
        message = *plain ? plain : "no answer";
    }
    log_warn(service_log(sync->service), event, LOG_TEXT("subject", entry.subject), LOG_INT("version", sync->version),
             LOG_INT("id", entry.schema->id), LOG_INT("status", status), LOG_TEXT("registry_says", message));
    json_decref(reply);
}

/* Looks at the schema at hand once more, later. */
static void look_later(struct registry_sync *sync) {
    sync->refused = sync->was_left_so = false;
    sync->step = STEP_LOOK;
    loop_timer_again(sync->again, AGAIN_MS, 0);
}

static void go(struct registry_sync *sync, enum sync_step step) {
    sync->step = step;
    begin_step(sync);
}

static void next_subject(struct registry_sync *sync) {
    sync->was_left_so = false;
    sync->version = 1;
    do sync->subject++;
    while (entry_of(sync).subject && !entry_of(sync).of_topic);
    if (entry_of(sync).subject) {
        go(sync, STEP_LOOK);
        return;
    }
    log_info(service_log(sync->service), "the schema registry has all schemas",
             LOG_INT("registered", (int64_t)sync->registered));
    service_ready(sync->service, "registry", true);
}

/* The schema at hand is there. */
static void next_entry(struct registry_sync *sync) {
    bool last = !registry_entry(sync->registry, sync->subject, sync->version + 1).schema;
    sync->version += !last;
    go(sync, last ? STEP_MODE : STEP_LOOK);
}

static void compare(struct registry_sync *sync, const char *text, size_t size) {
    const struct registry_entry entry = entry_of(sync);
    const char *schema = NULL;
    int64_t id = -1;
    json_t *reply = json_parse(text, size, NULL);
    if (reply) json_want_text(reply, "schema", &schema, NULL);
    if (reply) json_want_int(reply, "id", 0, INT32_MAX, &id, NULL);
    bool same = schema && id == (int64_t)entry.schema->id && schema_text_same(schema, entry.schema->json);
    json_decref(reply);
    if (same) {
        next_entry(sync);
        return;
    }
    complain(sync, "the schema registry has another schema or another id: give starling a registry of its own", OK,
             text, size);
    look_later(sync);
}

static void looked(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    if (status == OK) {
        compare(sync, text, size);
    } else if (status == NOT_FOUND) {
        go(sync, STEP_IMPORT);
    } else {
        complain(sync, "the schema registry cannot be asked", status, text, size);
        look_later(sync);
    }
}

static void registered(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    sync->refused = status != OK;
    sync->registered += status == OK;
    if (sync->refused) complain(sync, "the schema registry refuses a schema", status, text, size);
    go(sync, STEP_RESTORE);
}

/* A gateway that ended before it gave a subject its mode back has left it in IMPORT, where nobody else can register anything. */
static void mode_told(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    const char *mode = "";
    if (status != OK && status != NOT_FOUND) {
        complain(sync, "the schema registry does not tell a subject's mode", status, text, size);
        look_later(sync);
        return;
    }
    json_t *reply = status == OK ? json_parse(text, size, NULL) : NULL; // not found: the mode of all
    if (reply) json_want_text(reply, "mode", &mode, NULL);
    sync->was_left_so = strcmp(mode, "IMPORT") == 0;
    json_decref(reply);
    if (sync->was_left_so)
        go(sync, STEP_RESTORE);
    else
        next_subject(sync);
}

static void restored(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    if (status != OK) complain(sync, "the schema registry keeps a subject in mode IMPORT", status, text, size);
    if (status != OK || sync->refused)
        look_later(sync);
    else if (sync->was_left_so)
        next_subject(sync);
    else
        next_entry(sync);
}

static void step_done(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    bool good = status == OK;
    switch (sync->step) {
    case STEP_LOOK: looked(sync, status, text, size); return;
    case STEP_REGISTER: registered(sync, status, text, size); return;
    case STEP_IMPORT:
        if (good) {
            go(sync, STEP_REGISTER);
            return;
        }
        complain(sync,
                 status == NOT_FOUND || status == BAD_METHOD
                     ? "the schema registry has no mode IMPORT: its topic must be loaded (docs/OPERATIONS.md, Schemas)"
                     : "the schema registry takes no schemas with ids (mode IMPORT)",
                 status, text, size);
        look_later(sync);
        return;
    case STEP_RESTORE: restored(sync, status, text, size); return;
    case STEP_MODE: mode_told(sync, status, text, size); return;
    }
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct registry_sync *sync = context;
    if (!sync->client) return; /* it is being freed */
    step_done(sync, code ? 0 : status, text, code ? 0 : size);
}

/* ---- questions ---- */

static void put_mode(struct registry_sync *sync, const char *path, const char *mode) {
    struct buffer body = {0};
    char *url = mem_format("%s/mode/%s?force=true", sync->url, path);
    buffer_format(&body, "{\"mode\":\"%s\"}", mode);
    http_fetch(sync->client, "PUT", url, NULL, &body, TIMEOUT_MS, answered, sync);
    buffer_free(&body);
    free(url);
}

static void begin_step(struct registry_sync *sync) {
    const struct registry_entry entry = entry_of(sync);
    struct buffer body = {0};
    char *url = NULL;
    switch (sync->step) {
    case STEP_LOOK:
        url = mem_format("%s/subjects/%s/versions/%" PRId64, sync->url, entry.subject, sync->version);
        http_fetch(sync->client, "GET", url, NULL, NULL, TIMEOUT_MS, answered, sync);
        break;
    case STEP_IMPORT: put_mode(sync, entry.subject, "IMPORT"); break;
    case STEP_REGISTER:
        url = mem_format("%s/subjects/%s/versions", sync->url, entry.subject);
        buffer_format(&body, "{\"id\":%" PRIu32 ",\"version\":%" PRId64 ",\"schema\":", entry.schema->id,
                      sync->version);
        json_put_text(&body, entry.schema->json, strlen(entry.schema->json));
        buffer_byte(&body, '}');
        http_fetch(sync->client, "POST", url, NULL, &body, TIMEOUT_MS, answered, sync);
        break;
    case STEP_RESTORE: put_mode(sync, entry.subject, "READWRITE"); break;
    case STEP_MODE:
        url = mem_format("%s/mode/%s", sync->url, entry.subject);
        http_fetch(sync->client, "GET", url, NULL, NULL, TIMEOUT_MS, answered, sync);
        break;
    }
    buffer_free(&body);
    free(url);
}

static void try_again(void *context) { begin_step(context); }

struct registry_sync *registry_sync_new(struct service *service, const char *url, const struct registry *registry) {
    struct registry_sync *sync = mem_alloc(sizeof *sync);
    *sync = (struct registry_sync){
        .service = service,
        .registry = registry,
        .url = mem_string(url),
        .client = http_client_new(service_loop(service)),
        .again = loop_timer_new(service_loop(service), 1, 0, try_again, sync),
        .version = 1,
    };
    size_t size = strlen(sync->url);
    while (size && sync->url[size - 1] == '/') sync->url[--size] = '\0';
    while (entry_of(sync).subject && !entry_of(sync).of_topic) sync->subject++;
    return sync;
}

void registry_sync_free(struct registry_sync *sync) {
    if (!sync) return;
    struct http_client *client = sync->client;
    sync->client = NULL;
    http_client_free(client);
    loop_timer_free(sync->again);
    free(sync->url);
    free(sync);
}

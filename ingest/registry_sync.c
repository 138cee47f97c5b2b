#include "ingest/registry_sync.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/schema_text.h"
#include "json/json.h"
#include "service/http_client.h"

enum { TIMEOUT_MS = 10000, AGAIN_MS = 5000, NOT_FOUND = 404 };

enum sync_step { STEP_LOOK, STEP_IMPORT, STEP_REGISTER, STEP_RESTORE };

struct registry_sync {
    struct registry_sync_options options;
    char *url; /* without / at its end */
    struct http_client *client;
    struct loop_timer *again;
    enum sync_step step;
    size_t subject; /* the one at hand */
    int64_t version;
    size_t registered;
    bool
        refused; /* the registry refused the schema at hand; its subject gets its mode back before that is tried again */
};

static void begin_step(struct registry_sync *sync);

static struct registry_entry entry_of(const struct registry_sync *sync) {
    return registry_entry(sync->options.registry, sync->subject, sync->version);
}

/* ---- what the registry says ---- */

static void complain(struct registry_sync *sync, const char *event, unsigned status, const char *text, size_t size) {
    const struct registry_entry entry = entry_of(sync);
    const char *message = "no answer";
    json_t *reply = size ? json_parse(text, size, NULL) : NULL;
    if (reply) json_want_text(reply, "message", &message, NULL);
    log_warn(sync->options.log, event, LOG_TEXT("subject", entry.subject), LOG_INT("version", sync->version),
             LOG_INT("id", entry.schema->id), LOG_INT("status", status), LOG_TEXT("registry_says", message));
    json_decref(reply);
}

/* Looks at the schema at hand once more, later. */
static void look_later(struct registry_sync *sync) {
    sync->refused = false;
    sync->step = STEP_LOOK;
    loop_timer_again(sync->again, AGAIN_MS, 0);
}

static void go(struct registry_sync *sync, enum sync_step step) {
    sync->step = step;
    begin_step(sync);
}

static void next_entry(struct registry_sync *sync) {
    sync->step = STEP_LOOK;
    sync->version++;
    if (!entry_of(sync).schema) {
        sync->version = 1;
        do sync->subject++;
        while (entry_of(sync).subject && !entry_of(sync).of_topic);
    }
    if (entry_of(sync).subject) {
        begin_step(sync);
        return;
    }
    log_info(sync->options.log, "the schema registry has all schemas",
             LOG_INT("registered", (int64_t)sync->registered));
    sync->options.on_ready(sync->options.context);
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
    complain(sync, "the schema registry has another schema or another id: give starling a registry of its own", 200,
             text, size);
    look_later(sync);
}

static void looked(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    if (status == 200) {
        compare(sync, text, size);
    } else if (status == NOT_FOUND) {
        go(sync, STEP_IMPORT);
    } else {
        complain(sync, "the schema registry cannot be asked", status, text, size);
        look_later(sync);
    }
}

static void registered(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    sync->refused = status != 200;
    sync->registered += status == 200;
    if (sync->refused) complain(sync, "the schema registry refuses a schema", status, text, size);
    go(sync, STEP_RESTORE);
}

static void step_done(struct registry_sync *sync, unsigned status, const char *text, size_t size) {
    bool good = status == 200;
    switch (sync->step) {
    case STEP_LOOK: looked(sync, status, text, size); return;
    case STEP_REGISTER: registered(sync, status, text, size); return;
    case STEP_IMPORT:
        if (good) {
            go(sync, STEP_REGISTER);
            return;
        }
        complain(sync, "the schema registry takes no schemas with ids (mode IMPORT)", status, text, size);
        look_later(sync);
        return;
    case STEP_RESTORE:
        if (!good) complain(sync, "the schema registry keeps a subject in mode IMPORT", status, text, size);
        if (good && !sync->refused)
            next_entry(sync);
        else
            look_later(sync);
        return;
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
    }
    buffer_free(&body);
    free(url);
}

static void try_again(void *context) { begin_step(context); }

struct registry_sync *registry_sync_new(const struct registry_sync_options *options) {
    struct registry_sync *sync = mem_alloc(sizeof *sync);
    *sync = (struct registry_sync){
        .options = *options,
        .url = mem_string(options->url),
        .client = http_client_new(options->loop),
        .again = loop_timer_new(options->loop, 1, 0, try_again, sync),
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

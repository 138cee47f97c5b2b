#include "fanout/devices/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/codec.h"

enum { SLICE = 500, BEATS_MISSED = 2, NO_RUN = -1 };

/* ---- lists ---- */

static void put(struct device_session **list, struct device_session *session) {
    session->next = *list;
    session->link = list;
    if (session->next) session->next->link = &session->next;
    *list = session;
}

static void take(struct device_session *session) {
    *session->link = session->next;
    if (session->next) session->next->link = session->link;
}

/* ---- records ---- */

/* A beat goes to a partition, all else by its key. name NULL: a tombstone. */
static bool write_record(struct device_rows *rows, int32_t partition, const struct device_key *key, const char *name,
                         int64_t since) {
    uint8_t bytes[DEVICE_KEY_MAX];
    const struct device_rows_options *options = &rows->options;
    size_t size = device_key_write(bytes, key);
    buffer_clear(&rows->value);
    if (name) event_encode_device(&rows->value, &(struct device){.name = {name, strlen(name)}, .since = since});
    return !options->send(options->context, partition, bytes, size, name ? rows->value.data : NULL, rows->value.size,
                          key->user < 0);
}

static struct device_key key_of(const struct device_session *session, int64_t run) {
    return (struct device_key){.user = session->user, .run = run, .session = session->session};
}

/* ---- sessions ---- */

bool device_rows_write(struct device_rows *rows) {
    struct device_session *session;
    for (int i = 0; i < SLICE && (session = rows->waiting); i++) {
        struct device_key key = key_of(session, rows->run);
        if (!write_record(rows, -1, &key, session->name ? session->name : "", session->since)) break;
        session->run = rows->run;
        take(session);
        put(&rows->written, session);
    }
    return rows->waiting != NULL;
}

void device_rows_add(struct device_rows *rows, struct device_session *session, int64_t user, int64_t number,
                     const char *name, int64_t wall_ms) {
    *session = (struct device_session){
        .user = user, .session = number, .since = wall_ms, .run = NO_RUN, .name = name ? mem_string(name) : NULL};
    put(&rows->waiting, session);
}

void device_rows_remove(struct device_rows *rows, struct device_session *session) {
    if (!session->link) return;
    struct device_key key = key_of(session, session->run);
    if (session->run != NO_RUN && !write_record(rows, -1, &key, NULL, 0)) rows->lost = true;
    take(session);
    free(session->name);
    *session = (struct device_session){.next = NULL};
}

/* ---- runs ---- */

static void begin_run(struct device_rows *rows, int64_t now_ms, int64_t wall_ms) {
    rows->run = chance_id(&rows->chance);
    rows->began_ms = wall_ms;
    rows->heard_ms = now_ms;
    rows->lost = false;
    for (struct device_session *session; (session = rows->written);) {
        take(session);
        put(&rows->waiting, session);
    }
}

static void beat(struct device_rows *rows) {
    const struct device_key key = {.user = -1, .run = rows->run};
    for (int32_t p = 0; p < rows->options.partitions; p++)
        if (!write_record(rows, p, &key, "", rows->began_ms)) return; // the next one comes soon enough
}

/* Without a broker a new run would fill the producer's queue with rows, and be lost like the one before. */
void device_rows_beat(struct device_rows *rows, int64_t now_ms, int64_t wall_ms) {
    bool silent = now_ms - rows->heard_ms > BEATS_MISSED * rows->options.beat_ms;
    if ((rows->lost || silent) && rows->options.up(rows->options.context)) begin_run(rows, now_ms, wall_ms);
    beat(rows);
}

void device_rows_told(struct device_rows *rows, bool beat, int code, int64_t now_ms) {
    if (code)
        rows->lost |= !beat;
    else if (beat)
        rows->heard_ms = now_ms;
}

void device_rows_init(struct device_rows *rows, const struct device_rows_options *options, int64_t now_ms,
                      int64_t wall_ms) {
    *rows = (struct device_rows){.options = *options, .chance = chance_new()};
    begin_run(rows, now_ms, wall_ms);
    beat(rows);
}

void device_rows_free(struct device_rows *rows) { buffer_free(&rows->value); }

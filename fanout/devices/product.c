/* The sessions of users, so that each can see where they are signed in, and end one of them:
 *
 *     hello, end of a session ----> rows.c ----> devices ----> the user's feed process ----> GET /v1/devices
 *     4001 <---- device-ends <---- DELETE /v1/devices/{id}
 *
 * Every edge reads all of device-ends, and all that is kept of it from its start on: a session's number never comes again.
 */
#include "fanout/screens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "copies/copies.h"
#include "event/topics.h"
#include "fanout/devices/rows.h"
#include "fanout/sessions.h"
#include "users/user_key.h"
#include "ws/ws.h"

struct devices_screen_settings {
    int64_t beat_s;
};

#define AT(member) offsetof(struct devices_screen_settings, member)

static const struct config_property PROPERTIES[] = {
    {"edge.devices.beat.s", CONFIG_INT, AT(beat_s), "60", .min = 1, .max = 3600,
     .doc = "How often (s) an edge says that it still has its sessions; see devices.silent.s of the feed."},
};

static struct devices_screen_settings configured;

const struct config_section DEVICES_SCREEN_SECTION = {"Edge: devices (starling-fanout)", PROPERTIES,
                                                      ARRAY_SIZE(PROPERTIES), &configured};

enum { WRITE_MS = 20, SECOND_MS = 1000 };

struct devices_screen {
    struct screen_options core;
    struct codec *codec;
    struct copies *ends;
    struct device_rows rows;
    struct loop_timer *beat, *write; /* write: runs while rows wait */
};

static struct device_session *part_of(const struct devices_screen *product, const struct session *session) {
    return session_part(session, product->core.offset);
}

/* ---- rows ---- */

static bool broker_up(void *context) {
    const struct devices_screen *product = context;
    return kafka_producer_up(product->core.producer);
}

/* The opaque says whether it is a beat. */
static int send_row(void *context, int32_t partition, const void *key, size_t key_size, const void *value, size_t size,
                    bool beat) {
    struct devices_screen *product = context;
    return kafka_producer_send(product->core.producer, &TOPIC_DEVICES,
                               partition < 0 ? KAFKA_PARTITION_BY_KEY : partition, key, key_size, value, size,
                               (void *)(uintptr_t)beat);
}

static void produced(void *context, void *opaque, int code, const struct topic *topic) {
    struct devices_screen *product = context;
    if (topic == &TOPIC_DEVICES) device_rows_told(&product->rows, opaque != NULL, code, clock_coarse_ms());
}

static void write_rows(void *context) {
    struct devices_screen *product = context;
    if (device_rows_write(&product->rows)) loop_timer_again(product->write, WRITE_MS, 0);
}

static void beat(void *context) {
    struct devices_screen *product = context;
    device_rows_beat(&product->rows, clock_coarse_ms(), clock_wall_ms());
    write_rows(product);
}

/* ---- phones ---- */

/* *name NULL: the hello says none. */
static int read_name(const json_t *hello, const char **name, struct error *error) {
    *name = NULL;
    if (!json_given(hello, "device")) return 0;
    if (json_want_text(hello, "device", name, error)) return -EINVAL;
    if (device_name_is(*name, strlen(*name))) return 0;
    return error_set(error, -EINVAL, "device must be 1 to %d bytes of text without control characters",
                     DEVICE_NAME_MAX);
}

static int check(const json_t *hello, const char **code, struct error *error) {
    const char *name;
    *code = "bad_device";
    return read_name(hello, &name, error);
}

/* The first hello of a session counts. */
static void hello(void *context, struct session *session, const json_t *message) {
    struct devices_screen *product = context;
    struct device_session *part = part_of(product, session);
    const char *name;
    struct error error;
    if (part->link || read_name(message, &name, &error)) return;
    device_rows_add(&product->rows, part, session_user(session), session_number(session), name, clock_wall_ms());
    write_rows(product);
}

static void leave(void *context, struct session *session) {
    struct devices_screen *product = context;
    device_rows_remove(&product->rows, part_of(product, session));
}

static struct screen_filled fill(void *context, struct session *session, struct buffer *frame) {
    return (struct screen_filled){.frame = false};
}

/* ---- ends ---- */

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct devices_screen *product = context;
    struct device_end end;
    int64_t user;
    if (!record->value) return error_set(error, -EBADMSG, "an end has a value");
    if (user_key_read(record, &user, error)) return -EBADMSG;
    if (event_decode_device_end(product->codec, record->value, record->value_size, &end, error)) return -EBADMSG;
    struct session *session = sessions_of(product->core.sessions, user);
    while (session && session_number(session) != end.session) session = session_twin(session);
    if (session && !session_leaving(session)) session_leave(product->core.sessions, session, WS_ENDED, "ended", -1);
    return 0;
}

/* Some ends were deleted before they were read: they were too old in any case. */
static void forget(void *context) {}

static int read_ends(struct devices_screen *product, struct error *error) {
    struct service *service = product->core.service;
    return copies_new(
        &(struct copies_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .partitions = product->core.shape->partitions[TOPIC_SPACE_USERS],
            .definitions =
                &(struct copy_definition){
                    .topic = &TOPIC_DEVICE_ENDS, .context = product, .apply = apply, .forget = forget},
            .count = 1,
            .log = service_log(service),
            .metrics = service_metrics(service),
            .dead_letters = product->core.producer,
            .context = product,
        },
        &product->ends, error);
}

/* ---- the screen's own ---- */

static void stop(void *context) {
    struct devices_screen *product = context;
    if (!product) return;
    copies_free(product->ends);
    loop_timer_free(product->beat);
    loop_timer_free(product->write);
    device_rows_free(&product->rows);
    codec_free(product->codec);
    free(product);
}

static int start(const struct screen_options *options, void **made, struct error *error) {
    struct devices_screen *product = MEM_NEW(&(struct devices_screen){.core = *options, .codec = codec_new()});
    uv_loop_t *loop = service_loop(options->service);
    int64_t beat_ms = configured.beat_s * SECOND_MS;
    int code = read_ends(product, error);
    if (code) {
        stop(product);
        return code;
    }
    device_rows_init(&product->rows,
                     &(struct device_rows_options){.partitions = options->shape->partitions[TOPIC_SPACE_USERS],
                                                   .beat_ms = beat_ms,
                                                   .context = product,
                                                   .up = broker_up,
                                                   .send = send_row},
                     clock_coarse_ms(), clock_wall_ms());
    product->beat = loop_timer_new(loop, beat_ms, beat_ms, beat, product);
    product->write = loop_timer_new(loop, WRITE_MS, 0, write_rows, product);
    *made = product;
    return 0;
}

const struct screen DEVICES_SCREEN = {
    .name = "devices",
    .kind = SCREEN_UNTOLD,
    .session_bytes = sizeof(struct device_session),
    .start = start,
    .stop = stop,
    .check = check,
    .hello = hello,
    .produced = produced,
    .fill = fill,
    .leave = leave,
    .free = leave,
};

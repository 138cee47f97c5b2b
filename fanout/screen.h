/* A screen is one of the things that a phone shows: a table of callbacks, and memory of its own in each session. The core
 * (everything in this folder) carries phones and sessions and knows no screen; screens.c lists those that there are.
 *
 *     phone --- hello, message --->  core  --- hello, message --->  screen ---> Kafka
 *           <------- frames -------        <---- owe, fill -------         <--- delivery --- core <--- deliveries
 *
 *     a session's memory   | core | nearby | a second screen | ...     zeroed when the session begins
 *
 * A screen keeps state, not frames. When it has something new for a phone it calls session_owe (sessions.h). The core calls fill
 * when the phone was quiet for the flush window and can take a frame, and only then a frame is built.
 *
 * `product` is what start made, one a process. Callbacks may be NULL, but for start, stop, fill and free. The loop's thread calls
 * all of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "deliver/envelope.h"
#include "event/delivery.h"
#include "event/codec.h"
#include "fanout/clock.h"
#include "fanout/settings.h"
#include "json/json.h"
#include "kafka/producer.h"
#include "service/service.h"
#include "users/mutes.h"
#include "watch/watch.h"

struct session;
struct sessions;

/* The kind of an envelope says which screen its item is for. A screen names its own kind; an item of no screen's kind is skipped. */
enum screen_kind {
    SCREEN_NEARBY = DELIVERY_NEARBY,
    SCREEN_FEED = WATCH_DELIVERY_KIND,
    SCREEN_COMMENTS = DELIVERY_COMMENTS,
    SCREEN_UNTOLD = -1 /* no delivery is for this one */
};

struct screen_options { /* what a product may use; all of it outlives the product */
    struct service *service;
    const struct fanout_settings *settings;
    const struct protocol_clock *clock;
    const struct topics_shape *shape;
    struct sharing_modes *modes;
    struct profiles *profiles;
    struct mutes *mutes;
    struct kafka_producer *producer;
    int64_t linger_ms; /* of the producer */
    struct sessions *sessions;
    size_t offset;  /* of the screen's memory in a session, in bytes: session_part */
    unsigned place; /* the screen's number, for session_owe and session_tell */
};

struct screen_filled {
    bool frame;     /* there is a frame to send; else nothing was written */
    bool more;      /* something is still owed: it goes out after another flush window */
    bool again;     /* there is another frame, which goes out at once if the phone takes it */
    size_t entries; /* in the frame, for the metrics */
};

enum screen_ahead { SCREEN_NEXT = 1, SCREEN_SECOND, SCREEN_THIRD }; /* how soon a session is filled */

struct screen {
    const char *name;
    enum screen_kind kind;
    size_t session_bytes;

    int (*start)(const struct screen_options *options, void **product, struct error *error);
    void (*stop)(void *product); /* after the last session was freed; NULL and half-built are fine */

    /* Phones. check: whether a hello is good, before anything is done about it: 0, or -EINVAL with *code the error's name for the
     * phone. hello: the token was good; for a later hello of the session, too. message: 0, -ENOENT when the type is not one of this
     * screen's, -EINVAL as check. */
    int (*check)(const json_t *hello, const char **code, struct error *error);
    void (*hello)(void *product, struct session *session, const json_t *hello);
    int (*message)(void *product, struct session *session, const char *type, const json_t *message, const char **code,
                   struct error *error);

    /* Kafka. An item of the screen's kind came by that route; the screen finds out which sessions it is for. -EBADMSG: it
     * cannot be read, and is left out. produced: the fate of
     * a record that the screen gave the producer (others' are told, too: look at the topic). */
    int (*delivery)(void *product, int32_t route, const struct deliver_envelope *envelope);
    void (*produced)(void *product, void *opaque, int code, const struct topic *topic);
    void (*sharing)(void *product, int64_t user, enum sharing_mode mode);
    void (*profile)(void *product, int64_t user);
    void (*muted)(void *product, int64_t user, int64_t other, bool muted); /* users/mutes.h */
    /* The routes of this process have changed, or are read anew. first: one of them, which stays the same while the process has it;
     * -1: the process has none. */
    void (*routes)(void *product, int32_t first);

    /* Frames. fill starts the frame (ws_frame_start) and writes what the phone is to be told; what it tells counts as told. fetch:
     * the session is filled soon; has the processor fetch what fill will look at. */
    struct screen_filled (*fill)(void *product, struct session *session, struct buffer *frame);
    void (*fetch)(void *product, const struct session *session, enum screen_ahead ahead);

    /* Time. deadline: when due must be called at the latest (clock_coarse_ms; INT64_MAX: never); due may be called sooner.
     * expire: the protocol's clock has moved on. */
    int64_t (*deadline)(const void *product, const struct session *session);
    void (*due)(void *product, struct session *session);
    void (*expire)(void *product);

    /* The session's life. routed: it has another route. leave: the edge is about to close it. closed: its connection is gone.
     * free: it is about to be freed, whether its connection is gone or not. */
    void (*routed)(void *product, struct session *session);
    void (*leave)(void *product, struct session *session);
    void (*closed)(void *product, struct session *session);
    void (*free)(void *product, struct session *session);
};

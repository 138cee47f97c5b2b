/* The parts of sessions.h share this: sessions.c (the table, deadlines, a session's life) and sessions_flush.c (frames out). */
#pragma once

#include "base/pool.h"
#include "budget/held.h"
#include "budget/rates.h"
#include "fanout/frames.h"
#include "fanout/sessions.h"
#include "fanout/wheel.h"

enum { SESSIONS_LINE = 64 /* bytes that a processor fetches at once */ };
#define UNSENT_TOO_MANY UINT32_MAX

struct sessions {
    struct sessions_options options;
    struct pool *memory;
    size_t offsets[SCREENS_MAX]; /* of the screens' parts, from struct session on */
    size_t bytes;                /* of them and struct session together */
    struct session *first;
    struct map *users; /* user -> first of its sessions */
    size_t count;
    struct session *waiting, *waiting_last; /* not greeted */
    struct held *by_user, *by_network;
    int64_t last_number;   /* that was given out */
    struct rates *hellos;  /* by user */
    struct held *unread;   /* bytes of frames and posts, by user */
    struct session *ready; /* owing and quiet: flushed at the end of the batch */
    struct session **ready_tail;
    struct wheel deadlines;
    struct loop_idle *flusher;
    struct buffer frame;
    struct {
        struct metric *sessions, *hellos, *frames, *entries, *bytes, *slow, *errors;
    } metrics;
};

/* The part of a session that only this file looks at. */
struct rest {
    struct session *next, **link; /* sessions->first */
    union {
        struct { /* once it is a user's */
            int64_t user;
            struct session *twin_before; /* NULL: it is the user's newest */
            int64_t token_expires_ms;    /* clock_coarse_ms, as all times here; 0: none */
        };
        struct { /* while it waits for its hello */
            struct session *older, *newer;
            int64_t opened_ms;
        };
    };
    struct talk talk;
    int64_t number; /* 0: not greeted */
    uint32_t key;   /* of its token */
    uint32_t
        unsent; /* bytes of frames that the budget counts; UNSENT_TOO_MANY: it had no room, and the session is closed soon */

    /* A flush looks at these. */
    _Alignas(SESSIONS_LINE) struct session *ready_next;
    struct session **ready_link; /* sessions->ready, while it waits to be flushed */
    struct ws_connection *connection;
    struct wheel_timer deadline; /* the nearest of all times */
    int64_t flushed_ms;
    int64_t slow_since_ms;

    _Alignas(SESSIONS_LINE) struct session head; /* the screens' parts lie right behind it */
};

_Static_assert(offsetof(struct rest, head) + sizeof(struct session) == SESSION_BYTES, "as the header says");

static inline struct rest *rest_of(const struct session *session) {
    return (struct rest *)((uintptr_t)session - offsetof(struct rest, head));
}

/* Something is owed, and the phone takes it. */
static inline bool owes(const struct session *session) {
    return session->owing && !session->leaving && !rest_of(session)->slow_since_ms;
}

static inline int64_t flush_due(const struct sessions *sessions, const struct rest *rest) {
    return rest->flushed_ms + sessions->options.settings->flush_ms;
}

/* The session is flushed at the end of the batch, or not any more. */
void session_ready_add(struct sessions *sessions, struct session *session);
void session_ready_remove(struct sessions *sessions, struct session *session);
void sessions_flush_more(void *context); /* the flusher: the rest of the batch */

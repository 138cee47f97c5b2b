/* The sessions of an edge: the table of them, their deadlines, and the frames that they are sent.
 *
 * A session is a phone on its socket. It has no user until its hello was good (greeted); then it also has a number, which no other session
 * has, at whichever edge. A user may have several.
 *
 *     its memory    | sessions.c's own | struct session | first screen's part | second screen's ...
 *                   ^ cache line         ^ cache line: what each delivery looks at; so screens that are not open have their parts, too
 *
 *     users         user ---> session ---> session (session_twin)      newest first
 *     all           session ---> session ---> ...                      newest first
 *     waiting       session ---> session ---> ...                      those without a hello, oldest first
 *     ready         sessions that are flushed at the end of the batch
 *
 * A session that owes its phone something is flushed when edge.flush.window.ms have passed since its last frame, and at once if
 * they have passed already. A phone that does not take frames is slow: nothing is built for it until it takes them again, and it is
 * closed after edge.slow.close.s.
 *
 * Users and networks have budgets of sessions. One that leaves does not count any more, though it may take seconds to go.
 *
 * Loop's thread. Nothing here is called back by lib/ws before it returns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/map.h"
#include "base/metrics.h"
#include "fanout/screen_set.h"
#include "fanout/settings.h"
#include "fanout/talk.h"
#include "service/auth.h"
#include "trace/tracer.h"
#include "ws/ws.h"

enum { ROUTE_NONE = -1 };
enum { SESSION_BYTES = 144 }; /* of a session, without its screens' parts */

struct session { /* what deliveries look at; read by the functions below, written by sessions.c */
    struct session *twin;
    int32_t route;
    bool greeted, leaving;
    uint8_t owing; /* a bit a screen: it has something to tell, and the flush is on its way or waits for a slow phone */
};

struct sessions;

struct sessions_options {
    uv_loop_t *loop;
    struct metrics *metrics;
    const struct fanout_settings *settings; /* outlive the sessions, as do the screens */
    const struct screen_set *screens;       /* products may come later, but before the first session */
    void *context;
    void (*refused)(void *context, const char *reason,
                    uint64_t network); /* of one that leaves with 1008 or 1013; NULL: not wanted */
    struct tracer *tracer;             /* the frame that a traced delivery leads to ends its trace; NULL: none does */
};

struct sessions *sessions_new(const struct sessions_options *options);
void sessions_free(struct sessions *sessions);     /* after sessions_free_all; NULL is fine */
void sessions_free_all(struct sessions *sessions); /* while the screens' products are there */

size_t sessions_count(const struct sessions *sessions);
struct tracer *sessions_tracer(const struct sessions *sessions);       /* NULL: nothing is traced */
size_t sessions_offset(const struct sessions *sessions, size_t place); /* of a screen's part: for session_part */
void sessions_tick(struct sessions *sessions);                         /* deadlines that have passed */

/* connection: NULL for a session that is never sent anything. NULL: its network has too many. */
struct session *session_new(struct sessions *sessions, struct ws_connection *connection);
void session_free(struct sessions *sessions, struct session *session);

/* From now on it is the user's, on that route (sessions_of finds it). False: the user has, or begins, too many. */
bool session_greet(struct sessions *sessions, struct session *session, int64_t user, int32_t route);
/* Its token, once it is a user's: until when it is good (monotonic), and its key (auth_has_key). */
void session_renew(struct sessions *sessions, struct session *session, int64_t expires_ms, uint32_t key);
/* Closes those whose token's key does not count any more. */
void sessions_check_keys(struct sessions *sessions, const struct auth *auth);
void session_reroute(struct sessions *sessions, struct session *session, int32_t route);
/* Closes it; reconnect_ms < 0: it is not told when to come back. */
void session_leave(struct sessions *sessions, struct session *session, int code, const char *reason,
                   int64_t reconnect_ms);
/* The session that has waited for its hello for the longest, and for a moment at least; NULL: no session has. */
struct session *sessions_waiting(const struct sessions *sessions);
void session_closed(struct sessions *sessions, struct session *session);   /* its connection is gone: frees it */
void session_writable(struct sessions *sessions, struct session *session); /* the phone takes frames again */
void session_schedule(struct sessions *sessions,
                      struct session *session); /* a screen's deadline may have come nearer */

/* Counts bytes that are held for a greeted phone until it reads: `before` were counted, and now so many are. False: that is too much, of
 * its user or of all, and none are counted any more. */
bool session_hold(struct sessions *sessions, const struct session *session, size_t before, size_t now);

/* The screen of that place has something to tell: after the flush window. Inside of fill, say `more` instead. */
void session_owe(struct sessions *sessions, struct session *session, unsigned place);
/* The same, at once: an answer that the phone waits for. */
void session_tell(struct sessions *sessions, struct session *session, unsigned place);
void sessions_flush_ready(struct sessions *sessions); /* at the end of a batch of changes */
/* An item of a traced delivery was for that user and was applied: the next frame of that screen ends the trace, if it has something to
 * tell to them. */
void sessions_trace(struct sessions *sessions, int64_t user, unsigned place);

/* A frame of the core's own: build it in sessions_frame's buffer and send it. An error frame is counted as one. */
struct buffer *sessions_frame(struct sessions *sessions);
void session_send(struct sessions *sessions, struct session *session);
void session_send_error(struct sessions *sessions, struct session *session, const char *code, const char *message);

int64_t session_user(const struct session *session);     /* greeted */
int64_t session_number(const struct session *session);   /* 0: not greeted */
int64_t session_deadline(const struct session *session); /* when it is looked at next, clock_coarse_ms */
struct talk *session_talk(struct session *session);

/* Walks all sessions; none may be freed meanwhile. NULL: no more. */
struct session *sessions_first(const struct sessions *sessions);
struct session *session_next(const struct session *session);

/* The newest of a user's sessions; NULL: the user has none. The others by session_twin. */
struct session *sessions_of(const struct sessions *sessions, int64_t user);
void sessions_prefetch(const struct sessions *sessions, int64_t user); /* sessions_of of that user comes soon */

static inline struct session *session_twin(const struct session *session) { return session->twin; }
static inline int32_t session_route(const struct session *session) { return session->route; }
static inline bool session_greeted(const struct session *session) { return session->greeted; }
static inline bool session_leaving(const struct session *session) { return session->leaving; }

/* The memory of the screen whose options said that offset; and back. */
static inline void *session_part(const struct session *session, size_t offset) {
    return (char *)(uintptr_t)session + offset;
}
static inline struct session *session_of_part(const void *part, size_t offset) {
    return (struct session *)((uintptr_t)part - offset);
}

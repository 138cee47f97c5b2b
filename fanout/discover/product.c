/*  phone ---- discover ----> the router that owns its user
 *        <--- strangers, error <---'
 *        <--- strangers_gone <---- the copy of `sharing`        shown.c: who was shown whom
 */
#include "fanout/screens.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/topics.h"
#include "fanout/discover/shown.h"
#include "fanout/sessions.h"
#include "rpc/ask.h"
#include "users/strangers_json.h"
#include "ws/ws.h"

struct discover_screen_settings {
    const char *routers;
};

#define AT(member) offsetof(struct discover_screen_settings, member)

static const struct config_property PROPERTIES[] = {
    {"router.group.id", CONFIG_STRING, AT(routers), "starling-router",
     .doc = "Consumer group of the routers, which the edge asks for strangers nearby."},
};

static struct discover_screen_settings configured;

const struct config_section DISCOVER_SCREEN_SECTION = {"Edge: strangers nearby (starling-fanout)", PROPERTIES,
                                                       ARRAY_SIZE(PROPERTIES), &configured};

enum { PEER_TIMEOUT_MS = 3000, TOO_FAST_MS = 1000, RETRY_AFTER_MS = 2000 };

struct discover_screen {
    struct screen_options core;
    struct peers *routers;
    struct shown *shown;
};

struct page_refusal { /* as over HTTP */
    const char *code, *message;
    int64_t after_ms; /* 0: asking again is of no use */
};

static const struct page_refusal NOT_PUBLIC = {"not_public", "only who shares publicly is shown who else does", 0};
static const struct page_refusal NO_POSITION = {"no_position", "the user has not reported a position recently", 0};
static const struct page_refusal BAD_QUERY = {"bad_query", "\"after\" must be the `next` of a page before", 0};
static const struct page_refusal TOO_MANY = {"too_many_questions", "the user asks faster than anybody may",
                                             TOO_FAST_MS};
static const struct page_refusal AWAY = {
    "owner_unavailable", "the process that has the answer is just being moved or restarted", RETRY_AFTER_MS};

struct page_wanted {
    int64_t limit;
    char after[STRANGERS_CURSOR_MAX + 1]; /* empty: the first page */
};

struct page_question;

/* Of a session that has asked once. */
struct discover_session {
    struct shown_viewer viewer; /* first: seen() finds the asker by it */
    struct session *session;
    struct page_question *question;     /* that a router has; NULL: none has */
    struct page_wanted next;            /* what to ask then; limit 0: nothing */
    json_t *answer;                     /* to be told, */
    bool first;                         /* a first page: what was shown before is off the screen */
    const struct page_refusal *refusal; /* or this */
    int64_t *gone;                      /* users who are to be named as gone */
    size_t gone_count, gone_capacity;
};

struct page_question {
    struct discover_screen *product;
    struct discover_session *asker; /* NULL: its session is over */
    bool first;
};

static struct discover_session **place_of(const struct discover_screen *product, const struct session *session) {
    return session_part(session, product->core.offset);
}

static bool is_public(const struct discover_screen *product, int64_t user) {
    return sharing_modes_find(product->core.modes, user, NULL) == SHARING_PUBLIC;
}

static void tell(struct discover_screen *product, struct discover_session *asker) {
    session_tell(product->core.sessions, asker->session, product->core.place);
}

/* ---- questions ---- */

static void forget_answer(struct discover_session *asker) {
    json_decref(asker->answer);
    asker->answer = NULL;
    asker->refusal = NULL;
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size);

static void ask(struct discover_screen *product, struct discover_session *asker, const struct page_wanted *page) {
    struct page_question *question =
        MEM_NEW(&(struct page_question){.product = product, .asker = asker, .first = !*page->after});
    asker->question = question;
    rpc_ask(product->routers, &ASK_DISCOVER,
            RPC_VALUES(RPC_INT(USER, session_user(asker->session)), RPC_INT(LIMIT, page->limit),
                       RPC_TEXT(AFTER, *page->after ? page->after : NULL)),
            PEER_TIMEOUT_MS, answered, question);
}

static const struct page_refusal *refusal_of(int code, unsigned status) {
    if (code) return &AWAY;
    switch (status) {
    case 200: return NULL;
    case 400: return &BAD_QUERY;
    case 409: return &NO_POSITION;
    case 429: return &TOO_MANY;
    default: return &AWAY; /* also a router that has not read yet that the user shares publicly */
    }
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct page_question question = *(struct page_question *)context;
    struct discover_session *asker = question.asker;
    free(context);
    if (!asker) return;
    asker->question = NULL;
    if (code == -ECANCELED) return; /* the screen is being stopped */
    if (asker->next.limit) {
        struct page_wanted next = asker->next;
        asker->next.limit = 0;
        ask(question.product, asker, &next);
        return;
    }
    forget_answer(asker);
    asker->first = question.first;
    asker->refusal = refusal_of(code, status);
    if (!asker->refusal) asker->answer = json_parse(reply, size, NULL);
    if (!asker->refusal && !asker->answer) asker->refusal = &AWAY;
    tell(question.product, asker);
    sessions_flush_ready(question.product->core.sessions);
}

static int parse(const json_t *object, struct page_wanted *page, struct error *error) {
    const char *after;
    *page = (struct page_wanted){.limit = STRANGERS_LIMIT_DEFAULT};
    if (json_given(object, "limit") && json_want_int(object, "limit", 1, STRANGERS_LIMIT_MAX, &page->limit, error))
        return -EINVAL;
    if (!json_given(object, "after")) return 0;
    if (json_want_text(object, "after", &after, error)) return -EINVAL;
    if (!*after || !strangers_json_cursor(after)) return error_set(error, -EINVAL, "%s", BAD_QUERY.message);
    memcpy(page->after, after, strlen(after) + 1);
    return 0;
}

static struct discover_session *asker_of(struct discover_screen *product, struct session *session) {
    struct discover_session **place = place_of(product, session);
    if (!*place) {
        *place = mem_alloc(sizeof **place);
        **place = (struct discover_session){.session = session};
    }
    return *place;
}

static int message(void *context, struct session *session, const char *type, const json_t *object, const char **code,
                   struct error *error) {
    struct discover_screen *product = context;
    struct page_wanted page;
    if (strcmp(type, "discover")) return -ENOENT;
    *code = BAD_QUERY.code;
    if (parse(object, &page, error)) return -EINVAL;
    struct discover_session *asker = asker_of(product, session);
    if (asker->question) { /* one at a time; the newest of the others comes next */
        asker->next = page;
    } else if (is_public(product, session_user(session))) {
        ask(product, asker, &page);
    } else {
        forget_answer(asker);
        asker->refusal = &NOT_PUBLIC;
        tell(product, asker);
    }
    return 0;
}

/* ---- users who stop ---- */

static void seen(void *context, struct shown_viewer *viewer, int64_t user) {
    struct discover_screen *product = context;
    struct discover_session *asker = (struct discover_session *)(void *)viewer;
    if (asker->gone_count && asker->gone[asker->gone_count - 1] == user) return;
    MEM_ROOM(asker->gone, asker->gone_count, asker->gone_capacity);
    asker->gone[asker->gone_count++] = user;
    session_owe(product->core.sessions, asker->session, product->core.place);
}

static void on_sharing(void *context, int64_t user, enum sharing_mode mode) {
    struct discover_screen *product = context;
    if (mode == SHARING_PUBLIC) return;
    shown_take_user(product->shown, user, seen, product);
    struct session *session = sessions_of(product->core.sessions, user);
    for (; session; session = session_twin(session)) {
        struct discover_session *asker = *place_of(product, session);
        if (asker) shown_take_all(product->shown, &asker->viewer, seen, product);
    }
}

/* ---- frames ---- */

static void fill_gone(struct discover_session *asker, struct buffer *frame) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"strangers_gone\",\"gone\":[");
    for (size_t i = 0; i < asker->gone_count; i++) {
        if (i) buffer_byte(frame, ',');
        json_put_int(frame, asker->gone[i]);
    }
    buffer_string(frame, "]}");
    asker->gone_count = 0;
}

static void fill_refusal(const struct page_refusal *refusal, struct buffer *frame) {
    ws_frame_start(frame);
    buffer_format(frame, "{\"type\":\"error\",\"about\":\"discover\",\"code\":\"%s\",\"message\":", refusal->code);
    json_put_text(frame, refusal->message, strlen(refusal->message));
    if (refusal->after_ms) buffer_format(frame, ",\"after_ms\":%" PRId64, refusal->after_ms);
    buffer_byte(frame, '}');
}

struct showing {
    struct shown *shown;
    struct shown_viewer *viewer;
};

static void show(void *context, int64_t user) {
    const struct showing *showing = context;
    shown_add(showing->shown, showing->viewer, user);
}

static void fill_page(struct discover_screen *product, struct discover_session *asker, struct buffer *frame) {
    struct showing showing = {product->shown, &asker->viewer};
    if (asker->first) shown_clear(product->shown, &asker->viewer);
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"strangers\",");
    bool good = strangers_json_put(frame, asker->answer, product->core.modes, product->core.profiles, show, &showing);
    buffer_byte(frame, '}');
    if (!good) fill_refusal(&AWAY, frame);
}

/* The answer that was waited for is checked again: either user may have stopped sharing since. */
static struct screen_filled fill(void *context, struct session *session, struct buffer *frame) {
    struct discover_screen *product = context;
    struct discover_session *asker = *place_of(product, session);
    struct screen_filled filled = {.frame = true};
    if (!asker || (!asker->gone_count && !asker->answer && !asker->refusal))
        return (struct screen_filled){.frame = false};
    if (asker->gone_count) {
        filled.entries = asker->gone_count;
        fill_gone(asker, frame);
        filled.again = asker->answer || asker->refusal;
        return filled;
    }
    if (asker->answer && !is_public(product, session_user(session))) asker->refusal = &NOT_PUBLIC;
    if (asker->refusal)
        fill_refusal(asker->refusal, frame);
    else
        fill_page(product, asker, frame);
    filled.entries = 1;
    forget_answer(asker);
    return filled;
}

/* ---- a session's end, and the screen's own ---- */

static void leave(void *context, struct session *session) {
    struct discover_screen *product = context;
    struct discover_session **place = place_of(product, session), *asker = *place;
    if (!asker) return;
    if (asker->question) asker->question->asker = NULL;
    shown_clear(product->shown, &asker->viewer);
    forget_answer(asker);
    free(asker->gone);
    free(asker);
    *place = NULL;
}

static void stop(void *context) {
    struct discover_screen *product = context;
    if (!product) return;
    peers_free(product->routers);
    shown_free(product->shown);
    free(product);
}

static int start(const struct screen_options *options, void **made, struct error *error) {
    struct discover_screen *product = MEM_NEW(&(struct discover_screen){.core = *options});
    int code = peers_new(
        &(struct peers_options){
            .loop = service_loop(options->service),
            .settings = service_kafka(options->service),
            .group = configured.routers,
            .topic = &TOPIC_LOCATIONS,
            .partitions = options->shape->partitions[TOPIC_SPACE_USERS],
            .token = service_settings(options->service)->peer_token,
        },
        &product->routers, error);
    if (code) {
        free(product);
        return code;
    }
    product->shown = shown_new();
    *made = product;
    return 0;
}

const struct screen DISCOVER_SCREEN = {
    .name = "discover",
    .kind = SCREEN_UNTOLD,
    .session_bytes = sizeof(struct discover_session *),
    .start = start,
    .stop = stop,
    .message = message,
    .sharing = on_sharing,
    .fill = fill,
    .free = leave,
};

#include "fanout/feed/bells.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "users/notice.h"
#include "ws/ws.h"

enum {
    ITEMS_MAX = 20,        /* of a frame */
    SENT_MAX = 400,        /* ids that a session is known to have */
    APART_MS = 300,        /* two questions of a bell, however often its list changes */
    PAUSE_MS = 50,         /* before a list is asked for again that is still old; it doubles */
    PAUSE_MOST_MS = 10000, /* also where the owner is away */
    WHAT_MAX = 32          /* "notices:" and a user */
};

static const char BEGINS[] = "notices:";

struct bell_question;

/* Of one session. */
struct bell {
    struct bells *bells;
    struct session *session;
    bool watches, showing; /* showing: within screen_watch_show */
    struct bell_question *question;
    struct loop_timer *later;
    int64_t pause_ms, asked_ms; /* asked: by the loop's clock */
    json_t *list;               /* that has something to tell; NULL: none */
    bool told;
    json_int_t unread;       /* as the session was told */
    struct notice_key *sent; /* newest first, without the user */
    size_t sent_count;
};

struct bell_question {
    struct bell *bell; /* NULL: its session is over, or no longer watches */
};

struct bells {
    struct bells_options options;
};

static struct bell **place_of(const struct bells *bells, const struct session *session) {
    return session_part(session, bells->options.offset);
}

static size_t what_of(const struct session *session, char what[WHAT_MAX]) {
    return (size_t)snprintf(what, WHAT_MAX, "%s%" PRId64, BEGINS, session_user(session));
}

bool bells_is(const void *what, size_t size) {
    return size >= strlen(BEGINS) && memcmp(what, BEGINS, strlen(BEGINS)) == 0;
}

/* ---- what the session has ---- */

static bool key_of(const json_t *item, struct notice_key *key) {
    const char *id = json_string_value(json_object_get(item, "id"));
    return id && notice_id_read(id, key);
}

/* Where the notice is among those that were sent, or would be. */
static size_t sent_at(const struct bell *bell, const struct notice_key *key, bool *is) {
    size_t low = 0, high = bell->sent_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (notice_is_newer(&bell->sent[middle], key))
            low = middle + 1;
        else
            high = middle;
    }
    *is = low < bell->sent_count && !notice_is_newer(key, &bell->sent[low]);
    return low;
}

/* The oldest is forgotten when there are very many: it is far below what is sent. */
static void note_sent(struct bell *bell, const struct notice_key *key) {
    bool is;
    size_t at = sent_at(bell, key, &is);
    if (is) return;
    if (!bell->sent) bell->sent = mem_alloc(SENT_MAX * sizeof *bell->sent);
    if (bell->sent_count == SENT_MAX) bell->sent_count--;
    if (at > bell->sent_count) return;
    memmove(bell->sent + at + 1, bell->sent + at, (bell->sent_count++ - at) * sizeof *bell->sent);
    bell->sent[at] = *key;
}

/* Whether screens are told this kind at once. */
static bool is_live(const json_t *list, const json_t *item) {
    const char *what = json_string_value(json_object_get(item, "what"));
    const json_t *preference = what ? json_object_get(json_object_get(list, "preferences"), what) : NULL;
    return !json_is_false(json_object_get(preference, "live"));
}

/* Of the newest of the list, those that the session was not sent. */
static void keep_news(const struct bell *bell, json_t *list) {
    json_t *items = json_object_get(list, "items");
    struct notice_key key = {0};
    bool is = false;
    while (json_array_size(items) > ITEMS_MAX) json_array_remove(items, ITEMS_MAX);
    for (size_t i = json_array_size(items); i-- > 0;) {
        const json_t *item = json_array_get(items, i);
        bool known = key_of(item, &key);
        if (known) sent_at(bell, &key, &is);
        if (!known || is || !is_live(list, item)) json_array_remove(items, i);
    }
}

/* ---- asking ---- */

static void forget_list(struct bell *bell) {
    json_decref(bell->list);
    bell->list = NULL;
}

static void ask_later(struct bell *bell, int64_t after_ms) {
    loop_timer_again(bell->later, (uint64_t)(after_ms + bell->pause_ms), 0);
    bell->pause_ms = bell->pause_ms ? bell->pause_ms * 2 : PAUSE_MS;
    if (bell->pause_ms > PAUSE_MOST_MS) bell->pause_ms = PAUSE_MOST_MS;
}

/* The page's version goes to the watch_edge: if it has heard another one, the list is asked for once more. */
static void show(struct bell *bell, const json_t *list) {
    const char *text = json_string_value(json_object_get(list, "version"));
    struct watch_version version;
    char what[WHAT_MAX];
    size_t size = what_of(bell->session, what);
    if (!text || !watch_version_read(text, strlen(text), &version)) return; // of an owner of the release before
    bell->showing = true;
    screen_watch_show(bell->bells->options.watch, bell->session, what, size, &version);
    bell->showing = false;
}

static void answered(void *context, int code, unsigned status, json_t *list) {
    struct bell_question *question = context;
    struct bell *bell = question->bell;
    free(question);
    if (!bell || !list) {
        if (bell) bell->question = NULL;
        if (bell && code != -ECANCELED) ask_later(bell, PAUSE_MS);
        json_decref(list);
        return;
    }
    bell->question = NULL;
    forget_list(bell);
    keep_news(bell, list);
    show(bell, list);
    bool news = !bell->told || json_array_size(json_object_get(list, "items")) ||
                json_integer_value(json_object_get(list, "unread")) != bell->unread;
    if (!news) {
        json_decref(list);
        return;
    }
    bell->list = list;
    session_owe(bell->bells->options.sessions, bell->session, bell->bells->options.place);
    sessions_flush_ready(bell->bells->options.sessions);
}

static void ask(struct bell *bell) {
    if (bell->question || !bell->watches) return;
    struct bell_question *question = MEM_NEW(&(struct bell_question){.bell = bell});
    bell->question = question;
    bell->asked_ms = (int64_t)uv_now(bell->bells->options.loop);
    notice_list_ask(bell->bells->options.owners, bell->bells->options.sights, session_user(bell->session), answered,
                    question);
}

static void ask_now(void *context) { ask(context); }

static int64_t apart_ms(const struct bell *bell) {
    return bell->asked_ms + APART_MS - (int64_t)uv_now(bell->bells->options.loop);
}

/* While a question is under way its answer is compared (show). */
void bells_stale(struct bells *bells, struct session *session, int64_t after_ms) {
    struct bell *bell = *place_of(bells, session);
    if (!bell || bell->question || !bell->watches) return;
    int64_t apart = apart_ms(bell);
    if (!bell->showing) bell->pause_ms = 0;
    ask_later(bell, after_ms > apart ? after_ms : apart);
}

/* ---- sessions ---- */

static void bell_stop(struct bell *bell) {
    if (bell->question) bell->question->bell = NULL;
    bell->question = NULL;
    bell->watches = bell->told = false;
    loop_timer_stop(bell->later);
    forget_list(bell);
}

int bells_watch(struct bells *bells, struct session *session) {
    struct bell **place = place_of(bells, session);
    char what[WHAT_MAX];
    int code = screen_watch_show(bells->options.watch, session, what, what_of(session, what), NULL);
    if (code) return code;
    if (!*place) {
        *place = MEM_NEW(&(struct bell){.bells = bells, .session = session, .asked_ms = -APART_MS});
        (*place)->later = loop_timer_new(bells->options.loop, 0, 0, ask_now, *place);
        loop_timer_stop((*place)->later);
    }
    struct bell *bell = *place;
    bell->watches = true;
    bell->told = false;
    if (apart_ms(bell) > 0) // whoever watches again and again asks no more often
        loop_timer_again(bell->later, (uint64_t)apart_ms(bell), 0);
    else
        ask(bell);
    return 0;
}

void bells_unwatch(struct bells *bells, struct session *session) {
    struct bell *bell = *place_of(bells, session);
    char what[WHAT_MAX];
    if (!bell) return;
    bell_stop(bell);
    screen_watch_hide(bells->options.watch, session, what, what_of(session, what));
}

/* The watch_edge hears that the session is over from the feeds. */
void bells_leave(struct bells *bells, struct session *session) {
    struct bell **place = place_of(bells, session);
    if (!*place) return;
    bell_stop(*place);
    screen_watch_leave(bells->options.watch, session);
    loop_timer_free((*place)->later);
    free((*place)->sent);
    free(*place);
    *place = NULL;
}

struct screen_filled bells_fill(struct bells *bells, struct session *session, struct buffer *frame) {
    struct bell *bell = *place_of(bells, session);
    if (!bell || !bell->list) return (struct screen_filled){.frame = false};
    const json_t *items = json_object_get(bell->list, "items");
    struct notice_key key = {0};
    bell->unread = json_integer_value(json_object_get(bell->list, "unread"));
    bell->told = true;
    ws_frame_start(frame);
    buffer_format(frame, "{\"type\":\"notices\",\"unread\":%lld,\"items\":", (long long)bell->unread);
    json_put_value(frame, items);
    buffer_byte(frame, '}');
    for (size_t i = 0; i < json_array_size(items); i++)
        if (key_of(json_array_get(items, i), &key)) note_sent(bell, &key);
    size_t entries = json_array_size(items);
    forget_list(bell);
    return (struct screen_filled){.frame = true, .again = true, .entries = entries};
}

/* ---- the bells themselves ---- */

struct bells *bells_new(const struct bells_options *options) {
    return MEM_NEW(&(struct bells){.options = *options});
}

void bells_free(struct bells *bells) { free(bells); }

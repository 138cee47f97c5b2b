#include "tools/load/handsets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/phone_frame.h"
#include "json/json.h"
#include "service/token.h"
#include "ws/ws.h"

enum {
    TICK_MS = 50,
    CONNECTING_MAX = 64, /* handshakes under way at once */
    RETRY_FIRST_MS = 200,
    RETRY_MAX_MS = 5000,
    MESSAGE_MAX = 4 << 20
};

struct ring_entry {
    int64_t user;
    struct geo_point at;
};

struct phone {
    int64_t user, time;
    struct geo_point at;
    struct ws_connection *connection;                 /* NULL: none */
    struct phone *next;                               /* in the list of all, and below */
    struct phone *waiting_next;                       /* in the list of those who want to connect */
    bool waiting, connecting, welcomed, unsent, over; /* over: superseded, does not come back */
    int64_t retry_us;
    int retry_ms;
    size_t url;
    struct ring_entry *screen;
    size_t count, capacity;
};

struct handsets {
    struct handsets_options options;
    struct ws_clients *clients;
    struct token_issuer *issuer;
    struct map *by_user;
    struct phone *all, *waiting, **waiting_tail;
    struct loop_timer *tick;
    struct buffer frame;
    struct handsets_counts counts;
    bool closing;
    struct chance chance;
};

/* ---- the screen ---- */

static struct ring_entry *find(const struct phone *phone, int64_t user) {
    for (size_t i = 0; i < phone->count; i++)
        if (phone->screen[i].user == user) return &phone->screen[i];
    return NULL;
}

static void show(struct phone *phone, const struct ring_entry *entry) {
    struct ring_entry *there = find(phone, entry->user);
    if (!there) {
        MEM_ROOM(phone->screen, phone->count, phone->capacity);
        there = &phone->screen[phone->count++];
    }
    *there = *entry;
}

static void hide(struct phone *phone, int64_t user) {
    struct ring_entry *there = find(phone, user);
    if (there) *there = phone->screen[--phone->count];
}

/* ---- to the server ---- */

static void set_unsent(struct handsets *phones, struct phone *phone, bool unsent) {
    if (phone->unsent == unsent) return;
    phone->unsent = unsent;
    if (unsent)
        phones->counts.unsent++;
    else
        phones->counts.unsent--;
}

static void send_report(struct handsets *phones, struct phone *phone) {
    phone_frame_location(&phones->frame, phone->at, phone->time);
    int code = ws_send(phone->connection, &phones->frame);
    set_unsent(phones, phone, code == -EAGAIN);
    if (code == 0) phones->counts.reports++;
}

static void send_hello(struct handsets *phones, struct phone *phone) {
    char *token = token_issue(phones->issuer, phone->user, NULL, clock_wall_ms() + phones->options.token_ttl_ms);
    phone_frame_hello(&phones->frame, token, NULL, phone->at, phone->time);
    free(token);
    set_unsent(phones, phone, false);
    if (ws_send(phone->connection, &phones->frame) == 0) phones->counts.reports++;
}

static void send_more(struct handsets *phones, struct phone *phone, const char *after) {
    phone_frame_more(&phones->frame, after);
    ws_send(phone->connection, &phones->frame); /* a page that was not asked for comes with the next hello */
}

/* ---- connecting ---- */

static void want_connection(struct handsets *phones, struct phone *phone) {
    if (phone->waiting || phone->connecting || phone->connection || phone->over || phones->closing) return;
    phone->waiting = true;
    phone->waiting_next = NULL;
    *phones->waiting_tail = phone;
    phones->waiting_tail = &phone->waiting_next;
}

static void retry_later(struct handsets *phones, struct phone *phone, int delay_ms) {
    phone->retry_us = clock_monotonic_us() + (int64_t)delay_ms * 1000;
    phone->url++;
    want_connection(phones, phone);
}

static int grow_delay(struct handsets *phones, struct phone *phone) {
    int delay = phone->retry_ms ? phone->retry_ms : RETRY_FIRST_MS;
    phone->retry_ms = delay * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : delay * 2;
    return delay / 2 + (int)(chance_next(&phones->chance) % (unsigned)delay);
}

static void set_connecting(struct handsets *phones, struct phone *phone, bool connecting) {
    if (phone->connecting == connecting) return;
    phone->connecting = connecting;
    if (connecting)
        phones->counts.connecting++;
    else
        phones->counts.connecting--;
}

static void connect_phone(struct handsets *phones, struct phone *phone) {
    const char *url = phones->options.urls[phone->url % phones->options.url_count];
    if (ws_connect(phones->clients, url, phone, NULL)) {
        retry_later(phones, phone, grow_delay(phones, phone));
        return;
    }
    set_connecting(phones, phone, true);
}

/* Lets some of the waiting phones connect: a crowd at the door would not make any of them faster. */
static void tick(void *context) {
    struct handsets *phones = context;
    struct phone *phone = phones->waiting;
    int64_t now = clock_monotonic_us();
    phones->waiting = NULL;
    phones->waiting_tail = &phones->waiting;
    while (phone) {
        struct phone *next = phone->waiting_next;
        phone->waiting = false;
        if (phones->counts.connecting < CONNECTING_MAX && phone->retry_us <= now && !phones->closing)
            connect_phone(phones, phone);
        else
            want_connection(phones, phone);
        phone = next;
    }
}

/* ---- from the server ---- */

static bool parse_entry(const json_t *item, struct ring_entry *entry) {
    return json_want_int(item, "user", 0, INT64_MAX, &entry->user, NULL) == 0 &&
           json_want_lat_lng(item, &entry->at.lat, &entry->at.lng, NULL) == 0;
}

static bool show_all(struct handsets *phones, struct phone *phone, const json_t *items) {
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item) {
        struct ring_entry entry;
        if (!parse_entry(item, &entry)) return false;
        show(phone, &entry);
        phones->counts.entries++;
    }
    return true;
}

static bool nearby(struct handsets *phones, struct phone *phone, const json_t *frame) {
    const char *next;
    if (!show_all(phones, phone, json_object_get(frame, "items"))) return false;
    if (json_want_text(frame, "next", &next, NULL) == 0) send_more(phones, phone, next);
    return true;
}

static bool update(struct handsets *phones, struct phone *phone, const json_t *frame) {
    size_t i;
    json_t *user;
    if (!show_all(phones, phone, json_object_get(frame, "near"))) return false;
    json_array_foreach(json_object_get(frame, "gone"), i, user) {
        hide(phone, json_integer_value(user));
        phones->counts.entries++;
    }
    return true;
}

static bool welcome(struct handsets *phones, struct phone *phone) {
    if (!phone->welcomed) phones->counts.online++;
    phone->welcomed = true;
    phone->retry_ms = 0;
    if (phone->unsent) send_report(phones, phone); /* it moved while the hello was under way */
    return true;
}

static bool receive(struct handsets *phones, struct phone *phone, const json_t *frame) {
    const char *type;
    if (json_want_text(frame, "type", &type, NULL)) return false;
    if (strcmp(type, "welcome") == 0) return welcome(phones, phone);
    if (strcmp(type, "nearby") == 0) return nearby(phones, phone, frame);
    if (strcmp(type, "update") == 0) return update(phones, phone, frame);
    if (strcmp(type, "reconnect") == 0) {
        int64_t after_ms;
        if (json_want_int(frame, "after_ms", 0, 3600000, &after_ms, NULL)) return false;
        phone->retry_ms = (int)after_ms + 1;
        return true;
    }
    return false;
}

static void on_open(void *context, struct ws_connection *connection) {
    struct handsets *phones = context;
    struct phone *phone = ws_context(connection);
    set_connecting(phones, phone, false);
    phone->connection = connection;
    phone->count = 0;
    send_hello(phones, phone);
}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct handsets *phones = context;
    struct phone *phone = ws_context(connection);
    phones->counts.frames++;
    phones->counts.last_frame_us = clock_monotonic_us();
    json_t *frame = json_parse(text, size, NULL);
    if (!frame || !receive(phones, phone, frame)) phones->counts.errors++;
    json_decref(frame);
}

static void on_writable(void *context, struct ws_connection *connection) {
    struct phone *phone = ws_context(connection);
    if (phone->unsent) send_report(context, phone);
}

static void on_close(void *context, struct ws_connection *connection, int code) {
    struct handsets *phones = context;
    struct phone *phone = ws_context(connection);
    set_connecting(phones, phone, false); /* an attempt that failed */
    if (phone->welcomed) phones->counts.online--;
    set_unsent(phones, phone, false);
    phone->connection = NULL;
    phone->welcomed = false;
    phone->count = 0; /* the list is the session's: the next hello brings a new one */
    phones->counts.closed++;
    if (code == WS_ENDED) {
        phone->over = true;
        phones->counts.superseded++;
    }
    retry_later(phones, phone, grow_delay(phones, phone));
}

/* ---- the door ---- */

int handsets_new(const struct handsets_options *options, struct handsets **phones, struct error *error) {
    struct handsets *made =
        MEM_NEW(&(struct handsets){.options = *options, .by_user = map_new(), .chance = chance_new()});
    made->waiting_tail = &made->waiting;
    int result = token_issuer_new(options->hs256_key_file, &made->issuer, error);
    if (result == 0) {
        result = ws_clients_new(
            &(struct ws_clients_options){
                .loop = options->loop,
                .subprotocol = "starling.v1",
                .max_message = MESSAGE_MAX,
                .context = made,
                .callbacks = {on_open, on_message, on_writable, on_close},
            },
            &made->clients, error);
    }
    if (result) {
        handsets_free(made);
        return result;
    }
    made->tick = loop_timer_new(options->loop, TICK_MS, TICK_MS, tick, made);
    *phones = made;
    return 0;
}

void handsets_shutdown(struct handsets *phones, loop_fn *closed, void *context) {
    phones->closing = true;
    loop_timer_free(phones->tick);
    phones->tick = NULL;
    ws_clients_shutdown(phones->clients, closed, context);
}

void handsets_free(struct handsets *phones) {
    if (!phones) return;
    loop_timer_free(phones->tick);
    ws_clients_free(phones->clients);
    while (phones->all) {
        struct phone *phone = phones->all;
        phones->all = phone->next;
        free(phone->screen);
        free(phone);
    }
    token_issuer_free(phones->issuer);
    map_free(phones->by_user);
    buffer_free(&phones->frame);
    free(phones);
}

static struct phone *phone_of(struct handsets *phones, int64_t user) {
    bool created;
    uint64_t *value = map_put(phones->by_user, (uint64_t)user, &created);
    if (!created) return (struct phone *)(uintptr_t)*value;
    struct phone *phone =
        MEM_NEW(&(struct phone){.user = user, .time = -1, .next = phones->all, .url = phones->counts.known});
    phones->all = phone;
    phones->counts.known++;
    *value = (uint64_t)(uintptr_t)phone;
    return phone;
}

void handsets_report(struct handsets *phones, int64_t user, struct geo_point at, int64_t time) {
    struct phone *phone = phone_of(phones, user);
    phone->at = at;
    phone->time = time;
    if (phone->welcomed)
        send_report(phones, phone);
    else if (phone->connection)
        set_unsent(phones, phone, true); /* behind the hello that is on its way */
    else
        want_connection(phones, phone);
}

void handsets_repeat(struct handsets *phones) {
    for (struct phone *phone = phones->all; phone; phone = phone->next)
        handsets_report(phones, phone->user, phone->at, phone->time + 1);
}

void handsets_hang_up(struct handsets *phones, size_t count, int away_ms) {
    size_t left =
        phones->counts.online; /* of these, `count` are drawn: each with the chance of those that still lack */
    for (struct phone *phone = phones->all; phone && count > 0 && left > 0; phone = phone->next) {
        if (!phone->welcomed || phone->retry_ms) continue; /* retry_ms: it hangs up already */
        if (chance_next(&phones->chance) % left-- >= count) continue;
        count--;
        phone->retry_ms = away_ms;
        ws_close(phone->connection, WS_NORMAL, "");
    }
}

struct handsets_counts handsets_counts(const struct handsets *phones) {
    return phones->counts;
}

void handsets_screens(const struct handsets *phones,
                      void (*each)(void *context, int64_t user, int64_t friend, double distance_m), void *context) {
    for (const struct phone *phone = phones->all; phone; phone = phone->next) {
        for (size_t i = 0; i < phone->count; i++)
            each(context, phone->user, phone->screen[i].user, geo_distance(phone->at, phone->screen[i].at));
    }
}

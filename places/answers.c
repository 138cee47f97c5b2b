#include "places/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/topics.h"
#include "json/json.h"

struct place_answers {
    struct place_stores *stores;
    struct deciding_places *deciding;
    struct tasks *tasks;
    int32_t partitions;
};

/* A question about places that may have to wait. */
struct place_waiter {
    const struct place_answers *answers;
    struct http_request *request;
    void (*reply)(struct place_waiter *waiter);
    int32_t partition;
    int64_t user, limit;
    char *id; /* the place, or the one behind which the page begins; NULL: none */
    struct buffer body;
    int64_t count, shown; /* of places; shown: of the page */
    bool more;
    struct buffer last; /* the last one's id */
};

/* ---- places ---- */

static void put_place(struct buffer *out, const struct place_key *key, const struct user_place *place) {
    buffer_string(out, "{\"id\":");
    json_put_text(out, key->id, key->id_size);
    buffer_string(out, ",\"name\":");
    json_put_text(out, place->name.data, place->name.size);
    json_member_place(out, place->lat, place->lng);
    json_member_int(out, ",\"radius_m\":", place->radius);
    buffer_string(out, ",\"tell\":");
    if (place->friends)
        buffer_string(out, "\"friends\"");
    else if (place->users.count)
        json_put_ints(out, place->users.items, place->users.count);
    else
        buffer_string(out, "\"me\"");
    buffer_byte(out, '}');
}

static bool is_named(const struct place_waiter *waiter, const struct place_key *key) {
    return place_id_compare(key->id, key->id_size, waiter->id, strlen(waiter->id)) == 0;
}

static void see_one(void *context, const struct place_key *key, const struct user_place *place) {
    struct place_waiter *waiter = context;
    waiter->count++;
    if (is_named(waiter, key)) put_place(&waiter->body, key, place);
}

/* Places come by id: those up to the named one are of the pages before. */
static bool is_before(const struct place_waiter *waiter, const struct place_key *key) {
    return waiter->id && place_id_compare(key->id, key->id_size, waiter->id, strlen(waiter->id)) <= 0;
}

static void see_listed(void *context, const struct place_key *key, const struct user_place *place) {
    struct place_waiter *waiter = context;
    if (is_before(waiter, key)) return;
    waiter->more = waiter->shown == waiter->limit;
    if (waiter->more) return;
    buffer_string(&waiter->body, waiter->shown++ ? "," : "");
    put_place(&waiter->body, key, place);
    buffer_clear(&waiter->last);
    buffer_append(&waiter->last, key->id, key->id_size);
}

static int see_all(struct place_waiter *waiter,
                   void (*each)(void *context, const struct place_key *key, const struct user_place *place)) {
    struct error error;
    int code = deciding_places_rows(waiter->answers->deciding, waiter->partition, waiter->user, waiter, each, &error);
    if (!code) return 0;
    tasks_damaged(waiter->answers->tasks, waiter->partition, code, &error);
    rpc_failed(waiter->request, code, &error);
    return code;
}

static void reply_one(struct place_waiter *waiter) {
    buffer_string(&waiter->body, "{\"place\":");
    size_t empty = waiter->body.size;
    if (see_all(waiter, see_one)) return;
    if (waiter->body.size == empty) buffer_string(&waiter->body, "null");
    json_member_int(&waiter->body, ",\"count\":", waiter->count);
    buffer_byte(&waiter->body, '}');
    http_reply_json(waiter->request, 200, &waiter->body);
}

static void reply_list(struct place_waiter *waiter) {
    buffer_string(&waiter->body, "{\"items\":[");
    if (see_all(waiter, see_listed)) return;
    buffer_string(&waiter->body, "],\"next\":");
    if (waiter->more)
        json_put_text(&waiter->body, (const char *)waiter->last.data, waiter->last.size);
    else
        buffer_string(&waiter->body, "null");
    buffer_byte(&waiter->body, '}');
    http_reply_json(waiter->request, 200, &waiter->body);
}

/* ---- waiting ---- */

static void waiter_free(struct place_waiter *waiter) {
    buffer_free(&waiter->body);
    buffer_free(&waiter->last);
    free(waiter->id);
    free(waiter);
}

static void decided(void *context, int code) {
    struct place_waiter *waiter = context;
    if (!code) code = tasks_serves(waiter->answers->tasks, waiter->partition);
    if (code == -ESTALE || code == -ECANCELED || code == -EMSGSIZE)
        rpc_refused(waiter->request, code);
    else if (code)
        rpc_later(waiter->request);
    else
        waiter->reply(waiter);
    waiter_free(waiter);
}

static void await(struct place_answers *answers, struct http_request *request, const struct rpc_asked *asked,
                  const char *id, void (*reply)(struct place_waiter *waiter)) {
    struct place_waiter *waiter = MEM_NEW(&(struct place_waiter){.answers = answers,
                                                                 .request = request,
                                                                 .reply = reply,
                                                                 .partition = asked->partition,
                                                                 .user = asked->numbers[RPC_USER],
                                                                 .limit = asked->numbers[RPC_LIMIT],
                                                                 .id = id ? mem_string(id) : NULL});
    int64_t offset = asked->numbers[RPC_OFFSET], until_us = clock_monotonic_us() + asked->numbers[RPC_WAIT_MS] * 1000;
    if (offset < 0) {
        reply(waiter);
        waiter_free(waiter);
    } else if (decider_await(deciding_places_decider(answers->deciding), &TOPIC_PLACE_COMMANDS, asked->partition,
                             offset, until_us, waiter, decided)) {
        rpc_later(request); // too many wait already
        waiter_free(waiter);
    }
}

static void list(void *context, struct http_request *request, const struct rpc_asked *asked) {
    await(context, request, asked, asked->texts[RPC_AFTER], reply_list);
}

static void one(void *context, struct http_request *request, const struct rpc_asked *asked) {
    const char *id = asked->texts[RPC_PLACE];
    if (place_id_is(id, strlen(id)))
        await(context, request, asked, id, reply_one);
    else
        rpc_bad_query(request);
}

/* ---- events ---- */

/* The first number behind `number` of an event at `from` or later: numbers and times rise together, so it is found by halves. */
static int seek(const struct place_answers *answers, const struct rpc_asked *asked, int64_t *number,
                struct error *error) {
    int64_t after = asked->numbers[RPC_AFTER], low = after < INT64_MAX ? after + 1 : after,
            from = asked->numbers[RPC_FROM];
    struct place_state state;
    struct place_event event;
    struct place_event_key key = {.user = asked->numbers[RPC_USER]};
    *number = low;
    int code = place_stores_state(answers->stores, asked->partition, key.user, &state, error);
    int64_t high = code == 1 ? state.number + 1 : low;
    if (code == 1 && state.first + 1 > low) low = state.first + 1;
    while (code >= 0 && low < high) {
        struct place_walk walk;
        int64_t middle = low + (high - low) / 2;
        key.number = middle;
        place_walk_events(answers->stores, asked->partition, &key, &walk);
        code = place_walk_next_event(&walk, &key, &event, error);
        bool before = code == 1 && event.time < from;
        if (before)
            low = key.number + 1;
        else
            high = middle;
        place_walk_end(&walk);
    }
    if (code >= 0) *number = low;
    return code < 0 ? code : 0;
}

static void put_event(struct buffer *out, const struct place_event_key *key, const struct place_event *event) {
    json_member_int(out, "{\"number\":", key->number);
    buffer_string(out, ",\"place\":");
    json_put_text(out, event->place.data, event->place.size);
    buffer_string(out, ",\"name\":");
    json_put_text(out, event->name.data, event->name.size);
    buffer_string(out, event->what == PLACE_EVENT_ARRIVED ? ",\"what\":\"arrived\"" : ",\"what\":\"left\"");
    json_member_int(out, ",\"time\":", event->time);
    buffer_byte(out, '}');
}

/* Appends the page's items and what comes next. */
static int put_events(const struct place_answers *answers, const struct rpc_asked *asked, int64_t number,
                      struct buffer *body, struct error *error) {
    struct place_walk walk;
    struct place_event event;
    struct place_event_key key = {asked->numbers[RPC_USER], number};
    int64_t shown = 0, last = -1;
    bool more = false;
    int code;
    place_walk_events(answers->stores, asked->partition, &key, &walk);
    while ((code = place_walk_next_event(&walk, &key, &event, error)) == 1 && event.time < asked->numbers[RPC_TO]) {
        more = shown == asked->numbers[RPC_LIMIT];
        if (more) break;
        buffer_string(body, shown++ ? "," : "");
        put_event(body, &key, &event);
        last = key.number;
    }
    place_walk_end(&walk);
    if (more)
        json_member_int(body, "],\"next\":", last);
    else
        buffer_string(body, "],\"next\":null");
    return code < 0 ? code : 0;
}

static void events(void *context, struct http_request *request, const struct rpc_asked *asked) {
    const struct place_answers *answers = context;
    struct buffer body = {.data = NULL};
    struct error error;
    int64_t number;
    buffer_string(&body, "{\"items\":[");
    int code = seek(answers, asked, &number, &error);
    if (!code) code = put_events(answers, asked, number, &body, &error);
    buffer_byte(&body, '}');
    if (code) {
        tasks_damaged(answers->tasks, asked->partition, code, &error);
        rpc_failed(request, code, &error);
        buffer_free(&body);
    } else {
        http_reply_json_free(request, 200, &body);
    }
}

/* ---- all of them ---- */

static const struct rpc_handler HANDLERS[] = {
    {&ASK_PLACES, list, false}, {&ASK_PLACE, one, false}, {&ASK_PLACE_EVENTS, events, false}};

static int serves(const void *context, int32_t partition) {
    const struct place_answers *answers = context;
    return tasks_serves(answers->tasks, partition);
}

void place_answers_handle(struct place_answers *answers, struct http_request *request) {
    static const struct rpc_server SERVER = {HANDLERS, ARRAY_SIZE(HANDLERS), serves};
    rpc_serve(&SERVER, answers, answers->partitions, request);
}

struct place_answers *place_answers_new(struct place_stores *stores, struct deciding_places *deciding,
                                        struct tasks *tasks, int32_t partitions) {
    return MEM_NEW(&(struct place_answers){stores, deciding, tasks, partitions});
}

void place_answers_free(struct place_answers *answers) { free(answers); }

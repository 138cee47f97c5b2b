#include "cli/past.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/reader.h"
#include "event/topics.h"
#include "json/json.h"
#include "service/peers.h"

enum { PAGE = 2000, FETCH_MS = 8000, PATIENCE_US = 10000000, AGAIN_MS = 500 };

struct past {
    const struct cli *cli;
    uv_loop_t loop;
    struct peers *peers;
    struct loop_timer *again; /* while a sink is not ready to answer */
    int64_t user, from_ms, to_ms;
    void (*take)(void *context, const struct past_report *report);
    void *context;
    char *next; /* cursor; NULL: the first page */
    int64_t asked_us;
    int code;
    struct error *error;
};

static int parse_item(const json_t *item, struct past_report *report, struct error *error) {
    int code = json_want_degrees(item, "lat", 90, &report->lat, error);
    if (!code) code = json_want_degrees(item, "lng", 180, &report->lng, error);
    if (!code) code = json_want_int(item, "time", 0, INT64_MAX, &report->time, error);
    if (!code) code = json_want_int(item, "received", INT64_MIN, INT64_MAX, &report->received, error);
    if (code) return code;
    report->accuracy = -1;
    return json_given(item, "accuracy") ? json_want_int(item, "accuracy", 0, INT64_MAX, &report->accuracy, error) : 0;
}

int past_parse(int64_t user, const char *reply, size_t size,
               void (*take)(void *context, const struct past_report *report), void *context, char **next,
               struct error *error) {
    json_t *page = json_parse(reply, size, error);
    const json_t *items = json_object_get(page, "items");
    const char *cursor = NULL;
    int code = page ? 0 : -EBADMSG;
    if (!code && !json_is_array(items)) code = error_set(error, -EBADMSG, "no items");
    for (size_t i = 0; !code && i < json_array_size(items); i++) {
        struct past_report report = {.user = user};
        if (parse_item(json_array_get(items, i), &report, error)) {
            code = -EBADMSG;
        } else {
            take(context, &report);
        }
    }
    if (!code && json_given(page, "next") && json_want_text(page, "next", &cursor, error)) code = -EBADMSG;
    if (!code) *next = mem_string(cursor);
    json_decref(page);
    return code ? error_prefix(error, code, "the history sink's answer cannot be understood") : 0;
}

static void finish(struct past *past, int code) {
    past->code = code;
    uv_stop(&past->loop);
}

static void ask(void *context);

static void take_page(struct past *past, const char *reply, size_t size) {
    char *next = NULL;
    int code = past_parse(past->user, reply, size, past->take, past->context, &next, past->error);
    free(past->next);
    past->next = next;
    if (code || !next) {
        finish(past, code);
    } else {
        past->asked_us = 0;
        ask(past);
    }
}

static int refusal(const struct past *past, int code, unsigned status) {
    const char *group = past->cli->settings.history_group;
    if (code == -EHOSTUNREACH || status == 421) {
        return error_set(past->error, -EHOSTUNREACH,
                         "no history sink (group %s) has this user's history now: does one run?", group);
    }
    if (code == -EACCES || status == 401 || status == 403) {
        return error_set(past->error, -EACCES, "the history sink refuses peer.token");
    }
    if (status == 503) {
        return error_set(past->error, -EAGAIN, "the history sink is still reading this user's history: try again soon");
    }
    if (code) return error_set(past->error, code, "asking the history sink: %s", strerror(-code));
    return error_set(past->error, -EIO, "the history sink answers %u", status);
}

static void on_reply(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct past *past = context;
    // A sink that has just taken the user over, or is about to, will answer in a moment.
    bool passing = status == 503 || status == 421 || code == -EHOSTUNREACH || code == -ECONNREFUSED;
    if (!code && status == 200) {
        take_page(past, reply, size);
    } else if (passing && clock_monotonic_us() - past->asked_us < PATIENCE_US) {
        loop_timer_again(past->again, AGAIN_MS, 0);
    } else {
        finish(past, refusal(past, code, status));
    }
}

static void ask(void *context) {
    struct past *past = context;
    if (!past->asked_us) past->asked_us = clock_monotonic_us();
    char *path =
        mem_format("/peer/history/%" PRId64 "?from=%" PRId64 "&to=%" PRId64 "&limit=%d%s%s", past->user, past->from_ms,
                   past->to_ms, PAGE, past->next ? "&after=" : "", past->next ? past->next : "");
    peers_fetch(past->peers, peers_of_user(past->peers, past->user), path, FETCH_MS, on_reply, past);
    free(path);
}

int past_read(const struct cli *cli, int64_t user, int64_t from_ms, int64_t to_ms,
              void (*take)(void *context, const struct past_report *report), void *context, struct error *error) {
    struct past past = {
        .cli = cli,
        .user = user,
        .from_ms = from_ms,
        .to_ms = to_ms,
        .take = take,
        .context = context,
        .error = error,
    };
    struct topics_shape shape;
    int code = reader_shape(&cli->kafka, &shape, error);
    if (code) return code;
    if (uv_loop_init(&past.loop)) return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    code = peers_new(
        &(struct peers_options){
            .loop = &past.loop,
            .settings = &cli->kafka,
            .group = cli->settings.history_group,
            .topic = &TOPIC_LOCATIONS,
            .partitions = shape.partitions[TOPIC_SPACE_USERS],
            .token = *cli->settings.peer_token ? cli->settings.peer_token : NULL,
        },
        &past.peers, error);
    if (!code) {
        past.again = loop_timer_new(&past.loop, 1, 0, ask, &past);
        uv_run(&past.loop, UV_RUN_DEFAULT);
        code = past.code;
    }
    loop_timer_free(past.again);
    peers_free(past.peers);
    uv_run(&past.loop, UV_RUN_DEFAULT);
    uv_loop_close(&past.loop);
    free(past.next);
    return code;
}

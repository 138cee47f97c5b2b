#include "ingest/nearby/sharing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "users/report.h"
#include "users/sharing_words.h"

enum { READ_BACK_MS = 2000, LOOK_MS = 1000 };

/*     PUT --write--> Kafka acknowledges --(the copy is behind)--> in `waiting` --copy has it, or 2 s--> 200 */
struct sharing_answer {
    struct sharing_writes *writes;
    struct sharing_answer *next;
    struct http_request *request;
    int64_t user, offset, give_up_us;
    struct buffer body;
};

struct sharing_writes {
    struct writer *writer;
    const struct sharing_modes *modes;
    bool wall_clock;
    struct sharing_answer *waiting;
    struct loop_timer *look;
};

static void put_json(struct buffer *body, int64_t user, const struct sharing *sharing) {
    json_member_int(body, "{\"user\":", user);
    buffer_format(body, ",\"mode\":\"%s\"", SHARING_WORDS[sharing->mode]);
    if (sharing->until) {
        json_member_int(body, ",\"until\":", sharing->until);
    }
    if (sharing->details) buffer_string(body, ",\"details\":true");
    buffer_byte(body, '}');
}

static void get_sharing(void *state, const struct call *call) {
    struct sharing_writes *writes = state;
    struct buffer body = {0};
    int64_t user = call->claims.user;
    const struct sharing sharing = {.mode = sharing_modes_find(writes->modes, user, NULL),
                                    .until = sharing_modes_until(writes->modes, user),
                                    .details = sharing_modes_details(writes->modes, user)};
    put_json(&body, user, &sharing);
    http_reply_json_free(call->request, 200, &body);
}

static int parse_mode(const json_t *object, enum sharing_mode *mode, struct error *error) {
    const char *text;
    if (json_want_text(object, "mode", &text, error)) return -EINVAL;
    int number = text_word(text, SHARING_WORDS);
    if (number < 0) return error_set(error, -EINVAL, "\"mode\" must be off, friends or public");
    *mode = (enum sharing_mode)number;
    return 0;
}

/* now: ms; 0: whatever the time is, it is not ours to judge. */
static int parse_until(const json_t *object, enum sharing_mode mode, int64_t now, int64_t *until, struct error *error) {
    *until = 0;
    if (!json_given(object, "until")) return 0;
    if (json_want_int(object, "until", 1, EVENT_TIME_MAX, until, error)) return -EINVAL;
    if (mode == SHARING_OFF) return error_set(error, -EINVAL, "\"until\" is for friends and public: off has no end");
    if (*until <= now) return error_set(error, -EINVAL, "\"until\" must be after now");
    return 0;
}

/* Of somebody who shares with nobody there are none. */
static int parse_details(const json_t *object, enum sharing_mode mode, bool *details, struct error *error) {
    *details = false;
    if (json_want_bool(object, "details", details, error) == -EINVAL) return -EINVAL;
    if (mode == SHARING_OFF) *details = false;
    return 0;
}

static void answer_free(struct sharing_answer *answer) {
    buffer_free(&answer->body);
    free(answer);
}

static void answer_give(struct sharing_answer *answer) {
    http_reply_json(answer->request, 200, &answer->body);
    answer_free(answer);
}

static bool read_back(const struct sharing_answer *answer) {
    int64_t offset;
    sharing_modes_find(answer->writes->modes, answer->user, &offset);
    return offset >= answer->offset;
}

/* Kafka has the record (or does not). */
static void written(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct sharing_answer *answer = context;
    struct sharing_writes *writes = answer->writes;
    answer->offset = offset;
    answer->give_up_us = clock_monotonic_us() + READ_BACK_MS * 1000;
    if (code) {
        write_problem(request, code);
        answer_free(answer);
    } else if (read_back(answer)) {
        answer_give(answer);
    } else {
        answer->next = writes->waiting;
        writes->waiting = answer;
    }
}

/* Gives the answers that are due: of that user, or (user -1) those that have waited long enough. */
static void give_due(struct sharing_writes *writes, int64_t user, int64_t now_us) {
    struct sharing_answer **at = &writes->waiting;
    while (*at) {
        struct sharing_answer *answer = *at;
        if (user < 0 ? answer->give_up_us > now_us : answer->user != user || !read_back(answer)) {
            at = &answer->next;
            continue;
        }
        *at = answer->next;
        answer_give(answer);
    }
}

static void look(void *context) { give_due(context, -1, clock_monotonic_us()); }

void sharing_writes_noticed(struct sharing_writes *writes, int64_t user) { give_due(writes, user, 0); }

void sharing_writes_give_up(struct sharing_writes *writes) { give_due(writes, -1, INT64_MAX); }

static void put_sharing(void *state, const struct call *call) {
    struct sharing_writes *writes = state;
    json_t *object = call_body(call);
    if (!object) return;
    struct sharing sharing;
    struct error error;
    if (parse_mode(object, &sharing.mode, &error)) {
        http_problem(call->request, 400, "bad_mode", error.text, 0);
    } else if (parse_until(object, sharing.mode, writes->wall_clock ? clock_wall_ms() : 0, &sharing.until, &error)) {
        http_problem(call->request, 400, "bad_until", error.text, 0);
    } else if (parse_details(object, sharing.mode, &sharing.details, &error)) {
        http_problem(call->request, 400, "bad_details", error.text, 0);
    } else {
        int64_t user = call->claims.user;
        struct buffer record = {0};
        struct sharing_answer *answer =
            MEM_NEW(&(struct sharing_answer){.writes = writes, .request = call->request, .user = user});
        put_json(&answer->body, user, &sharing);
        sharing_encode(&record, &sharing);
        struct write *write = write_new(writes->writer, call->request, written, answer);
        write_user(write, &TOPIC_SHARING, user, &record);
        write_end(write);
        buffer_free(&record);
    }
    json_decref(object);
}

struct sharing_writes *sharing_writes_new(uv_loop_t *loop, struct writer *writer, const struct sharing_modes *modes,
                                          bool wall_clock) {
    struct sharing_writes *writes = mem_alloc(sizeof *writes);
    *writes = (struct sharing_writes){.writer = writer,
                                      .modes = modes,
                                      .wall_clock = wall_clock,
                                      .look = loop_timer_new(loop, LOOK_MS, LOOK_MS, look, writes)};
    return writes;
}

void sharing_writes_free(struct sharing_writes *writes) {
    if (!writes) return;
    sharing_writes_give_up(writes);
    loop_timer_free(writes->look);
    free(writes);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/sharing", get_sharing, NEEDS_USER},
    {"PUT", "/v1/sharing", put_sharing, NEEDS_USER},
};
const struct endpoint_list SHARING_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};

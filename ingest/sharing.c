/* Sharing: read from the local copy, written to its topic. Whoever turns it on reports next, and reports are checked against the
 * copy: so the answer to PUT waits until this gateway has read its own write back. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "ingest/gateway.h"

enum { READ_BACK_MS = 2000 };

/*     PUT --write--> Kafka acknowledges --(the copy is behind)--> in sharing_answers --copy has it, or 2 s--> 200 */
struct sharing_answer {
    struct sharing_answer *next;
    struct http_request *request;
    int64_t user, offset, give_up_us;
    struct buffer body;
};

static const char *const MODES[] = {[SHARING_OFF] = "off", [SHARING_FRIENDS] = "friends", [SHARING_PUBLIC] = "public"};

static void put_json(struct buffer *body, int64_t user, enum sharing_mode mode) {
    buffer_string(body, "{\"user\":");
    json_put_int(body, user);
    buffer_format(body, ",\"mode\":\"%s\"}", MODES[mode]);
}

void get_sharing(const struct call *call) {
    int64_t user = call_user(call), offset;
    if (user < 0) return;
    struct buffer body = {0};
    put_json(&body, user, copies_sharing(call->gateway->copies, user, &offset));
    http_reply_json(call->request, 200, &body);
    buffer_free(&body);
}

static int parse_mode(const json_t *object, enum sharing_mode *mode, struct error *error) {
    const char *text;
    if (json_want_text(object, "mode", &text, error)) return -EINVAL;
    for (size_t i = 0; i < ARRAY_SIZE(MODES); i++) {
        if (strcmp(text, MODES[i]) != 0) continue;
        *mode = (enum sharing_mode)i;
        return 0;
    }
    return error_set(error, -EINVAL, "\"mode\" must be off, friends or public");
}

static void answer_free(struct sharing_answer *answer) {
    buffer_free(&answer->body);
    free(answer);
}

static void answer_give(struct sharing_answer *answer) {
    http_reply_json(answer->request, 200, &answer->body);
    answer_free(answer);
}

static bool read_back(const struct gateway *gateway, const struct sharing_answer *answer) {
    int64_t offset;
    copies_sharing(gateway->copies, answer->user, &offset);
    return offset >= answer->offset;
}

/* Kafka has the record (or does not). */
static void written(struct gateway *gateway, struct http_request *request, void *context, int code, int32_t partition,
                    int64_t offset) {
    struct sharing_answer *answer = context;
    (void)partition;
    answer->offset = offset;
    answer->give_up_us = clock_monotonic_us() + READ_BACK_MS * 1000;
    if (code) {
        write_problem(request, code);
        answer_free(answer);
    } else if (read_back(gateway, answer)) {
        answer_give(answer);
    } else {
        answer->next = gateway->sharing_answers;
        gateway->sharing_answers = answer;
    }
}

/* Gives the answers that are due: of that user, or (user -1) those that have waited long enough. */
static void give_due(struct gateway *gateway, int64_t user, int64_t now_us) {
    struct sharing_answer **at = &gateway->sharing_answers;
    while (*at) {
        struct sharing_answer *answer = *at;
        if (user < 0 ? answer->give_up_us > now_us : answer->user != user || !read_back(gateway, answer)) {
            at = &answer->next;
            continue;
        }
        *at = answer->next;
        answer_give(answer);
    }
}

void sharing_noticed(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    (void)mode;
    (void)offset;
    give_due(context, user, 0);
}

void sharing_second(void *context) { give_due(context, -1, clock_monotonic_us()); }

void sharing_give_up(struct gateway *gateway) { give_due(gateway, -1, INT64_MAX); }

void put_sharing(const struct call *call) {
    int64_t user = call_user(call);
    if (user < 0) return;
    json_t *object = call_body(call);
    if (!object) return;
    struct sharing sharing;
    struct error error;
    if (parse_mode(object, &sharing.mode, &error)) {
        http_problem(call->request, 400, "bad_mode", error.text, 0);
    } else {
        struct sharing_answer *answer = mem_alloc(sizeof *answer);
        *answer = (struct sharing_answer){.request = call->request, .user = user};
        put_json(&answer->body, user, sharing.mode);
        buffer_clear(&call->gateway->record);
        event_encode_sharing(&call->gateway->record, &sharing);
        struct write *write = write_new(call->gateway, call->request, answer, written);
        write_send(write, &TOPIC_SHARING, user);
        write_end(write);
    }
    json_decref(object);
}

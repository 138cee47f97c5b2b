/* The comments and likes of a user in one partition, or the reports, or the former texts of comments: for whoever forgets the user, or exports what is kept. */
#include <inttypes.h>

#include "comments/replies_private.h"
#include "json/json.h"

enum { WORK = 4000 /* rows that an answer looks at: about 4 ms */ };

struct of_user {
    struct comment_question *question;
    struct buffer *body;
    size_t count, limit;
    const char *reaction; /* what reactions are that are found */
};

/* The former texts of a comment, the oldest first. */
static bool put_former(void *context, const struct event_text *subject, int64_t comment, bool reaction) {
    struct of_user *found = context;
    struct threads *threads = found->question->replies->options.threads;
    struct comment_text text;
    struct error error;
    for (int64_t version = 1; !reaction; version++, found->count++) {
        if (threads_former(threads, found->question->partition, subject, comment, version, &text, &error) != 1) break;
        buffer_string(found->body, found->count ? ",{\"subject\":" : "{\"subject\":");
        json_put_text(found->body, subject->data, subject->size);
        buffer_format(found->body, ",\"comment\":\"%" PRId64 "\",\"version\":%" PRId64 ",\"text\":", comment, version);
        json_put_text(found->body, text.text.data, text.text.size);
        buffer_byte(found->body, '}');
    }
    return found->count < found->limit && found->body->size < REPLIES_BODY_MAX;
}

static bool put_item(void *context, const struct event_text *subject, int64_t comment, bool reaction) {
    struct of_user *found = context;
    buffer_string(found->body, found->count++ ? ",{\"subject\":" : "{\"subject\":");
    json_put_text(found->body, subject->data, subject->size);
    if (comment)
        buffer_format(found->body, ",\"comment\":\"%" PRId64 "\"", comment);
    else
        buffer_string(found->body, ",\"comment\":null"); // the subject itself
    buffer_format(found->body, ",\"what\":\"%s\"}", reaction ? found->reaction : "comment");
    return found->count < found->limit;
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_place(const char *text, struct buffer *place) {
    for (; *text; text += 2) {
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);
        if (low < 0) return false;
        buffer_byte(place, (uint8_t)(high << 4 | low));
    }
    return true;
}

static void put_place(struct buffer *body, const struct buffer *place) {
    static const char DIGITS[] = "0123456789abcdef";
    buffer_byte(body, '"');
    for (size_t i = 0; i < place->size; i++) {
        buffer_byte(body, (uint8_t)DIGITS[place->data[i] >> 4]);
        buffer_byte(body, (uint8_t)DIGITS[place->data[i] & 15]);
    }
    buffer_byte(body, '"');
}

static void answer(struct comment_question *question, const struct rpc_asked *asked, struct buffer *place) {
    bool reports = asked->texts[RPC_REPORTS], edits = asked->texts[RPC_EDITS];
    struct comment_replies *replies = question->replies;
    struct of_user found = {.question = question,
                            .body = &replies->body,
                            .limit = (size_t)asked->numbers[RPC_LIMIT],
                            .reaction = reports ? "report" : "like"};
    struct error error;
    buffer_string(&replies->body, "{\"items\":[");
    int code = threads_of_user(replies->options.threads, question->partition, asked->numbers[RPC_USER], reports, place,
                               WORK, edits ? put_former : put_item, &found, &error);
    if (code) {
        comment_replies_failed(question, code, &error);
        return;
    }
    buffer_string(&replies->body, "],\"next\":");
    if (place->size)
        put_place(&replies->body, place);
    else
        buffer_string(&replies->body, "null");
    buffer_byte(&replies->body, '}');
    http_reply_json(question->request, 200, &replies->body);
}

void comment_replies_of_user(void *context, struct http_request *request, const struct rpc_asked *asked) {
    const char *after = asked->texts[RPC_AFTER], *reports = asked->texts[RPC_REPORTS];
    struct comment_question question;
    struct buffer place = {.data = NULL};
    comment_question_begin(&question, context, request, asked);
    if (!after && (reports || asked->texts[RPC_LIKES])) threads_reactions(&place);
    if (after && !read_place(after, &place))
        rpc_bad_query(request);
    else
        answer(&question, asked, &place);
    buffer_free(&place);
}

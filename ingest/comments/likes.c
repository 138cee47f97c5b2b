#include "ingest/comments/likes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "ids/ids.h"

enum { IDS_A_QUESTION = 250 /* 5 KB of a URL */, TIMEOUT_MS = 500 };

/* The questions go one after the other: most answers need one. */
struct likes_question {
    struct comments_gateway *gateway;
    struct likes_wish wish;
    char subject[SUBJECT_MAX + 1];
    size_t asked; /* of the answer's places */
    int64_t *liked;
    size_t count;
};

static int rising(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void finish(struct likes_question *question, bool good) {
    qsort(question->liked, question->count, sizeof *question->liked, rising);
    question->wish.done(question->wish.context, good ? question->liked : NULL, question->count);
    free(question->liked);
    free(question);
}

static void ask_next(struct likes_question *question);

/* Reads {"liked":[id, ...]}. */
static bool read_liked(struct likes_question *question, const char *reply, size_t size) {
    struct json_scan scan = json_scan_of(reply, size);
    struct json_bytes key, id;
    bool good = json_scan_object(&scan) && json_scan_member(&scan, &key) && json_bytes_are(&key, "liked");
    good = good && json_scan_array(&scan);
    while (good && json_scan_element(&scan) && question->count < question->wish.shown->count)
        good = json_scan_text(&scan, &id) && ids_parse(id.data, id.size, &question->liked[question->count++]);
    return good && !scan.bad;
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct likes_question *question = context;
    bool good = code == 0 && status == 200 && read_liked(question, text, size);
    if (good && question->asked < question->wish.shown->count)
        ask_next(question);
    else
        finish(question, good);
}

static void ask_next(struct likes_question *question) {
    const struct comments_gateway *gateway = question->gateway;
    const struct shown_comments *shown = question->wish.shown;
    struct buffer ids = {0};
    for (size_t n = 0; n < IDS_A_QUESTION && question->asked < shown->count; n++) {
        if (n) buffer_byte(&ids, ',');
        text_int(&ids, shown->places[question->asked++].comment);
    }
    rpc_ask(gateway->owners, &ASK_LIKES,
            RPC_VALUES(RPC_TEXT(SUBJECT, question->subject), RPC_INT(USER, question->wish.user),
                       RPC_TEXT(IDS, buffer_cstring(&ids))),
            TIMEOUT_MS, answered, question);
    buffer_free(&ids);
}

void likes_ask(struct comments_gateway *gateway, const struct likes_wish *wish) {
    struct likes_question *question = mem_alloc(sizeof *question);
    *question = (struct likes_question){
        .gateway = gateway, .wish = *wish, .liked = mem_alloc((wish->shown->count + 1) * sizeof *question->liked)};
    snprintf(question->subject, sizeof question->subject, "%s", wish->subject);
    question->wish.subject = NULL; // the caller's
    if (wish->shown->count)
        ask_next(question);
    else
        finish(question, true);
}

#include "ingest/comments/likes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

static bool read_liked(struct likes_question *question, const json_t *list) {
    if (!json_is_array(list)) return false;
    for (size_t i = 0; i < json_array_size(list) && question->count < question->wish.shown->count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text || !ids_parse(text, strlen(text), &question->liked[question->count])) return false;
        question->count++;
    }
    return true;
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct likes_question *question = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    bool good = read_liked(question, json_object_get(reply, "liked"));
    json_decref(reply);
    if (good && question->asked < question->wish.shown->count)
        ask_next(question);
    else
        finish(question, good);
}

static void ask_next(struct likes_question *question) {
    const struct comments_gateway *gateway = question->gateway;
    const struct shown_comments *shown = question->wish.shown;
    struct buffer path = {0};
    buffer_string(&path, "/peer/comments/likes/");
    comments_put_path(&path, question->subject);
    buffer_format(&path, "?user=%" PRId64 "&ids=", question->wish.user);
    for (size_t n = 0; n < IDS_A_QUESTION && question->asked < shown->count; n++)
        buffer_format(&path, "%s%" PRId64, n ? "," : "", shown->places[question->asked++].comment);
    peers_fetch(gateway->owners, peers_of_subject(gateway->owners, question->subject), buffer_cstring(&path),
                TIMEOUT_MS, answered, question);
    buffer_free(&path);
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

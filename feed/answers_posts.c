#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "feed/answers_private.h"
#include "ids/ids.h"
#include "json/json.h"

enum { MANY_IDS = 1100, MANY_AUTHORS = 5000 };

/* Reads a list of numbers separated by commas; *count: how many. */
static bool numbers_of(const char *text, int64_t *numbers, size_t max, size_t *count) {
    for (*count = 0; text && *text; text += *text == ',') {
        size_t size = strcspn(text, ",");
        if (*count == max || !text_number(text, size, INT64_MAX, &numbers[(*count)++])) return false;
        text += size;
    }
    return *count > 0;
}

/* ---- posts ---- */

static void put_media(struct buffer *body, const struct event_texts *media) {
    buffer_string(body, ",\"media\":[");
    for (size_t i = 0; i < media->count; i++) {
        if (i) buffer_byte(body, ',');
        json_put_text(body, media->items[i].data, media->items[i].size);
    }
    buffer_byte(body, ']');
}

int answers_put_post(struct answers *answers, int32_t partition, const struct post_found *post, struct buffer *body,
                     struct error *error) {
    struct post_text text;
    int code = posts_text(answers->options.posts, partition, post->author, post->id, &answers->text, error);
    if (code <= 0) return code;
    code = event_decode_post_text(answers->codec, answers->text.data, answers->text.size, &text, error);
    if (code) return code;
    buffer_string(body, "{\"id\":");
    answers_put_id(body, post->id);
    buffer_format(body, ",\"user\":%" PRId64 ",\"text\":", post->author);
    json_put_text(body, text.text.data, text.text.size);
    put_media(body, &text.media);
    buffer_format(body, ",\"time\":%" PRId64 "}", ids_time_ms(post->id));
    return 1;
}

void answers_posts(struct answers *answers, struct http_request *request, int32_t partition) {
    int64_t ids[MANY_IDS];
    size_t count;
    struct error error;
    int code = 0;
    if (!numbers_of(http_query(request, "ids"), ids, MANY_IDS, &count)) {
        answers_bad_query(request);
        return;
    }
    if (answers_refused(answers, request, partition)) return;
    answers_start(answers, "{\"items\":[");
    for (size_t i = 0; code >= 0 && i < count; i++) {
        struct post_found post = {.found = false};
        if (i) buffer_byte(&answers->body, ',');
        if (ids_partition(ids[i]) == partition)
            code = posts_find(answers->options.posts, partition, ids[i], &post, &error);
        bool live = code >= 0 && post.found && !post.deleted;
        if (live) code = answers_put_post(answers, partition, &post, &answers->body, &error);
        if (!live || !code) buffer_string(&answers->body, "null");
    }
    buffer_string(&answers->body, "]}");
    if (code < 0)
        answers_store_failed(request, &error);
    else
        answers_reply(answers, request);
}

void answers_written(struct answers *answers, struct http_request *request, int64_t user) {
    int64_t ids[ANSWERS_LIMIT_MAX], above, before, limit;
    int32_t partition = answers_partition(answers, user);
    size_t count;
    bool more;
    struct error error;
    if (!answers_limit(request, &limit) || !http_query_number(request, "above", 0, INT64_MAX, &above) ||
        !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before)) {
        answers_bad_query(request);
        return;
    }
    if (answers_refused(answers, request, partition)) return;
    int code =
        posts_of(answers->options.posts, partition, user, above, before, ids, (size_t)limit, &count, &more, &error);
    answers_start(answers, "{\"items\":[");
    bool any = false;
    for (size_t i = 0; code >= 0 && i < count; i++) {
        struct post_found post = {.found = true, .author = user, .id = ids[i]};
        size_t size = answers->body.size;
        if (any) buffer_byte(&answers->body, ',');
        code = answers_put_post(answers, partition, &post, &answers->body, &error);
        if (code == 1)
            any = true;
        else
            answers->body.size = size; // its text was deleted, and the index is not read so far yet
    }
    if (code < 0) {
        answers_store_failed(request, &error);
        return;
    }
    buffer_string(&answers->body, "],\"next\":");
    if (more)
        answers_put_id(&answers->body, ids[count - 1]);
    else
        buffer_string(&answers->body, "null");
    buffer_byte(&answers->body, '}');
    answers_reply(answers, request);
}

/* ---- older posts of many authors ---- */

static int newest_first(const void *a, const void *b) {
    const struct inbox_post *x = a, *y = b;
    return (x->id < y->id) - (x->id > y->id);
}

static int gather_older(struct answers *answers, int32_t partition, const int64_t *authors, size_t author_count,
                        int64_t before, size_t limit, struct inbox_post *posts, size_t *count, struct error *error) {
    int64_t ids[ANSWERS_LIMIT_MAX];
    size_t found;
    bool more;
    *count = 0;
    for (size_t i = 0; i < author_count; i++) {
        if (answers_partition(answers, authors[i]) != partition) continue;
        // An author's posts count only if they are above the last of those that fill the page already.
        int64_t above = *count == limit ? posts[limit - 1].id : 0;
        int code =
            posts_of(answers->options.posts, partition, authors[i], above, before, ids, limit, &found, &more, error);
        if (code) return code;
        for (size_t k = 0; k < found; k++) posts[*count + k] = (struct inbox_post){.id = ids[k], .author = authors[i]};
        *count += found;
        if (!found) continue;
        qsort(posts, *count, sizeof *posts, newest_first);
        if (*count > limit) *count = limit;
    }
    return 0;
}

void answers_older(struct answers *answers, struct http_request *request, int32_t partition) {
    struct error error;
    int64_t *authors = mem_alloc(MANY_AUTHORS * sizeof *authors), before, limit;
    struct inbox_post *posts = NULL;
    size_t count, found;
    if (!numbers_of(http_query(request, "authors"), authors, MANY_AUTHORS, &count) || !answers_limit(request, &limit) ||
        !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before)) {
        answers_bad_query(request);
        goto finish;
    }
    if (answers_refused(answers, request, partition)) goto finish;
    posts = mem_alloc(2 * (size_t)limit * sizeof *posts);
    if (gather_older(answers, partition, authors, count, before, (size_t)limit, posts, &found, &error)) {
        answers_store_failed(request, &error);
        goto finish;
    }
    answers_start(answers, "{");
    answers_put_refs(&answers->body, posts, found);
    buffer_byte(&answers->body, '}');
    answers_reply(answers, request);
finish:
    free(authors);
    free(posts);
}

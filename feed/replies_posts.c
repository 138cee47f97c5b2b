#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "feed/replies_private.h"
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

int replies_put_post(struct replies *replies, int32_t partition, const struct post_found *post, struct buffer *body,
                     struct error *error) {
    struct post_text text;
    int code = posts_text(replies->options.posts, partition, post->author, post->id, &replies->text, error);
    if (code <= 0) return code;
    code = event_decode_post_text(replies->codec, replies->text.data, replies->text.size, &text, error);
    if (code) return code;
    buffer_string(body, "{\"id\":");
    replies_put_id(body, post->id);
    buffer_format(body, ",\"user\":%" PRId64 ",\"text\":", post->author);
    json_put_text(body, text.text.data, text.text.size);
    put_media(body, &text.media);
    buffer_format(body, ",\"time\":%" PRId64 "}", ids_time_ms(post->id));
    return 1;
}

/* The text is read from another topic: it may be a moment late, or be deleted already. */
static void put_post_without_text(struct buffer *body, const struct post_found *post) {
    buffer_string(body, "{\"id\":");
    replies_put_id(body, post->id);
    buffer_format(body, ",\"user\":%" PRId64 "}", post->author);
}

void replies_posts(struct replies *replies, struct http_request *request, int32_t partition) {
    int64_t ids[MANY_IDS];
    size_t count;
    struct error error;
    int code = 0;
    if (!numbers_of(http_query(request, "ids"), ids, MANY_IDS, &count)) {
        replies_bad_query(request);
        return;
    }
    if (replies_refused(replies, request, partition)) return;
    replies_start(replies, "{\"items\":[");
    for (size_t i = 0; code >= 0 && i < count; i++) {
        struct post_found post = {.found = false};
        if (i) buffer_byte(&replies->body, ',');
        int32_t its = ids_partition(ids[i]);
        bool served = replies_serves(replies, its);
        if (served) code = posts_find(replies->options.posts, its, ids[i], &post, &error);
        bool live = code >= 0 && post.found && !post.deleted;
        if (live) code = replies_put_post(replies, its, &post, &replies->body, &error);
        if (!live)
            buffer_string(&replies->body, served ? "null" : "false");
        else if (!code)
            put_post_without_text(&replies->body, &post);
    }
    buffer_string(&replies->body, "]}");
    if (code < 0)
        replies_store_failed(request, &error);
    else
        replies_reply(replies, request);
}

void replies_written(struct replies *replies, struct http_request *request, int64_t user) {
    int64_t ids[REPLIES_LIMIT_MAX], above, before, limit;
    int32_t partition = replies_partition(replies, user);
    size_t count;
    bool more;
    struct error error;
    if (!replies_limit(request, &limit) || !http_query_number(request, "above", 0, INT64_MAX, &above) ||
        !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before)) {
        replies_bad_query(request);
        return;
    }
    if (replies_refused(replies, request, partition)) return;
    int code =
        posts_of(replies->options.posts, partition, user, above, before, ids, (size_t)limit, &count, &more, &error);
    replies_start(replies, "{\"items\":[");
    bool any = false;
    for (size_t i = 0; code >= 0 && i < count; i++) {
        struct post_found post = {.found = true, .author = user, .id = ids[i]};
        size_t size = replies->body.size;
        if (any) buffer_byte(&replies->body, ',');
        code = replies_put_post(replies, partition, &post, &replies->body, &error);
        if (code == 1)
            any = true;
        else
            replies->body.size = size; // its text was deleted, and the index is not read so far yet
    }
    if (code < 0) {
        replies_store_failed(request, &error);
        return;
    }
    buffer_string(&replies->body, "],\"next\":");
    if (more)
        replies_put_id(&replies->body, ids[count - 1]);
    else
        buffer_string(&replies->body, "null");
    buffer_byte(&replies->body, '}');
    replies_reply(replies, request);
}

/* ---- older posts of many authors ---- */

static int newest_first(const void *a, const void *b) {
    const struct inbox_post *x = a, *y = b;
    return (x->id < y->id) - (x->id > y->id);
}

static int gather_older(struct replies *replies, int32_t partition, const int64_t *authors, size_t author_count,
                        int64_t before, size_t limit, struct inbox_post *posts, size_t *count, struct error *error) {
    int64_t ids[REPLIES_LIMIT_MAX];
    size_t found;
    bool more;
    *count = 0;
    for (size_t i = 0; i < author_count; i++) {
        if (replies_partition(replies, authors[i]) != partition) continue;
        // An author's posts count only if they are above the last of those that fill the page already.
        int64_t above = *count == limit ? posts[limit - 1].id : 0;
        int code =
            posts_of(replies->options.posts, partition, authors[i], above, before, ids, limit, &found, &more, error);
        if (code) return code;
        for (size_t k = 0; k < found; k++) posts[*count + k] = (struct inbox_post){.id = ids[k], .author = authors[i]};
        *count += found;
        if (!found) continue;
        qsort(posts, *count, sizeof *posts, newest_first);
        if (*count > limit) *count = limit;
    }
    return 0;
}

void replies_older(struct replies *replies, struct http_request *request, int32_t partition) {
    struct error error;
    int64_t *authors = mem_alloc(MANY_AUTHORS * sizeof *authors), before, limit;
    struct inbox_post *posts = NULL;
    size_t count, found;
    if (!numbers_of(http_query(request, "authors"), authors, MANY_AUTHORS, &count) || !replies_limit(request, &limit) ||
        !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before)) {
        replies_bad_query(request);
        goto finish;
    }
    if (replies_refused(replies, request, partition)) goto finish;
    posts = mem_alloc(2 * (size_t)limit * sizeof *posts);
    if (gather_older(replies, partition, authors, count, before, (size_t)limit, posts, &found, &error)) {
        replies_store_failed(request, &error);
        goto finish;
    }
    replies_start(replies, "{");
    replies_put_refs(&replies->body, posts, found);
    buffer_byte(&replies->body, '}');
    replies_reply(replies, request);
finish:
    free(authors);
    free(posts);
}

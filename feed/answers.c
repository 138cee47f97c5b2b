#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/topics.h"
#include "feed/answers_private.h"
#include "ids/ids.h"
#include "json/json.h"

enum { MANY_IDS = 1100, MANY_AUTHORS = 5000 };

int answers_refused(struct answers *answers, struct http_request *request, int32_t partition) {
    int code = partition < answers->options.partitions ? owner_serves(answers->options.owner, partition) : -ESTALE;
    if (code == -ESTALE)
        http_problem(request, 421, "not-the-owner", "another process owns this key", 0);
    else if (code)
        http_problem(request, 503, "restoring", "this key's state is being restored", 1);
    return code;
}

void answers_bad_query(struct http_request *request) {
    http_problem(request, 400, "bad-query", "a value is missing or out of range", 0);
}

void answers_store_failed(struct http_request *request, const struct error *error) {
    http_problem(request, 500, "store", error->text, 0);
}

static int32_t partition_of(const struct answers *answers, int64_t user) {
    return hash_user_partition(user, answers->options.partitions);
}

static bool limit_of(const struct http_request *request, int64_t *limit) {
    return http_query_number(request, "limit", ANSWERS_LIMIT_DEFAULT, ANSWERS_LIMIT_MAX, limit) && *limit >= 1;
}

/* Reads a list of numbers separated by commas; *count: how many. */
static bool numbers_of(const char *text, int64_t *numbers, size_t max, size_t *count) {
    for (*count = 0; text && *text; text += *text == ',') {
        size_t size = strcspn(text, ",");
        if (*count == max || !text_number(text, size, INT64_MAX, &numbers[(*count)++])) return false;
        text += size;
    }
    return *count > 0;
}

static void reply(struct answers *answers, struct http_request *request) {
    http_reply_json(request, 200, &answers->body);
}

static void start_reply(struct answers *answers, const char *text) {
    buffer_clear(&answers->body);
    buffer_string(&answers->body, text);
}

void answers_put_id(struct buffer *body, int64_t id) { buffer_format(body, "\"%" PRId64 "\"", id); }

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

static void posts(struct answers *answers, struct http_request *request, int32_t partition) {
    int64_t ids[MANY_IDS];
    size_t count;
    struct error error;
    int code = 0;
    if (!numbers_of(http_query(request, "ids"), ids, MANY_IDS, &count)) {
        answers_bad_query(request);
        return;
    }
    if (answers_refused(answers, request, partition)) return;
    start_reply(answers, "{\"items\":[");
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
        reply(answers, request);
}

static void written(struct answers *answers, struct http_request *request, int64_t user) {
    int64_t ids[ANSWERS_LIMIT_MAX], above, before, limit;
    int32_t partition = partition_of(answers, user);
    size_t count;
    bool more;
    struct error error;
    if (!limit_of(request, &limit) || !http_query_number(request, "above", 0, INT64_MAX, &above) ||
        !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before)) {
        answers_bad_query(request);
        return;
    }
    if (answers_refused(answers, request, partition)) return;
    int code =
        posts_of(answers->options.posts, partition, user, above, before, ids, (size_t)limit, &count, &more, &error);
    start_reply(answers, "{\"items\":[");
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
    reply(answers, request);
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
        if (partition_of(answers, authors[i]) != partition) continue;
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

static void put_refs(struct buffer *body, const struct inbox_post *posts, size_t count) {
    buffer_string(body, "\"posts\":[");
    for (size_t i = 0; i < count; i++) {
        buffer_string(body, i ? ",{\"id\":" : "{\"id\":");
        answers_put_id(body, posts[i].id);
        buffer_format(body, ",\"user\":%" PRId64 "}", posts[i].author);
    }
    buffer_byte(body, ']');
}

static void older(struct answers *answers, struct http_request *request, int32_t partition) {
    struct error error;
    int64_t *authors = mem_alloc(MANY_AUTHORS * sizeof *authors), before, limit;
    struct inbox_post *posts = NULL;
    size_t count, found;
    if (!numbers_of(http_query(request, "authors"), authors, MANY_AUTHORS, &count) || !limit_of(request, &limit) ||
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
    start_reply(answers, "{");
    put_refs(&answers->body, posts, found);
    buffer_byte(&answers->body, '}');
    reply(answers, request);
finish:
    free(authors);
    free(posts);
}

/* ---- the home timeline ---- */

/* Begins the reader's inbox anew, unless that was done a moment ago. */
static int begin(struct answers *answers, int32_t partition, int64_t user, struct error *error) {
    enum { AGAIN_MS = 3000 };
    int64_t wanted[IDS_PARTITIONS_MAX], now = clock_monotonic_us() / 1000;
    size_t count;
    bool created;
    uint64_t *sent = map_put(answers->begun, (uint64_t)user, &created);
    if (!created && now - (int64_t)*sent < AGAIN_MS) return 0;
    *sent = (uint64_t)now;
    int code = effects_wanted(answers->options.effects, partition, user, wanted, &count, error);
    if (code) return code;
    struct timeline_item item = {.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {.items = wanted, .count = count}}};
    outbox_put(answers->options.outbox, &TOPIC_TIMELINES, partition, &user, 1, &item);
    outbox_flush(answers->options.outbox);
    return 0;
}

/* The inbox as it is; begins it if there is none, or if nobody has looked at it for long. */
static int look_at_inbox(struct answers *answers, int32_t partition, int64_t user, struct error *error) {
    int code = inboxes_find(answers->options.inboxes, partition, user, &answers->inbox, error);
    if (code) return code;
    bool old = answers->inbox.request >= 0 && clock_wall_ms() - answers->inbox.opened_ms > answers->options.away_ms / 2;
    if (inbox_complete(&answers->inbox)) map_remove(answers->begun, (uint64_t)user, NULL);
    if (!inbox_complete(&answers->inbox) || old) code = begin(answers, partition, user, error);
    return code;
}

/* What the page consists of; the caller's buffers hold it. */
static int make_page(struct answers *answers, int32_t partition, int64_t user, int64_t before, size_t limit,
                     struct error *error) {
    struct relation_lists *relations = answers->options.relations;
    int code = relation_lists_all(relations, partition, user, RELATION_FOLLOWING, &answers->following, error);
    if (!code) code = relation_lists_all(relations, partition, user, RELATION_MUTED, &answers->muted, error);
    if (!code)
        page_merge(answers->scratch, &answers->inbox, answers->options.hot, answers->following.items,
                   answers->following.count, answers->muted.items, answers->muted.count, before, limit, &answers->page);
    return code;
}

static void put_following(struct answers *answers) {
    struct buffer *body = &answers->body;
    size_t muted, put = 0;
    buffer_string(body, ",\"following\":[");
    for (size_t i = 0; i < answers->following.count; i++) {
        if (id_list_find(&answers->muted, answers->following.items[i], &muted)) continue;
        buffer_format(body, "%s%" PRId64, put++ ? "," : "", answers->following.items[i]);
    }
    buffer_byte(body, ']');
}

bool answers_feed_now(struct answers *answers, struct http_request *request, int64_t user, int64_t before, size_t limit,
                      bool last) {
    int32_t partition = partition_of(answers, user);
    struct error error;
    if (answers_refused(answers, request, partition)) return true;
    int code = look_at_inbox(answers, partition, user, &error);
    bool complete = !code && inbox_complete(&answers->inbox);
    if (!code && !complete && !last) return false;
    if (!code) code = make_page(answers, partition, user, before, limit, &error);
    if (code) {
        answers_store_failed(request, &error);
        return true;
    }
    bool little = answers->page.count < limit && answers->page.horizon > 0;
    start_reply(answers, complete ? "{\"complete\":true,\"horizon\":" : "{\"complete\":false,\"horizon\":");
    answers_put_id(&answers->body, answers->page.count < limit ? answers->page.horizon : 0);
    buffer_byte(&answers->body, ',');
    put_refs(&answers->body, answers->page.posts, answers->page.count);
    if (little) put_following(answers);
    buffer_byte(&answers->body, '}');
    reply(answers, request);
    return true;
}

static void feed(struct answers *answers, struct http_request *request, int64_t user) {
    int64_t before, limit;
    if (!limit_of(request, &limit) || !http_query_number(request, "before", INT64_MAX, INT64_MAX, &before))
        answers_bad_query(request);
    else if (!answers_feed_now(answers, request, user, before, (size_t)limit, false))
        answers_wait_feed(answers, request, user, before, (size_t)limit);
}

/* ---- users ---- */

static void user_counts(struct answers *answers, struct http_request *request, int64_t user) {
    const struct answers_options *options = &answers->options;
    int32_t partition = partition_of(answers, user);
    size_t followers, following;
    int64_t count;
    struct error error;
    if (answers_refused(answers, request, partition)) return;
    int code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWER, &followers, &error);
    if (!code) code = relation_lists_count(options->relations, partition, user, RELATION_FOLLOWING, &following, &error);
    if (!code) code = posts_count(options->posts, partition, user, &count, &error);
    if (code) {
        answers_store_failed(request, &error);
        return;
    }
    start_reply(answers, "");
    buffer_format(&answers->body, "{\"followers\":%zu,\"following\":%zu,\"posts\":%" PRId64 "}", followers, following,
                  count);
    reply(answers, request);
}

static bool relation_of(const struct http_request *request, enum relation *relation) {
    static const char *const NAMES[] = {"", "following", "followers", "muted"};
    const char *name = http_query(request, "relation");
    for (int i = RELATION_FOLLOWING; name && i <= RELATION_MUTED; i++) {
        if (strcmp(name, NAMES[i])) continue;
        *relation = (enum relation)i;
        return true;
    }
    return false;
}

/* Ids lie together in slices: a page may need several, and the end of one is no end of the list. */
static int list_items(struct answers *answers, int32_t partition, int64_t user, enum relation relation, int64_t after,
                      size_t limit, int64_t *next, struct error *error) {
    struct id_list *ids = &answers->following;
    size_t put = 0;
    *next = -1;
    while (put < limit) {
        int code = relation_lists_slice(answers->options.relations, partition, user, relation, after, ids, error);
        if (code || !ids->count) return code;
        for (size_t i = 0; i < ids->count && put < limit; i++) {
            after = ids->items[i];
            buffer_format(&answers->body, "%s{\"user\":%" PRId64 "}", put++ ? "," : "", after);
        }
    }
    int code = relation_lists_slice(answers->options.relations, partition, user, relation, after, ids, error);
    if (!code && ids->count) *next = after;
    return code;
}

static void list(struct answers *answers, struct http_request *request, int64_t user) {
    int32_t partition = partition_of(answers, user);
    enum relation relation;
    int64_t after, limit, next;
    size_t total;
    struct error error;
    if (!relation_of(request, &relation) || !limit_of(request, &limit) ||
        !http_query_number(request, "after", -1, INT64_MAX, &after)) {
        answers_bad_query(request);
        return;
    }
    if (answers_refused(answers, request, partition)) return;
    start_reply(answers, "{\"items\":[");
    int code = list_items(answers, partition, user, relation, after, (size_t)limit, &next, &error);
    if (!code) code = relation_lists_count(answers->options.relations, partition, user, relation, &total, &error);
    if (code) {
        answers_store_failed(request, &error);
        return;
    }
    buffer_string(&answers->body, "],\"next\":");
    if (next < 0)
        buffer_string(&answers->body, "null");
    else
        buffer_format(&answers->body, "%" PRId64, next);
    buffer_format(&answers->body, ",\"total\":%zu}", total);
    reply(answers, request);
}

/* ---- paths ---- */

struct question_path {
    const char *start;
    void (*of_user)(struct answers *answers, struct http_request *request, int64_t user);
    void (*of_partition)(struct answers *answers, struct http_request *request, int32_t partition);
};

static const struct question_path PATHS[] = {
    {"/peer/feed/", feed, NULL},       {"/peer/older/", NULL, older},      {"/peer/posts/", NULL, posts},
    {"/peer/written/", written, NULL}, {"/peer/user/", user_counts, NULL}, {"/peer/list/", list, NULL},
};

static bool simple_question(struct answers *answers, struct http_request *request) {
    for (size_t i = 0; i < ARRAY_SIZE(PATHS); i++) {
        const char *at = http_path_behind(request, PATHS[i].start);
        int64_t number;
        if (!at || !http_path_number(&at, &number) || *at) continue;
        if (PATHS[i].of_user)
            PATHS[i].of_user(answers, request, number);
        else
            PATHS[i].of_partition(answers, request, number < INT32_MAX ? (int32_t)number : INT32_MAX);
        return true;
    }
    return false;
}

void answers_handle(struct answers *answers, struct http_request *request) {
    if (strcmp(http_method(request), "GET"))
        http_problem(request, 405, "method", "only GET is answered here", 0);
    else if (!simple_question(answers, request) && !answers_outcome(answers, request))
        http_problem(request, 404, "not-found", "there is no such question", 0);
}

struct answers *answers_new(const struct answers_options *options) {
    struct answers *answers = mem_alloc(sizeof *answers);
    *answers = (struct answers){
        .options = *options,
        .scratch = page_scratch_new(),
        .inbox = {.request = -1},
        .codec = codec_new(),
        .begun = map_new(),
    };
    return answers;
}

void answers_free(struct answers *answers) {
    if (!answers) return;
    answers_waiting_free(answers);
    page_scratch_free(answers->scratch);
    page_free(&answers->page);
    inbox_free(&answers->inbox);
    id_list_free(&answers->following);
    id_list_free(&answers->muted);
    codec_free(answers->codec);
    buffer_free(&answers->text);
    buffer_free(&answers->body);
    map_free(answers->begun);
    free(answers);
}

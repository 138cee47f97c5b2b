#include "moderation/searches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/worker.h"
#include "edits/edits.h"
#include "json/json.h"
#include "subjects/words.h"

void found_json_put(struct buffer *out, const struct comment_wide *comment) {
    buffer_format(out, "{\"id\":\"%" PRId64 "\",\"user\":%" PRId64 ",\"text\":", comment->id, comment->user);
    if (comment->state == COMMENT_WIDE_DELETED)
        buffer_string(out, "null");
    else
        json_put_text(out, comment->text.data, comment->text.size);
    buffer_format(out, ",\"time\":%" PRId64 ",", comment->time);
    edit_put_state(out, comment->version, comment->edited);
    buffer_format(out, ",\"floor\":%" PRId32, comment->floor);
    json_member_id(out, ",\"root\":", comment->root);
    json_member_id(out, ",\"reply_to\":", comment->answers);
    buffer_format(out,
                  ",\"likes\":%" PRId64 ",\"reply_count\":%" PRId32 ",\"replies\":[],\"state\":\"%s\",\"subject\":",
                  comment->likes, comment->replies, COMMENT_STATES[comment->state]);
    json_put_text(out, comment->subject.data, comment->subject.size);
    buffer_format(out, ",\"reports\":%" PRId32 "}", comment->reports);
}

void found_post_json_put(struct buffer *out, const struct index_row *row) {
    const struct comment_wide *post = &row->comment;
    bool deleted = post->state == COMMENT_WIDE_DELETED;
    buffer_format(out, "{\"id\":\"%" PRId64 "\",\"user\":%" PRId64 ",\"text\":", post->id, post->user);
    if (deleted)
        buffer_string(out, "null");
    else
        json_put_text(out, post->text.data, post->text.size);
    buffer_string(out, ",\"media\":");
    buffer_append(out, deleted ? "[]" : row->media.data, deleted ? 2 : row->media.size);
    buffer_format(out, ",\"time\":%" PRId64 ",", post->time);
    edit_put_state(out, post->version, post->edited);
    buffer_format(out, ",\"state\":\"%s\",\"reports\":%" PRId32 "}", COMMENT_STATES[post->state], post->reports);
}

/* PAGE_BYTES: peers take no answers above 16 MiB, and a page is kept in memory as a whole. */
enum { WAITING_MAX = 100, RETRY_AFTER_S = 1, PAGE_BYTES = 1 << 20 };

struct search_reader {
    struct worker *worker;
    struct search *search; /* the worker's; NULL: not open yet */
    size_t waiting;
};

struct searches {
    struct searches_options options;
    struct search_reader *readers;
    size_t count, waiting;
    struct metric *done, *slow, *refused;
    struct histogram *seconds;
};

/* A search from the request to its answer; the worker's between. */
struct search_request {
    struct searches *searches;
    struct search_reader *reader;
    struct http_request *request;
    struct search_query query;
    struct people_query people;
    bool of_people;
    char *text, *subject, *type; /* of the query */
    struct buffer body;
    unsigned generation;     /* of the index, before the search */
    int64_t deadline_us;     /* nobody waits for the answer after it */
    int64_t last, last_user; /* id of the last comment in the body; of people: time and user of the last report */
    bool some, more;
    int code;
    struct error error;
};

static bool found(void *context, const struct index_row *row) {
    struct search_request *asked = context;
    if (asked->some) buffer_byte(&asked->body, ',');
    if (asked->query.kind == INDEX_POSTS)
        found_post_json_put(&asked->body, row);
    else
        found_json_put(&asked->body, &row->comment);
    asked->some = true;
    asked->last = row->comment.id;
    return asked->body.size < PAGE_BYTES;
}

static void found_person(void *context, const struct found_person *person) {
    struct search_request *asked = context;
    if (asked->some) buffer_byte(&asked->body, ',');
    buffer_format(&asked->body,
                  "{\"user\":%" PRId64 ",\"reports\":%" PRId64 ",\"time\":%" PRId64 ",\"reason\":", person->user,
                  person->reports, person->time);
    json_put_text(&asked->body, person->reason.data, person->reason.size);
    buffer_byte(&asked->body, '}');
    asked->some = true;
    asked->last = person->time;
    asked->last_user = person->user;
}

static void search(void *context) {
    struct search_request *asked = context;
    const struct searches_options *options = &asked->searches->options;
    struct search_reader *reader = asked->reader;
    asked->generation = index_generation(options->index);
    buffer_string(&asked->body, "{\"items\":[");
    asked->code = reader->search ? 0 : search_new(options->index, options->cache, &reader->search, &asked->error);
    if (!asked->code && asked->of_people)
        asked->code = search_people(reader->search, &asked->people, asked->deadline_us, found_person, asked,
                                    &asked->more, &asked->error);
    else if (!asked->code)
        asked->code =
            search_run(reader->search, &asked->query, asked->deadline_us, found, asked, &asked->more, &asked->error);
}

/* Damage of a file that is no longer the index is of no interest. */
static void tell_damage(const struct search_request *asked) {
    const struct searches_options *options = &asked->searches->options;
    if (asked->code == -EBADMSG && asked->generation == index_generation(options->index))
        options->on_damaged(options->context);
}

static void reply(struct search_request *asked) {
    if (asked->code == -EINVAL) {
        http_problem(asked->request, 400, "no_words", asked->error.text, 0);
    } else if (asked->code == -ETIMEDOUT) {
        asked->searches->slow->value++;
        http_problem(asked->request, 503, "search_too_slow", "the search took too long", RETRY_AFTER_S);
    } else if (asked->code) {
        log_error(asked->searches->options.log, "search failed", LOG_TEXT("reason", asked->error.text));
        http_problem(asked->request, 500, "index_failed", "the search index cannot be read", 0);
    } else {
        if (asked->more && asked->of_people)
            buffer_format(&asked->body, "],\"next\":\"%" PRId64 ".%" PRId64 "\"}", asked->last, asked->last_user);
        else if (asked->more)
            buffer_format(&asked->body, "],\"next\":\"%" PRId64 "\"}", asked->last);
        else
            buffer_string(&asked->body, "],\"next\":null}");
        http_reply_json(asked->request, 200, &asked->body);
    }
}

static void searched(void *context) {
    struct search_request *asked = context;
    struct searches *searches = asked->searches;
    searches->waiting--;
    asked->reader->waiting--;
    searches->done->value++;
    histogram_observe(searches->seconds, (double)http_age_us(asked->request) / 1e6);
    reply(asked);
    tell_damage(asked);
    buffer_free(&asked->body);
    free(asked->text);
    free(asked->subject);
    free(asked->type);
    free(asked);
}

static void start(struct searches *searches, const struct search_request *wanted) {
    struct http_request *request = wanted->request;
    if (searches->waiting >= WAITING_MAX) {
        searches->refused->value++;
        http_problem(request, 503, "busy", "too many searches wait", RETRY_AFTER_S);
        return;
    }
    struct search_reader *reader = &searches->readers[0];
    for (size_t i = 1; i < searches->count; i++)
        if (searches->readers[i].waiting < reader->waiting) reader = &searches->readers[i];
    struct search_request *asked = MEM_NEW(wanted);
    asked->searches = searches;
    asked->reader = reader;
    asked->deadline_us = clock_monotonic_us() - http_age_us(request) + searches->options.limit_ms * 1000;
    asked->query.text = asked->text = mem_string(wanted->query.text);
    asked->query.subject = asked->subject = mem_string(wanted->query.subject);
    asked->query.type = asked->type = mem_string(wanted->query.type);
    searches->waiting++;
    reader->waiting++;
    worker_run(reader->worker, search, searched, asked);
}

void searches_ask(struct searches *searches, const struct search_query *query, struct http_request *request) {
    start(searches, &(struct search_request){.request = request, .query = *query});
}

void searches_ask_people(struct searches *searches, const struct people_query *query, struct http_request *request) {
    start(searches, &(struct search_request){.request = request, .people = *query, .of_people = true});
}

static void make_metrics(struct searches *searches, struct metrics *metrics) {
    static const double BUCKETS[] = {0.001, 0.005, 0.02, 0.1, 0.5, 2};
    searches->done = metrics_counter(metrics, "starling_moderation_searches_total", "Searches that ended.", NULL);
    searches->slow = metrics_counter(metrics, "starling_moderation_searches_slow_total",
                                     "Searches that were ended because they took too long.", NULL);
    searches->refused = metrics_counter(metrics, "starling_moderation_searches_refused_total",
                                        "Searches that were refused because too many waited.", NULL);
    searches->seconds = metrics_histogram(metrics, "starling_moderation_search_seconds",
                                          "From a search's request to its answer, waiting included.", NULL, BUCKETS,
                                          ARRAY_SIZE(BUCKETS));
}

struct searches *searches_new(const struct searches_options *options) {
    struct searches *searches = MEM_NEW(&(struct searches){
        .options = *options,
        .readers = mem_zero((size_t)options->readers, sizeof *searches->readers),
        .count = (size_t)options->readers,
    });
    make_metrics(searches, options->metrics);
    for (size_t i = 0; i < searches->count; i++) searches->readers[i].worker = worker_new(options->loop);
    return searches;
}

bool searches_busy(const struct searches *searches) { return searches->waiting > 0; }

void searches_free(struct searches *searches) {
    if (!searches) return;
    for (size_t i = 0; i < searches->count; i++) {
        worker_free(searches->readers[i].worker);
        search_free(searches->readers[i].search);
    }
    free(searches->readers);
    free(searches);
}

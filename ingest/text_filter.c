#include "ingest/text_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "folding/word_list.h"
#include "json/json.h"
#include "service/http_client.h"

enum { PENDING_MAX = 500, FAILURES_MAX = 5, REST_MS = 10000, OK = 200 };

struct text_filter {
    struct service *service;
    const char *path, *url; /* "": there is none */
    int timeout_ms;
    struct word_list *words; /* NULL: there are none */
    struct http_client *client;
    int pending, failures;  /* failures: since the last answer */
    int64_t rests_until_us; /* after too many failures */
    struct metric *held_by_word, *held_by_filter, *unanswered;
};

/* A text that the filter looks at. */
struct filtering {
    struct text_filter *filter;
    void *context;
    text_filtered *done;
};

static int read_list(const char *path, struct word_list **words, struct error *error) {
    *words = NULL;
    int code = *path ? word_list_read(path, words, error) : 0;
    return code ? error_prefix(error, code, "moderation.words.file") : 0;
}

int text_filter_check(const struct ingest_settings *settings, struct error *error) {
    struct word_list *words;
    int code = http_check_url("moderation.filter.url", settings->filter_url, error);
    if (!code) code = read_list(settings->words_file, &words, error);
    if (!code) word_list_free(words);
    return code;
}

int text_filter_new(struct service *service, const struct ingest_settings *settings, struct text_filter **out,
                    struct error *error) {
    static const char NAME[] = "starling_ingest_held_total", HELP[] = "Texts that were held for moderators.";
    struct metrics *metrics = service_metrics(service);
    struct word_list *words;
    int code = read_list(settings->words_file, &words, error);
    if (code) return code;
    *out = MEM_NEW(&(struct text_filter){
        .service = service,
        .path = settings->words_file,
        .url = settings->filter_url,
        .timeout_ms = (int)settings->filter_timeout_ms,
        .words = words,
        .client = *settings->filter_url ? http_client_new(service_loop(service)) : NULL,
        .held_by_word = metrics_counter(metrics, NAME, HELP, "by=\"words\""),
        .held_by_filter = metrics_counter(metrics, NAME, HELP, "by=\"filter\""),
        .unanswered = metrics_counter(metrics, "starling_ingest_unfiltered_total",
                                      "Texts that passed without an answer of moderation.filter.url.", NULL),
    });
    return 0;
}

void text_filter_free(struct text_filter *filter) {
    if (!filter) return;
    http_client_free(filter->client);
    word_list_free(filter->words);
    free(filter);
}

void text_filter_reload(struct text_filter *filter) {
    struct word_list *words;
    struct error error;
    if (read_list(filter->path, &words, &error)) {
        log_error(service_log(filter->service), "the list of words cannot be read again",
                  LOG_TEXT("error", error.text));
        return;
    }
    word_list_free(filter->words);
    filter->words = words;
}

static void note_failure(struct text_filter *filter, int code, unsigned status) {
    filter->unanswered->value++;
    if (++filter->failures < FAILURES_MAX) return;
    filter->rests_until_us = clock_monotonic_us() + REST_MS * INT64_C(1000);
    log_warn(service_log(filter->service), "the filter does not answer", LOG_TEXT("url", filter->url),
             LOG_INT("code", code), LOG_INT("status", status), LOG_INT("asked_again_after_ms", REST_MS));
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct filtering *filtering = context;
    struct text_filter *filter = filtering->filter;
    json_t *reply = code == 0 && status == OK ? json_parse(text, size, NULL) : NULL;
    bool held = false, stopping = code == -ECANCELED;
    filter->pending--;
    if (json_want_bool(reply, "hold", &held, NULL)) {
        if (!stopping) note_failure(filter, code, status);
    } else {
        filter->failures = 0;
        if (held) filter->held_by_filter->value++;
    }
    json_decref(reply);
    filtering->done(filtering->context, held, stopping);
    free(filtering);
}

/* After failures it is asked for one text at a time, until it answers. */
static bool may_ask(const struct text_filter *filter) {
    int most = filter->failures >= FAILURES_MAX ? 1 : PENDING_MAX;
    return filter->pending < most && clock_monotonic_us() >= filter->rests_until_us;
}

static void ask(struct text_filter *filter, const struct written_text *text, void *context, text_filtered *done) {
    struct buffer body = {0};
    json_member_text(&body, "{\"kind\":", text->kind);
    buffer_string(&body, ",\"user\":");
    json_put_int(&body, text->user);
    buffer_string(&body, ",\"text\":");
    json_put_text(&body, text->text.data, text->text.size);
    buffer_string(&body, ",\"media\":[");
    for (size_t i = 0; i < text->media.count; i++) {
        if (i) buffer_byte(&body, ',');
        json_put_text(&body, text->media.items[i].data, text->media.items[i].size);
    }
    buffer_string(&body, "]}");
    filter->pending++;
    http_fetch(filter->client, "POST", filter->url, NULL, &body, filter->timeout_ms, answered,
               MEM_NEW(&(struct filtering){.filter = filter, .context = context, .done = done}));
    buffer_free(&body);
}

void text_filter_ask(struct text_filter *filter, const struct written_text *text, void *context, text_filtered *done) {
    bool held = filter->words && word_list_finds(filter->words, text->text.data, text->text.size);
    if (held) filter->held_by_word->value++;
    if (!held && filter->client && may_ask(filter)) {
        ask(filter, text, context, done);
        return;
    }
    if (!held && filter->client) filter->unanswered->value++;
    done(context, held, false);
}

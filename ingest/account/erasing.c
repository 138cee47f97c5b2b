#include "ingest/account/erasing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "event/topics.h"
#include "ingest/account/erasing_private.h"

enum {
    RUNNING_MAX = 256,
    REPORTS_MAX = 1024, /* of erasures that have ended, until they are fetched; the oldest goes first */
    COST = 60,
    BURST = 5 * COST, /* seconds between two erasures of one user, and how many may follow each other at once */
    PASSES_MAX = 20,
    LATER_PASS = 2, /* what the first one removed is counted */
    PEER_TIMEOUT_MS = 5000,
    AGAIN_MS = 300,     /* until a question without an answer is asked again, and until the next pass */
    GIVE_UP_S = 60,     /* without a word of the owner: whoever waits has long been told to ask again */
    REMEMBERED_S = 600, /* a report that nobody has fetched */
    TICK_MS = 100,
    RETRY_AFTER_S = 1,
    SECOND_US = 1000000
};

const char *const ERASED_NAMES[ERASED_KINDS] = {"profile",   "sharing",  "handle", "friends", "following",
                                                "followers", "requests", "muted",  "posts",   "comments",
                                                "likes",     "notices",  "places", "devices", "history"};
static const char *const STAGES[ERASING_STAGES] = {"account",   "friends", "following", "followers", "requesting",
                                                   "requested", "muted",   "posts",     "comments",  "notices",
                                                   "places",    "devices", "history"};

/* ---- answers ---- */

/* When Kafka will have lost what it still has of before, if topics are as `starling topics create` makes them. */
static int64_t topics_by(bool dead_letters) {
    int64_t longest = 0;
    for (size_t i = 0; i < TOPICS_ALL.count; i++) {
        int64_t kept = topic_kept_ms(TOPICS_ALL.items[i], dead_letters);
        // That the user was forgotten, and who has read of them, stays longer.
        bool stays = TOPICS_ALL.items[i] == &TOPIC_ERASURES || TOPICS_ALL.items[i] == &TOPIC_AUDIT;
        if (kept > longest && !stays) longest = kept;
    }
    return clock_wall_ms() + longest;
}

static void put_later(struct buffer *body, const struct erasure *erasure) {
    if (!erasure->done) {
        buffer_format(body, ",\"later\":null,\"at\":\"%s\"}", STAGES[erasure->stage]);
        return;
    }
    buffer_string(body, ",\"later\":{\"history_files\":");
    if (erasure->files_by)
        buffer_format(body, "%" PRId64, erasure->files_by);
    else
        buffer_string(body, "null");
    buffer_format(body, ",\"topics\":%" PRId64 ",\"dead_letters\":%" PRId64 "},\"at\":null}", topics_by(false),
                  topics_by(true));
}

static void reply(const struct erasure *erasure, struct http_request *request) {
    static const struct http_field FIELDS[] = {
        {"Cache-Control", "no-store"}, {"Location", "/v1/me"}, {"Retry-After", "1"}};
    struct buffer body = {0};
    buffer_format(&body, "{\"user\":%" PRId64 ",\"state\":\"%s\",\"removed\":{", erasure->user,
                  erasure->done ? "forgotten" : "forgetting");
    for (int i = 0; i < ERASED_KINDS; i++)
        buffer_format(&body, "%s\"%s\":%" PRId64, i ? "," : "", ERASED_NAMES[i], erasure->removed[i]);
    buffer_byte(&body, '}');
    put_later(&body, erasure);
    http_reply(request, erasure->done ? 200 : 202, "application/json", body.data, body.size, FIELDS,
               erasure->done ? 1 : ARRAY_SIZE(FIELDS));
    buffer_free(&body);
}

/* Answers the requests that have waited until now_us. */
static bool answer(struct erasure *erasure, int64_t now_us) {
    struct erasing_waiter **at = &erasure->waiting;
    bool any = false;
    while (*at) {
        struct erasing_waiter *waiter = *at;
        if (!erasure->done && waiter->until_us > now_us) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        reply(erasure, waiter->request);
        free(waiter);
        any = true;
    }
    return any;
}

/* ---- erasures ---- */

static void erasure_free(struct erasure *erasure) {
    loop_timer_free(erasure->again);
    buffer_free(&erasure->cursor);
    free(erasure);
}

static void forget_erasure(struct erasing *erasing, struct erasure *erasure) {
    struct erasure **at = &erasing->first;
    while (*at != erasure) at = &(*at)->next;
    *at = erasure->next;
    if (erasure->done)
        erasing->reports--;
    else
        held_give(erasing->running, (uint64_t)erasure->user, 1);
    erasure_free(erasure);
}

static void ask_again(void *context) { erasing_ask(context); }

static void ask_later(struct erasure *erasure) {
    if (!erasure->again)
        erasure->again = loop_timer_new(erasure->erasing->loop, AGAIN_MS, 0, ask_again, erasure);
    else
        loop_timer_again(erasure->again, AGAIN_MS, 0);
}

/* It waits to be fetched, and takes nobody's place. */
static void keep_report(struct erasing *erasing, struct erasure *erasure) {
    held_give(erasing->running, (uint64_t)erasure->user, 1);
    erasure->done = true;
    if (++erasing->reports <= REPORTS_MAX) return;
    struct erasure *oldest = NULL;
    for (struct erasure *at = erasing->first; at; at = at->next)
        if (at != erasure && at->done && (!oldest || at->heard_us < oldest->heard_us)) oldest = at;
    forget_erasure(erasing, oldest);
}

/* The user is forgotten when a pass over everything has found nothing. */
static void pass_over(struct erasure *erasure) {
    struct erasing *erasing = erasure->erasing;
    bool done = erasure->found == 0;
    if (!done && erasure->pass >= PASSES_MAX) { // the user goes on writing: whoever still wants the end asks again
        log_warn(erasing->log, "a user cannot be forgotten", LOG_INT("user", erasure->user),
                 LOG_INT("passes", erasure->pass));
        erasure->stage = STAGE_ACCOUNT;
        answer(erasure, INT64_MAX);
        forget_erasure(erasing, erasure);
        return;
    }
    if (!done) {
        erasure->pass++;
        erasure->found = 0;
        erasure->stage = STAGE_ACCOUNT;
        ask_later(erasure); // what owners read back from Kafka is in their lists soon
        return;
    }
    erasing->erased->value++;
    log_info(erasing->log, "a user is forgotten", LOG_INT("user", erasure->user), LOG_INT("passes", erasure->pass));
    keep_report(erasing, erasure);
    if (answer(erasure, INT64_MAX)) forget_erasure(erasing, erasure);
}

static void go_on(struct erasure *erasure) {
    bool last = erasure->stage != STAGE_COMMENTS || erasure->partition + 1 == erasure->erasing->account->subjects;
    if (!erasure->more) {
        buffer_clear(&erasure->cursor);
        erasure->partition = last ? 0 : erasure->partition + 1;
        if (last) erasure->stage++;
    }
    if (erasure->stage < ERASING_STAGES)
        erasing_ask(erasure);
    else
        pass_over(erasure);
}

void erasing_page_over(struct erasure *erasure) {
    if (--erasure->under_way) return;
    if (erasure->erasing->stopped) return;
    if (erasure->trouble)
        ask_later(erasure);
    else
        go_on(erasure);
}

/* ---- pages ---- */

/* Moves on to the next page. A page is passed by before its commands are decided: it is looked at again in the next pass. */
static void move_on(struct erasure *erasure, const char *text, size_t size) {
    struct json_bytes items, next;
    erasure->more = belonging_page(text, size, &items, &next) && next.size;
    buffer_clear(&erasure->cursor);
    if (erasure->more) buffer_append(&erasure->cursor, next.data, next.size);
}

static void heard(void *context, int code, unsigned status, const char *text, size_t size) {
    struct erasure *erasure = context;
    json_t *page = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    bool account = erasure->stage == STAGE_ACCOUNT, whole = account || erasure->stage == STAGE_HISTORY;
    bool good = page && (account || erasing_remove(erasure, page));
    if (good) erasure->heard_us = clock_monotonic_us();
    if (good && whole) erasure->more = false;
    if (good && account) erasing_remove_account(erasure, json_given(page, "handle"));
    if (good && !whole) move_on(erasure, text, size);
    if (!good) erasure->trouble = true;
    json_decref(page);
    erasing_page_over(erasure);
}

void erasing_ask(struct erasure *erasure) {
    struct buffer path = {0};
    int32_t partition;
    struct peers *owners = erasing_question(erasure, &path, &partition);
    erasure->under_way = 1;
    erasure->trouble = false;
    peers_fetch(owners, partition, buffer_cstring(&path), PEER_TIMEOUT_MS, heard, erasure);
    buffer_free(&path);
}

/* ---- requests ---- */

static struct erasure *find_erasure(const struct erasing *erasing, int64_t user) {
    for (struct erasure *erasure = erasing->first; erasure; erasure = erasure->next)
        if (erasure->user == user) return erasure;
    return NULL;
}

static struct erasure *begin_erasure(struct erasing *erasing, int64_t user) {
    struct erasure *erasure = MEM_NEW(&(struct erasure){
        .erasing = erasing,
        .next = erasing->first,
        .user = user,
        .pass = 1,
        .heard_us = clock_monotonic_us(),
    });
    erasing->first = erasure;
    return erasure;
}

/* It had ended, and nobody fetched the report. The user may have written since. */
static void look_once_more(struct erasure *erasure) {
    erasure->done = false;
    erasure->erasing->reports--;
    erasure->pass = LATER_PASS;
    erasure->found = 0;
    erasure->stage = STAGE_ACCOUNT;
    erasing_ask(erasure);
}

/* True: one may run for the user now. Else the request is answered. */
static bool may_run(struct erasing *erasing, const struct call *call) {
    uint64_t user = (uint64_t)call->claims.user;
    int wait_s = rates_take(erasing->begun, user, COST, clock_coarse_ms());
    if (wait_s) {
        http_problem(call->request, 429, "too_many_writes", "the user was forgotten a moment ago", wait_s);
        return false;
    }
    if (held_take(erasing->running, user, 1)) return true;
    http_problem(call->request, 503, "too_many_erasures", "as many users as may be are being forgotten just now",
                 RETRY_AFTER_S);
    return false;
}

/* A request waits for an erasure that is under way, begins one, or fetches the report of one that has ended meanwhile. */
static void delete_me(void *state, const struct call *call) {
    struct erasing *erasing = state;
    struct erasure *erasure = find_erasure(erasing, call->claims.user);
    bool begun = !erasure;
    if ((begun || erasure->done) && !may_run(erasing, call)) return;
    if (begun) erasure = begin_erasure(erasing, call->claims.user);
    struct erasing_waiter *waiter =
        MEM_NEW(&(struct erasing_waiter){.next = erasure->waiting,
                                         .request = call->request,
                                         .until_us = clock_monotonic_us() + erasing->wait_ms * 1000});
    erasure->waiting = waiter;
    if (erasure->done) look_once_more(erasure);
    if (begun) erasing_ask(erasure);
}

static void tick(void *context) {
    struct erasing *erasing = context;
    int64_t now_us = clock_monotonic_us();
    for (struct erasure *erasure = erasing->first, *next; erasure; erasure = next) {
        next = erasure->next;
        int64_t silent_s = (now_us - erasure->heard_us) / SECOND_US;
        answer(erasure, now_us);
        bool idle = erasure->done || erasure->under_way == 0;
        if (idle && !erasure->waiting && silent_s > (erasure->done ? REMEMBERED_S : GIVE_UP_S))
            forget_erasure(erasing, erasure);
    }
}

struct erasing *erasing_new(struct account_gateway *account, const struct product_options *options) {
    struct service *service = options->service;
    struct erasing *erasing = MEM_NEW(&(struct erasing){
        .account = account,
        .loop = service_loop(service),
        .log = service_log(service),
        .writer = options->writer,
        .wait_ms = options->outcome_wait_ms,
        .erased = metrics_counter(service_metrics(service), "starling_ingest_erased_users_total",
                                  "Users who were forgotten.", NULL),
    });
    struct metrics *metrics = service_metrics(service);
    erasing->running = held_new(
        &(struct held_options){.metrics = metrics, .what = "erasures", .by = "user", .each = 1, .in_all = RUNNING_MAX});
    erasing->begun = rates_new(&(struct rates_options){metrics, "erasure_seconds", "user", 1, BURST});
    erasing->tick = loop_timer_new(erasing->loop, TICK_MS, TICK_MS, tick, erasing);
    return erasing;
}

void erasing_stop(struct erasing *erasing) {
    if (!erasing || erasing->stopped) return;
    erasing->stopped = true;
    loop_timer_free(erasing->tick);
    erasing->tick = NULL;
    for (struct erasure *erasure = erasing->first; erasure; erasure = erasure->next) {
        answer(erasure, INT64_MAX);
        loop_timer_free(erasure->again);
        erasure->again = NULL;
    }
}

void erasing_free(struct erasing *erasing) {
    if (!erasing) return;
    while (erasing->first) forget_erasure(erasing, erasing->first);
    held_free(erasing->running);
    rates_free(erasing->begun);
    free(erasing);
}

static const struct endpoint ENDPOINTS[] = {
    {"DELETE", "/v1/me", delete_me, NEEDS_USER},
};
const struct endpoint_list ERASING_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};

#include "feed/pushing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/feed_private.h"
#include "feed/push_window.h"
#include "service/http_client.h"

enum {
    WINDOW = 65536,  /* records: 6 MB */
    BATCH = 200,     /* items of a post */
    LOOK = 400,      /* records that one turn looks at: less than 10 ms */
    GATHER_MS = 200, /* items that come meanwhile go together */
    TIMEOUT_MS = 5000,
    PAUSE_MS = 1000, /* after a failure; it doubles */
    PAUSE_MAX_MS = 60000,
    KEY_MIN = 32
};
/* Nobody wants to hear on a phone of what others did days ago, or where a friend was hours ago; and a state that is read anew from its
 * beginning repeats no more than this. */
enum { NOTICE_MAX_MS = 86400000, PLACE_MAX_MS = 3600000 };

struct pushing {
    struct feed *feed;
    const char *url, *key;
    struct push_window *window; /* courses: partitions */
    struct http_client *client;
    struct loop_timer *timer; /* the next post is begun when it fires */
    bool waits, posting, closing;
    size_t looked; /* at so many of the window: those that are posted, and what need not be */
    size_t items;  /* of the post */
    int64_t pause_ms;
    struct buffer body;
    uint64_t pushed, failed;
};

int pushing_check(const struct feed_settings *settings, struct error *error) {
    int code = http_check_url("notify.url", settings->notify_url, error);
    if (code) return code;
    if (*settings->notify_key && strlen(settings->notify_key) < KEY_MIN)
        return error_set(error, -EINVAL, "notify.key: must have at least %d bytes", KEY_MIN);
    return 0;
}

static void begin_in(struct pushing *pushing, int64_t ms) {
    if (pushing->waits || pushing->posting) return;
    pushing->waits = true;
    loop_timer_again(pushing->timer, (uint64_t)ms, 0);
}

/* ---- what is wanted ---- */

static int notice_wanted(struct pushing *pushing, int32_t partition, const struct push_item *item, bool *wanted,
                         struct error *error) {
    struct feed *feed = pushing->feed;
    const struct notice_key *key = &item->key;
    struct notice_settings settings;
    struct notice_key mark;
    int code = notice_settings_of(feed->notice_settings, partition, key->user, &settings, error);
    *wanted = false;
    if (code || settings.not_push >> key->kind & 1) return code;
    if (notice_mark(&settings, &mark) && !notice_is_newer(key, &mark)) return 0;
    if (watches_notices_watched(feed->watches, partition, key->user)) return 0;
    return 1;
}

static void put_notice(struct buffer *body, const struct notice_key *key, const struct notice *notice) {
    buffer_string(body, "{\"id\":\"");
    notice_id_put(body, key);
    buffer_format(body, "\",\"user\":%" PRId64 ",\"what\":\"%s\",\"from\":%" PRId64, key->user, NOTICE_WORDS[key->kind],
                  notice->user);
    if (key->kind == NOTICE_OF_APPROACH) buffer_format(body, ",\"friend\":%" PRId64, notice->user);
    notice_put_about(body, key, notice);
    buffer_byte(body, '}');
}

/* Adds the item to the body if it is wanted now. */
static int add(struct pushing *pushing, const struct push_item *item, int64_t now, struct error *error) {
    struct feed *feed = pushing->feed;
    int32_t partition = (int32_t)item->course;
    int64_t max_ms = item->key.kind >= NOTICE_OF_APPROACH ? PLACE_MAX_MS : NOTICE_MAX_MS;
    bool wanted;
    struct notice notice;
    if (item->dropped || item->key.time < now - max_ms) return 0;
    int code = notice_wanted(pushing, partition, item, &wanted, error);
    if (code > 0) code = notices_find(feed->notices, partition, &item->key, &notice, error);
    if (code > 0) code = notices_shown_is(&feed->notices_shown, partition, &item->key, notice.user, &wanted, error);
    if (code || !wanted) return code;
    if (pushing->items++) buffer_byte(&pushing->body, ',');
    put_notice(&pushing->body, &item->key, &notice);
    return 0;
}

/* ---- posts ---- */

/* Looks at the oldest of the window. False: a store failed, and the partition will be dropped. */
static bool gather(struct pushing *pushing) {
    size_t count = push_window_count(pushing->window);
    int64_t now = clock_wall_ms();
    struct error error;
    buffer_clear(&pushing->body);
    buffer_format(&pushing->body, "{\"sent\":%" PRId64 ",\"items\":[", now);
    pushing->looked = pushing->items = 0;
    for (; pushing->looked < count && pushing->looked < LOOK && pushing->items < BATCH; pushing->looked++) {
        const struct push_item *item = push_window_at(pushing->window, pushing->looked);
        int code = add(pushing, item, now, &error);
        if (!code) continue;
        tasks_store_failed(pushing->feed->tasks, (int32_t)item->course, code, &error);
        return false;
    }
    buffer_string(&pushing->body, "]}");
    return true;
}

static int64_t position_of(void *context, size_t course) {
    const struct pushing *pushing = context;
    return tasks_position(pushing->feed->tasks, &TOPIC_NOTICES, (int32_t)course);
}

static void read_again(struct pushing *pushing) {
    size_t course;
    int64_t offset;
    if (push_window_again(pushing->window, position_of, pushing, &course, &offset))
        tasks_repeat(pushing->feed->tasks, &TOPIC_NOTICES, (int32_t)course, offset);
}

/* The records that were looked at are done. */
static void done(struct pushing *pushing) {
    push_window_pop(pushing->window, pushing->looked);
    pushing->pushed += pushing->items;
    pushing->pause_ms = 0;
    read_again(pushing);
    if (push_window_count(pushing->window))
        begin_in(pushing, push_window_count(pushing->window) < BATCH ? GATHER_MS : 0);
}

static void fail(struct pushing *pushing) {
    pushing->pause_ms = !pushing->pause_ms                     ? PAUSE_MS
                        : pushing->pause_ms < PAUSE_MAX_MS / 2 ? 2 * pushing->pause_ms
                                                               : PAUSE_MAX_MS;
    begin_in(pushing, pushing->pause_ms);
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct pushing *pushing = context;
    if (pushing->closing) return;
    pushing->posting = false;
    if (!code && status / 100 == 2) {
        done(pushing);
        return;
    }
    if (!pushing->pause_ms)
        log_warn(service_log(pushing->feed->service), "the receiver of notify.url does not take notices",
                 LOG_INT("status", status), LOG_TEXT("reason", code ? strerror(-code) : ""));
    pushing->failed++;
    fail(pushing);
}

static void begin_post(void *context) {
    struct pushing *pushing = context;
    pushing->waits = false;
    if (!gather(pushing)) {
        fail(pushing);
    } else if (!pushing->items) {
        done(pushing);
    } else {
        pushing->posting = true;
        http_post_signed(pushing->client, pushing->url, pushing->key, &pushing->body, TIMEOUT_MS, answered, pushing);
    }
}

/* ---- records ---- */

bool pushing_notice(struct pushing *pushing, const struct kafka_record *record, const struct notice_key *key) {
    if (!pushing) return false;
    bool again = push_window_see(pushing->window, (size_t)record->partition, record->offset);
    if (record->value) {
        push_window_put(pushing->window, (size_t)record->partition, record->offset, key);
        begin_in(pushing, GATHER_MS);
    }
    return again;
}

int64_t pushing_held(struct pushing *pushing, int32_t partition) {
    return pushing ? push_window_held(pushing->window, (size_t)partition) : INT64_MAX;
}

void pushing_drop(struct pushing *pushing, int32_t partition) {
    if (pushing) push_window_drop(pushing->window, (size_t)partition);
}

void pushing_second(struct pushing *pushing) {
    if (pushing) read_again(pushing);
}

/* ---- beginning and end ---- */

static void collect(void *context) {
    struct pushing *pushing = context;
    int64_t oldest, now = clock_wall_ms();
    size_t waiting = push_window_waiting(pushing->window, &oldest);
    const struct metric_now series[] = {
        {"starling_feed_notify_pushed_total", "Notices that the receiver of notify.url has taken.",
         (double)pushing->pushed},
        {"starling_feed_notify_failed_total", "Posts that the receiver of notify.url did not take, each try counted.",
         (double)pushing->failed},
        {"starling_feed_notify_waiting", "Records that are still to be pushed to notify.url, or to be passed by.",
         (double)waiting},
        {"starling_feed_notify_oldest_seconds", "How old the oldest of them is.",
         oldest && oldest < now ? (double)(now - oldest) / 1000 : 0},
    };
    metrics_set(service_metrics(pushing->feed->service), series, ARRAY_SIZE(series));
}

struct pushing *pushing_new(struct feed *feed) {
    if (!*feed->settings->notify_url) return NULL;
    struct pushing *pushing = MEM_NEW(&(struct pushing){
        .feed = feed,
        .url = feed->settings->notify_url,
        .key = feed->settings->notify_key,
        .window = push_window_new(WINDOW, (size_t)feed->partitions),
        .client = http_client_new(service_loop(feed->service)),
    });
    pushing->timer = loop_timer_new(service_loop(feed->service), 0, 0, begin_post, pushing);
    loop_timer_stop(pushing->timer);
    metrics_on_collect(service_metrics(feed->service), collect, pushing);
    return pushing;
}

void pushing_free(struct pushing *pushing) {
    if (!pushing) return;
    pushing->closing = true;
    http_client_free(pushing->client);
    loop_timer_free(pushing->timer);
    push_window_free(pushing->window);
    buffer_free(&pushing->body);
    free(pushing);
}

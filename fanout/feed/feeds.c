#include "fanout/feed/feeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "fanout/feed/bells.h"
#include "fanout/feed/live.h"
#include "fanout/screen_watch.h"
#include "ids/ids.h"
#include "posts/post_json.h"
#include "ws/ws.h"

enum {
    TEXTS_GATHER_MS = 2,
    TEXTS_TIMEOUT_MS = 500,
    TEXTS_BYTES = 64 << 20,
    SIGHTS_WAIT_MS = 4000, /* with a phone that is not told meanwhile */
    FRAME_POSTS_BYTES =
        64 << 10, /* beyond, a frame has no further post; a phone that does not read is kept one frame */
    WHAT_MAX = 32 /* "feed:" or "notices:", and a user */
};

struct feeds {
    struct feeds_options options;
    struct screen_watch *watch;
    struct texts *texts;
    struct codec *codec;
    struct {
        struct metric *stales, *posts, *unavailable, *lost;
        struct histogram *latency;
    } metrics;
};

static struct live_feed **place_of(const struct feeds *feeds, const struct session *session) {
    return session_part(session, feeds->options.offset);
}

/* ---- frames (docs/PROTOCOL.md); each begins with ws_frame_start, and replaces the buffer's content ---- */

struct frame_posts_told {
    size_t posts, unavailable; /* of the posts, those without a text */
    bool stale;                /* there is no frame: the phone is to read its page */
};

static void put_version(struct buffer *frame, const char *key, struct watch_version version) {
    char text[WATCH_VERSION_TEXT];
    watch_version_write(version, text);
    buffer_format(frame, ",\"%s\":\"%s\"", key, text);
}

/* A change is pending, its posts are sorted, all their texts are settled, and the user may see them: or no longer, if the phone was slow. */
static struct frame_posts_told frame_posts(struct buffer *frame, const struct live_feed *live, struct texts *texts) {
    int64_t user = session_user(live->session);
    struct frame_posts_told told = {.posts = 0};
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"posts\"");
    put_version(frame, "since", live->since);
    put_version(frame, "version", live->version);
    buffer_string(frame, ",\"items\":[");
    for (size_t i = 0; i < live->post_count; i++) {
        if (told.posts && frame->size > FRAME_POSTS_BYTES) return (struct frame_posts_told){.stale = true};
        const struct live_post *post = &live->posts[i];
        enum text_state state = text_state_of(post->text);
        if (state == TEXT_NONE) continue;
        if (told.posts++) buffer_byte(frame, ',');
        if (state == TEXT_THERE) {
            if (!text_put(texts, post->text, user, false, frame)) return (struct frame_posts_told){.stale = true};
            frame->size--;                                         // the brace
            buffer_string(frame, ",\"likes\":0,\"liked\":false}"); // it was just made
        } else {
            post_put_unavailable(frame, post->id, post->author);
            told.unavailable++;
        }
    }
    buffer_string(frame, "],\"gone\":[");
    for (size_t i = 0; i < live->gone_count; i++)
        buffer_format(frame, "%s\"%" PRId64 "\"", i ? "," : "", live->gone[i]);
    buffer_string(frame, "]}");
    return told;
}

static void frame_stale(struct buffer *frame, const struct live_feed *live) {
    ws_frame_start(frame);
    buffer_string(frame, "{\"type\":\"stale\",\"what\":\"feed\"");
    put_version(frame, "version", live->version);
    buffer_format(frame, ",\"after_ms\":%" PRId64 "}", live->after_ms);
}

/* ---- a session's pending change ---- */

static struct tracer *tracer_of(const struct feeds *feeds) { return sessions_tracer(feeds->options.sessions); }

/* Counts the texts that wait for the phone. If they are too many for a frame, or for the budget, it reads its page. */
static void hold(struct feeds *feeds, struct live_feed *live) {
    size_t whole = 0, share = 0, before = live->held;
    for (size_t i = 0; i < live->post_count; i++) {
        whole += text_size(live->posts[i].text);
        share += text_share(live->posts[i].text);
    }
    if (!before && !share) return;
    bool too_long = live->post_count > 1 && whole > FRAME_POSTS_BYTES;
    bool fits = session_hold(feeds->options.sessions, live->session, before, too_long ? 0 : share);
    live->held = fits && !too_long ? share : 0;
    if (share && !live->held) live_stale(live, live->version, 0);
}

/* ---- who may see the posts: asked of their authors' owners, as a delivery may be old ---- */

struct sight_wait {
    struct feeds *feeds;
    struct live_feed *live; /* NULL: it no longer waits */
    size_t waiting;         /* answers, and one for the asker itself */
    size_t denied;          /* posts that the user may not see */
};

static void sight_await_end(struct live_feed *live) {
    if (live->sight) live->sight->live = NULL;
    live->sight = NULL;
}

/* Whether the post has a text that the user may not see, as far as is known. */
static bool is_unseen(const struct feeds *feeds, const struct live_feed *live, const struct live_post *post) {
    return text_state_of(post->text) == TEXT_THERE &&
           !sights_may(feeds->options.sights, post->author, session_user(live->session));
}

/* If some owner has not answered, or an answer is too old by now, the phone reads its page. */
static void hide_unseen(const struct feeds *feeds, struct live_feed *live, size_t denied) {
    size_t unseen = 0;
    for (size_t i = 0; i < live->post_count; i++) unseen += is_unseen(feeds, live, &live->posts[i]);
    if (unseen > denied) live_stale(live, live->version, 0);
    for (size_t i = live->post_count; i-- > 0;)
        if (is_unseen(feeds, live, &live->posts[i])) live_hide(live, i);
}

static void await_end(struct live_feed *live) {
    text_await_end(&live->wait);
    sight_await_end(live);
}

static void settle(struct sight_wait *wait) {
    struct feeds *feeds = wait->feeds;
    struct live_feed *live = wait->live;
    if (--wait->waiting) return;
    if (live) {
        live->sight = NULL;
        hide_unseen(feeds, live, wait->denied);
        hold(feeds, live);
        session_owe(feeds->options.sessions, live->session, feeds->options.place);
    }
    free(wait);
}

static void sight_answered(void *context, enum sight_answer answer) {
    struct sight_wait *wait = context;
    wait->denied += answer == SIGHT_NO;
    settle(wait);
}

static void ask_sights(struct feeds *feeds, struct live_feed *live) {
    struct sight_wait *wait = MEM_NEW(&(struct sight_wait){.feeds = feeds, .live = live, .waiting = 1});
    live->sight = wait;
    for (size_t i = 0; wait->live == live && i < live->post_count; i++) {
        if (!is_unseen(feeds, live, &live->posts[i])) continue;
        wait->waiting++;
        sights_ask(feeds->options.sights, &(struct sights_wish){.reader = session_user(live->session),
                                                                .author = live->posts[i].author,
                                                                .context = wait,
                                                                .done = sight_answered});
    }
    settle(wait);
}

/* Whether the user may see all pending posts now; else that is asked. It is looked at when the frame goes out, as a permission that was there
 * when the frame was owed may run out within the flush window. Each change of the feed asks anew, so there is an end to it. */
static bool may_tell(struct feeds *feeds, struct live_feed *live) {
    size_t i = 0;
    while (i < live->post_count && !is_unseen(feeds, live, &live->posts[i])) i++;
    if (i == live->post_count) return true;
    int64_t now_ms = clock_coarse_ms();
    if (!live->asked_ms) live->asked_ms = now_ms;
    if (now_ms - live->asked_ms > SIGHTS_WAIT_MS) {
        live_stale(live, live->version, 0);
        return true;
    }
    ask_sights(feeds, live);
    return false;
}

/* A frame is owed as soon as all texts are there. */
static void owe_or_wait(struct feeds *feeds, struct live_feed *live) {
    hold(feeds, live);
    const struct live_post *post = live_unsettled(live);
    if (post) {
        tracer_park(tracer_of(feeds), live, 0);
        text_await(post->text, &live->wait);
    } else if (live->pending != LIVE_NOTHING) {
        session_owe(feeds->options.sessions, live->session, feeds->options.place);
    }
}

static void owe_or_wait_traced(struct feeds *feeds, struct live_feed *live) {
    struct trace_scope scope;
    bool traced = tracer_unpark(tracer_of(feeds), live, 0, &scope, NULL);
    struct trace_scope *before = tracer_enter(tracer_of(feeds), traced ? &scope : NULL);
    owe_or_wait(feeds, live);
    tracer_enter(tracer_of(feeds), before);
}

static void text_settled(void *context, struct text_wait *wait) {
    owe_or_wait_traced(context, (struct live_feed *)(void *)((char *)wait - offsetof(struct live_feed, wait)));
}

static void texts_answered(void *context) { sessions_flush_ready(((const struct feeds *)context)->options.sessions); }

static struct live_feed *live_of(const struct feeds *feeds, uint64_t session) {
    return *place_of(feeds, screen_watch_session(session));
}

static void tell_change(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size) {
    struct feeds *feeds = context;
    struct live_feed *live = live_of(feeds, session);
    struct feed_change change;
    struct error error;
    await_end(live);
    if (event_decode_feed_change(feeds->codec, content, content_size, &change, &error)) {
        live_stale(live, version, 0);
    } else {
        for (size_t i = 0; i < change.gone.count; i++) texts_forget(feeds->texts, change.gone.items[i]);
        live_change(live, feeds->texts, since, version, &change);
    }
    owe_or_wait(feeds, live);
}

static void tell_stale(void *context, uint64_t session, const void *what, size_t size, struct watch_version version,
                       int64_t after_ms) {
    struct feeds *feeds = context;
    if (bells_is(what, size)) {
        feeds->options.notices_stale(feeds->options.context, screen_watch_session(session), after_ms);
        return;
    }
    struct live_feed *live = live_of(feeds, session);
    await_end(live);
    live_stale(live, version, after_ms);
    owe_or_wait(feeds, live);
}

/* From Kafka's time of the posts, which is in their ids. */
static void observe_latency(struct feeds *feeds, const struct live_feed *live) {
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < live->post_count; i++)
        histogram_observe(feeds->metrics.latency, (double)(now_ms - ids_time_ms(live->posts[i].id)) / 1000);
}

struct screen_filled feeds_fill(void *context, struct session *session, struct buffer *frame) {
    struct feeds *feeds = context;
    struct live_feed *live = *place_of(feeds, session);
    if (!live || live->pending == LIVE_NOTHING || live->wait.link || live->sight || !may_tell(feeds, live))
        return (struct screen_filled){.frame = false};
    bool news = live->post_count || live->gone_count || !watch_version_same(live->since, live->version);
    if (news && live->pending == LIVE_CHANGE) {
        live_sort(live);
        struct frame_posts_told told = frame_posts(frame, live, feeds->texts);
        if (told.stale) {
            live_stale(live, live->version, 0);
        } else {
            feeds->metrics.posts->value += (double)told.posts;
            feeds->metrics.unavailable->value += (double)told.unavailable;
            observe_latency(feeds, live);
        }
    }
    if (live->pending == LIVE_STALE) {
        frame_stale(frame, live);
        feeds->metrics.stales->value++;
    }
    news |= live->pending == LIVE_STALE;
    live_told(live);
    hold(feeds, live);
    return (struct screen_filled){.frame = news};
}

/* ---- what is watched ---- */

void feeds_route(void *feeds, int32_t route) { screen_watch_route(((struct feeds *)feeds)->watch, route); }

int feeds_take(void *feeds, int32_t route, const struct deliver_envelope *envelope) {
    return screen_watch_take(((struct feeds *)feeds)->watch, envelope);
}

void feeds_profile_changed(void *feeds, int64_t user) { texts_profile_changed(((struct feeds *)feeds)->texts, user); }

void feeds_produced(void *feeds, void *opaque, int code, const struct topic *topic) {
    if (topic == &TOPIC_FEED_WATCHES && code) ((struct feeds *)feeds)->metrics.lost->value++;
}

void *feeds_context(const struct feeds *feeds) { return feeds->options.context; }

struct screen_watch *feeds_watching(const struct feeds *feeds) {
    return feeds->watch;
}

static size_t what_of(const struct session *session, char what[WHAT_MAX]) {
    return (size_t)snprintf(what, WHAT_MAX, "feed:%" PRId64, session_user(session));
}

static int32_t partition_of(void *context, const void *what, size_t size) {
    const struct feeds *feeds = context;
    char text[WHAT_MAX];
    memcpy(text, what, size);
    text[size] = 0;
    return hash_user_partition(strtoll(strchr(text, ':') + 1, NULL, 10), feeds->options.partitions);
}

static int write_record(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                        size_t value_size) {
    const struct feeds *feeds = context;
    return feeds->options.write(feeds->options.context, partition, key, key_size, value, value_size);
}

static void fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context) {
    const struct feeds *feeds = context;
    feeds->options.fetch(feeds->options.context, partition, path, timeout_ms, done, done_context);
}

/* ---- phones ---- */

/* Forgets pending changes: the phone has read another page, and is told at once if that is not the newest. */
static void forget_pending(struct feeds *feeds, struct live_feed *live) {
    await_end(live);
    live_drop(live);
    hold(feeds, live);
}

int feeds_watch(struct feeds *feeds, struct session *session, const struct watch_version *version) {
    struct live_feed **live = place_of(feeds, session);
    char what[WHAT_MAX];
    if (!*live) {
        *live = mem_zero(1, sizeof **live);
        (*live)->session = session;
    }
    forget_pending(feeds, *live);
    return screen_watch_show(feeds->watch, session, what, what_of(session, what), version);
}

void feeds_unwatch(struct feeds *feeds, struct session *session) {
    struct live_feed *live = *place_of(feeds, session);
    char what[WHAT_MAX];
    if (!live) return;
    forget_pending(feeds, live);
    screen_watch_hide(feeds->watch, session, what, what_of(session, what));
}

void feeds_leave(void *context, struct session *session) {
    struct feeds *feeds = context;
    struct live_feed **live = place_of(feeds, session);
    if (!*live) return;
    screen_watch_leave(feeds->watch, session);
    forget_pending(feeds, *live);
    tracer_forget(tracer_of(feeds), *live, 0);
    live_free(*live);
    free(*live);
    *live = NULL;
}

/* ---- the feeds themselves ---- */

static void collect(void *context) {
    const struct feeds *feeds = context;
    struct watch_edge_stats stats;
    struct texts_stats texts = texts_stats_of(feeds->texts);
    screen_watch_stats(feeds->watch, &stats);
    const struct metric_now now[] = {
        {"starling_edge_feed_watching_sessions", "Sessions that watch their feed.", (double)stats.sessions},
        {"starling_edge_feed_changes_total", "Changes of watched feeds, once for each session.", (double)stats.changes},
        {"starling_edge_feed_refused_total", "Deliveries of changes that found no room; roll calls repair them.",
         (double)stats.refused},
        {"starling_edge_feed_questions_total", "Questions for texts of posts.", (double)texts.questions},
        {"starling_edge_feed_texts", "Texts of posts that are kept.", (double)texts.kept},
    };
    metrics_set(feeds->options.metrics, now, ARRAY_SIZE(now));
}

static void metrics_start(struct feeds *feeds) {
    struct metrics *m = feeds->options.metrics;
    feeds->metrics.stales = metrics_counter(m, "starling_edge_feed_stales_total",
                                            "Times that a phone was told to read its page of the feed.", NULL);
    feeds->metrics.posts =
        metrics_counter(m, "starling_edge_feed_posts_total", "Posts that phones were told of.", NULL);
    feeds->metrics.unavailable =
        metrics_counter(m, "starling_edge_feed_unavailable_total",
                        "Posts that phones were told of without their text: the author's owner did not answer.", NULL);
    feeds->metrics.lost = metrics_counter(m, "starling_edge_feed_watches_lost_total",
                                          "Watch records that Kafka did not take; roll calls repair them.", NULL);
    static const double SECONDS[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
    feeds->metrics.latency = metrics_histogram(m, "starling_edge_feed_latency_seconds",
                                               "From Kafka's time of a post to its frame to a watching phone.", NULL,
                                               SECONDS, ARRAY_SIZE(SECONDS));
    metrics_on_collect(m, collect, feeds);
}

struct feeds *feeds_new(const struct feeds_options *options) {
    struct feeds *feeds = MEM_NEW(&(struct feeds){.options = *options, .codec = codec_new()});
    feeds->texts = texts_new(&(struct texts_options){
        .loop = options->loop,
        .partitions = options->partitions,
        .kept_max = options->texts_max,
        .kept_bytes = TEXTS_BYTES,
        .kept_ms = options->texts_ms,
        .gather_ms = TEXTS_GATHER_MS,
        .timeout_ms = TEXTS_TIMEOUT_MS,
        .profiles = options->profiles,
        .sights = options->sights,
        .context = feeds,
        .fetch = fetch,
        .settled = text_settled,
        .answered = texts_answered,
    });
    feeds->watch = screen_watch_new(
        options->loop, options->sessions,
        &(struct watch_edge_options){
            .partitions = options->partitions,
            .things = 4 * options->sessions_max, /* some that nobody watches any more have a tombstone to be written */
            .session_things = 2,
            .context = feeds,
            .partition = partition_of,
            .write = write_record,
            .tell_change = tell_change,
            .tell_stale = tell_stale,
        });
    metrics_start(feeds);
    return feeds;
}

void feeds_free(struct feeds *feeds) {
    if (!feeds) return;
    screen_watch_free(feeds->watch);
    texts_free(feeds->texts);
    codec_free(feeds->codec);
    free(feeds);
}

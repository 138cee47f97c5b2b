/* Tests feeds.c, request.c and fanout/screen_watch.c. The feed's screen with everything but sockets, Kafka and feed processes: sessions
 * watch, an owner's deliveries come, texts are asked for, and frames are owed and filled. */
#include "fanout/feed/feeds.h"
#include "fanout/feed/request.h"
#include "ids/ids.h"
#include "unit/kit/kit.h"
#include "unit/lib/posts/post_owners.h"
#include "unit/lib/users/some_profiles.h"
#include "watch/records.h"
#include "ws/ws.h"

enum { PARTITIONS = 4, NEVER_MS = 2000000000, FLUSH_MS = 1000000000, RECORDS = 64 };

struct record {
    int32_t partition;
    size_t key_size;
    uint8_t key[WATCH_KEY_MAX];
    bool tombstone;
    int32_t route;
};

struct world {
    uv_loop_t loop;
    struct metrics *metrics;
    struct fanout_settings settings;
    struct screen_set screens;
    struct sessions *sessions;
    struct some_profiles profiles;
    struct post_owners owners;
    struct feeds *feeds;
    struct buffer frame, delivery;
    struct record records[RECORDS]; /* watch records and tombstones, in their order */
    size_t record_count;
    bool full; /* Kafka takes nothing */
    struct sights *sights;
    char sight[200]; /* what is answered of all authors; empty: nothing */
};

static void leave_feeds(void *context, struct session *session) {
    const struct world *w = context;
    feeds_leave(w->feeds, session);
}

static struct screen_filled fill(void *context, struct session *session, struct buffer *frame) {
    const struct world *w = context;
    return feeds_fill(w->feeds, session, frame);
}

static const struct screen SCREEN = {
    .name = "world", .session_bytes = sizeof(void *), .free = leave_feeds, .fill = fill};

static int write_record(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                        size_t value_size) {
    struct world *w = context;
    struct record *record = &w->records[w->record_count];
    if (w->full) return -EAGAIN;
    if (value && watch_value_decode(value, value_size, &record->route)) return 0; /* a roll call */
    assert_true(w->record_count < RECORDS && key_size <= sizeof record->key);
    record->partition = partition;
    record->key_size = key_size;
    record->tombstone = !value;
    memcpy(record->key, key, key_size);
    w->record_count++;
    return 0;
}

static void fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context) {
    struct world *w = context;
    post_owners_fetch(&w->owners, partition, path, timeout_ms, done, done_context);
}

/* The owner says it at once. */
static void fetch_sight(void *context, int32_t partition, const char *path, int timeout_ms,
                        void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                        void *done_context) {
    const struct world *w = context;
    char reply[300];
    const char *user = strstr(path, "user=");
    assert_non_null(user);
    int size = snprintf(reply, sizeof reply, "{\"user\":%.*s,\"age_ms\":0,%s}", (int)strcspn(user + 5, "&"), user + 5,
                        w->sight);
    done(done_context, w->sight[0] ? 0 : -ETIMEDOUT, 200, reply, (size_t)size);
}

static int64_t sights_ms;

static int64_t sights_now_ms(void) { return sights_ms; }

static struct world *world_new(void) {
    struct world *w = mem_zero(1, sizeof *w);
    uv_loop_init(&w->loop);
    some_profiles_open(&w->profiles);
    w->metrics = kit_metrics();
    w->settings = (struct fanout_settings){.flush_ms = FLUSH_MS, .hello_s = NEVER_MS / 1000};
    w->screens.count = 1;
    w->screens.at[0] = (struct screen_running){.screen = &SCREEN, .product = w};
    w->sessions = sessions_new(&(struct sessions_options){
        .loop = &w->loop, .metrics = w->metrics, .settings = &w->settings, .screens = &w->screens});
    strcpy(w->sight, "\"everybody\":true,\"but\":[]");
    sights_ms = 0;
    w->sights = sights_new(&(struct sights_options){
        .loop = &w->loop, .partitions = PARTITIONS, .context = w, .fetch = fetch_sight, .now_ms = sights_now_ms});
    w->feeds = feeds_new(&(struct feeds_options){.loop = &w->loop,
                                                 .sights = w->sights,
                                                 .metrics = w->metrics,
                                                 .sessions = w->sessions,
                                                 .profiles = w->profiles.profiles,
                                                 .offset = sessions_offset(w->sessions, 0),
                                                 .partitions = PARTITIONS,
                                                 .sessions_max = 2,
                                                 .texts_max = 100,
                                                 .texts_ms = NEVER_MS,
                                                 .context = w,
                                                 .write = write_record,
                                                 .fetch = fetch});
    return w;
}

static void world_free(struct world *w) {
    sessions_free_all(w->sessions);
    post_owners_free(&w->owners);
    sights_stop(w->sights);
    feeds_free(w->feeds);
    sights_free(w->sights);
    sessions_free(w->sessions);
    some_profiles_close(&w->profiles);
    kit_loop_end(&w->loop);
    buffer_free(&w->frame);
    buffer_free(&w->delivery);
    free(w);
}

static struct session *arrive(struct world *w, int64_t user) {
    struct session *session = session_new(w->sessions, NULL);
    session_greet(w->sessions, session, user, 0);
    session_renew(w->sessions, session, NEVER_MS, 0);
    return session;
}

static void turn(struct world *w) { uv_run(&w->loop, UV_RUN_NOWAIT); }

static void until_written(struct world *w, size_t records) {
    while (w->record_count < records) turn(w);
}

static void until_asked(struct world *w, size_t questions) {
    while (w->owners.count < questions) turn(w);
}

static void until_owed(struct world *w, const struct session *session) {
    while (!session->owing) turn(w);
}

/* ---- the owner ---- */

static struct watch_version version(int64_t number) { return (struct watch_version){number, 1}; }

static int64_t id_of(int32_t partition, int64_t number) {
    return ids_make((number + 1) << IDS_FRACTION_BITS, partition);
}

static void deliver(struct world *w, const struct watch_delivery *delivery) {
    buffer_clear(&w->delivery);
    watch_delivery_encode(&w->delivery, delivery);
    assert_int_equal(feeds_take(w->feeds, 0,
                                &(struct deliver_envelope){.kind = WATCH_DELIVERY_KIND,
                                                           .payload = w->delivery.data,
                                                           .payload_size = w->delivery.size}),
                     0);
}

/* The change of the user's feed from version n to n + 1: a post, or one that is gone; 0: none. */
static void change(struct world *w, int64_t user, int64_t n, int64_t post, int64_t gone) {
    char what[32];
    FREED_BUFFER content = {.size = 0};
    struct added_post posts[] = {{.author = 7, .id = post}};
    int64_t ids[] = {gone};
    event_encode_feed_change(&content, &(struct feed_change){.posts = {posts, post != 0}, .gone = {ids, gone != 0}});
    deliver(w, &(struct watch_delivery){.is = WATCH_NOTE_IS_TOLD,
                                        .what = (const uint8_t *)what,
                                        .what_size = (size_t)snprintf(what, sizeof what, "feed:%" PRId64, user),
                                        .since = version(n),
                                        .version = version(n + 1),
                                        .content = content.data,
                                        .content_size = content.size});
}

static void name(struct world *w, int64_t user, int64_t n) {
    char what[32];
    deliver(w, &(struct watch_delivery){.is = WATCH_NOTE_IS_NAMED,
                                        .what = (const uint8_t *)what,
                                        .what_size = (size_t)snprintf(what, sizeof what, "feed:%" PRId64, user),
                                        .version = version(n)});
}

/* ---- frames ---- */

/* False: there is no frame; perhaps there will be one when it is known who may see the posts. */
static bool fills(struct world *w, struct session *session) {
    session->owing = 0;
    struct screen_filled filled = feeds_fill(w->feeds, session, &w->frame);
    assert_false(filled.more);
    return filled.frame;
}

static void until_filled(struct world *w, struct session *session) {
    do until_owed(w, session);
    while (!fills(w, session));
}

static void assert_frame(struct world *w, struct session *session, const char *expected) {
    until_filled(w, session);
    assert_string_equal(buffer_cstring(&w->frame) + WS_HEADROOM, expected);
}

#define VERSION(digit) "000000000000000" digit "0000000000000001"

static char *post_text(int64_t id) {
    return mem_format("{\"id\":\"%" PRId64
                      "\",\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":\"text of %" PRId64
                      "\",\"media\":[],\"time\":%" PRId64 ",\"version\":1,\"edited\":null,\"likes\":0,\"liked\":false}",
                      id, id, ids_time_ms(id));
}

static void assert_stale(struct world *w, struct session *session, const char *v) {
    FREED char *expected = mem_format("{\"type\":\"stale\",\"what\":\"feed\",\"version\":\"%s\",\"after_ms\":0}", v);
    assert_frame(w, session, expected);
}

/* A frame from version 1 on; items: as JSON, without the brackets. */
static void assert_posts(struct world *w, struct session *session, const char *v, const char *items, const char *gone) {
    FREED char *expected =
        mem_format("{\"type\":\"posts\",\"since\":\"" VERSION("1") "\",\"version\":\"%s\",\"items\":[%s],"
                                                                   "\"gone\":[%s]}",
                   v, items, gone);
    assert_frame(w, session, expected);
}

/* ---- tests ---- */

SET_UP() { return world_new(); }
TEAR_DOWN(struct world *w) { world_free(w); }

TEST(watch_records_say_where_the_edge_reads, struct world *w) {
    struct session *phone = arrive(w, 7), *tablet = arrive(w, 7);
    struct watch_key key;
    assert_int_equal(feeds_watch(w->feeds, phone, NULL), 0);
    assert_int_equal(feeds_watch(w->feeds, tablet, NULL), 0);
    for (int i = 0; i < 5; i++) turn(w);
    assert_int_equal(w->record_count, 0); /* there is no route yet */
    feeds_route(w->feeds, 5);
    until_written(w, 1);
    assert_int_equal(w->records[0].partition, hash_user_partition(7, PARTITIONS));
    assert_int_equal(watch_key_decode(w->records[0].key, w->records[0].key_size, &key), 0);
    assert_int_equal(key.what_size, 6);
    assert_memory_equal(key.what, "feed:7", 6);
    assert_int_equal(w->records[0].route, 5);
    feeds_route(w->feeds, 6);
    until_written(w, 2);
    assert_int_equal(w->records[1].route, 6);
    /* The last one that leaves takes the record away, when there is room for that. */
    feeds_unwatch(w->feeds, phone);
    feeds_unwatch(w->feeds, phone);
    w->full = true;
    session_free(w->sessions, tablet);
    for (int i = 0; i < 5; i++) turn(w);
    w->full = false;
    until_written(w, 3);
    assert_true(w->records[2].tombstone);
    assert_int_equal(w->record_count, 3);
}

TEST(posts_are_gathered_into_one_frame, struct world *w) {
    struct session *phone = arrive(w, 9), *tablet = arrive(w, 9), *other = arrive(w, 10);
    struct watch_version first = version(1);
    int64_t a = id_of(1, 1), b = id_of(2, 2);
    FREED char *text_a = post_text(a), *text_b = post_text(b), *both = mem_format("%s,%s", text_b, text_a);
    some_profiles_name(&w->profiles, 7, "Ada");
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    feeds_watch(w->feeds, tablet, &first);
    change(w, 9, 1, a, id_of(3, 0));
    change(w, 9, 2, b, 0);
    until_asked(w, 2);
    assert_int_equal(post_owners_asked(&w->owners, a), 1);
    post_owners_answer(&w->owners, 0);
    for (int i = 0; i < 5; i++) turn(w);
    assert_false(phone->owing); /* one text is missing */
    assert_false(fills(w, phone));
    post_owners_answer(&w->owners, 1);
    until_owed(w, phone);
    until_owed(w, tablet);
    assert_false(other->owing);
    FREED char *gone = mem_format("\"%" PRId64 "\"", id_of(3, 0));
    assert_posts(w, phone, VERSION("3"), both, gone);
    assert_posts(w, tablet, VERSION("3"), both, gone);
    assert_false(fills(w, phone));
    /* A tablet that comes later asks nobody, and is told by itself. */
    feeds_unwatch(w->feeds, phone);
    change(w, 9, 3, 0, a);
    until_owed(w, tablet);
    assert_false(phone->owing);
}

/* Of as many posts as may be pending, each of them short. */
TEST(more_than_a_frame_is_read_as_a_page, struct world *w) {
    enum { POSTS = 480 };
    struct session *phone = arrive(w, 9);
    struct watch_version first = version(1);
    some_profiles_name(&w->profiles, 7, "Augusta Ada King, Countess of Lovelace");
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    for (int64_t n = 1; n <= POSTS; n++) change(w, 9, n, id_of(1, n), 0);
    w->owners.at_once = true;
    until_filled(w, phone);
    assert_memory_equal(w->frame.data + WS_HEADROOM, "{\"type\":\"stale\"", 15);
    assert_false(fills(w, phone));
}

TEST(texts_that_are_late_or_gone, struct world *w) {
    struct session *phone = arrive(w, 9);
    struct watch_version first = version(1);
    int64_t away = id_of(1, 1), deleted = id_of(2, 2);
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    w->owners.deleted[w->owners.deleted_count++] = deleted;
    change(w, 9, 1, away, 0);
    change(w, 9, 2, deleted, 0);
    until_asked(w, 2);
    post_owners_answer(&w->owners, 1);
    until_owed(w, phone); /* the question to the other owner is given up */
    FREED char *items = mem_format("{\"id\":\"%" PRId64 "\",\"user\":7,\"time\":%" PRId64 ",\"unavailable\":true}",
                                   away, ids_time_ms(away));
    assert_posts(w, phone, VERSION("3"), items, "");
}

/* A delivery says nothing about who may see the post now. */
TEST(posts_are_for_those_who_may_see_them, struct world *w) {
    struct session *phone = arrive(w, 9), *own = arrive(w, 7);
    struct watch_version first = version(1);
    int64_t post = id_of(1, 1);
    FREED char *text = post_text(post);
    some_profiles_name(&w->profiles, 7, "Ada");
    strcpy(w->sight, "\"everybody\":true,\"but\":[9]");
    w->owners.at_once = true;
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    feeds_watch(w->feeds, own, &first);
    change(w, 9, 1, post, 0);
    change(w, 7, 1, post, 0);
    assert_posts(w, phone, VERSION("2"), "", "");
    assert_posts(w, own, VERSION("2"), text, "");
}

/* A frame may wait for its turn for longer than a permission counts. */
TEST(who_may_see_posts_is_asked_when_the_frame_goes_out, struct world *w) {
    struct session *phone = arrive(w, 9);
    struct watch_version first = version(1);
    int64_t post = id_of(1, 1);
    FREED char *text = post_text(post);
    some_profiles_name(&w->profiles, 7, "Ada");
    w->owners.at_once = true;
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    change(w, 9, 1, post, 0);
    until_owed(w, phone);
    assert_false(fills(w, phone));
    until_owed(w, phone); /* the user may see it */
    sights_ms += SIGHT_MS + 1;
    assert_false(fills(w, phone));
    assert_posts(w, phone, VERSION("2"), text, "");
    strcpy(w->sight, "\"everybody\":true,\"but\":[9]");
    sights_ms += SIGHT_MS + 1;
    change(w, 9, 2, id_of(1, 2), 0);
    until_filled(w, phone);
    assert_null(strstr(buffer_cstring(&w->frame) + WS_HEADROOM, "\"text\""));
}

TEST(where_nobody_says_who_may_see_a_post_the_page_is_read, struct world *w) {
    struct session *phone = arrive(w, 9);
    struct watch_version first = version(1);
    w->sight[0] = '\0';
    w->owners.at_once = true;
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    change(w, 9, 1, id_of(1, 1), 0);
    assert_stale(w, phone, VERSION("2"));
}

TEST(sessions_come_and_go_while_it_is_asked_who_may_see, struct world *w) {
    struct session *phone = arrive(w, 9);
    struct watch_version first = version(1);
    w->owners.at_once = true;
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    change(w, 9, 1, id_of(1, 1), 0);
    until_asked(w, 1);
    session_free(w->sessions, phone);
    for (int i = 0; i < 5; i++) turn(w);
}

TEST(a_post_that_is_gone_before_it_was_sent, struct world *w) {
    struct session *phone = arrive(w, 9);
    struct watch_version first = version(1);
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    change(w, 9, 1, id_of(1, 1), 0);
    until_asked(w, 1);
    change(w, 9, 2, 0, id_of(1, 1));
    until_owed(w, phone); /* it does not wait for the text */
    assert_posts(w, phone, VERSION("3"), "", "");
}

TEST(a_page_that_is_not_the_newest_is_stale, struct world *w) {
    struct session *phone = arrive(w, 9), *tablet = arrive(w, 9);
    struct watch_version first = version(1), second = version(2);
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    name(w, 9, 2);
    assert_stale(w, phone, VERSION("2"));
    /* Now the edge has heard, and says so at once; also to a phone that says nothing of its page. */
    feeds_watch(w->feeds, phone, &first);
    assert_stale(w, phone, VERSION("2"));
    feeds_watch(w->feeds, tablet, NULL);
    assert_stale(w, tablet, VERSION("2"));
    feeds_watch(w->feeds, phone, &second);
    for (int i = 0; i < 5; i++) turn(w);
    assert_false(phone->owing);
    /* A phone that has read its page needs nothing of what was pending for the page before. */
    change(w, 9, 2, id_of(1, 1), 0);
    until_asked(w, 1);
    feeds_watch(w->feeds, phone, &(struct watch_version){3, 1});
    post_owners_answer(&w->owners, 0);
    until_owed(w, tablet);
    assert_false(phone->owing);
    assert_false(fills(w, phone));
}

TEST(sessions_come_and_go_while_texts_are_asked_for, struct world *w) {
    struct session *phone = arrive(w, 9), *tablet = arrive(w, 9);
    struct watch_version first = version(1);
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    feeds_watch(w->feeds, tablet, &first);
    change(w, 9, 1, id_of(1, 1), 0);
    until_asked(w, 1);
    session_free(w->sessions, phone);
    post_owners_answer(&w->owners, 0);
    until_owed(w, tablet);
    session_free(w->sessions, tablet);
}

TEST(the_number_of_feeds_is_bounded, struct world *w) {
    feeds_route(w->feeds, 0);
    int64_t user = 1;
    while (feeds_watch(w->feeds, arrive(w, user), NULL) == 0) user++;
    assert_int_equal(user, 9); /* four times as many as there may be sessions, which watch two things each */
    assert_int_equal(feeds_watch(w->feeds, arrive(w, 1), NULL), 0);
}

TEST(malformed_deliveries, struct world *w) {
    struct session *phone = arrive(w, 9);
    struct watch_version first = version(1);
    feeds_route(w->feeds, 0);
    feeds_watch(w->feeds, phone, &first);
    assert_int_equal(
        feeds_take(w->feeds, 0, &(struct deliver_envelope){.payload = (const uint8_t *)"x", .payload_size = 1}),
        -EBADMSG);
    /* A change whose content cannot be read: the page can. */
    deliver(w, &(struct watch_delivery){.is = WATCH_NOTE_IS_TOLD,
                                        .what = (const uint8_t *)"feed:9",
                                        .what_size = 6,
                                        .since = version(1),
                                        .version = version(2),
                                        .content = (const uint8_t *)"x",
                                        .content_size = 1});
    assert_stale(w, phone, VERSION("2"));
}

static int parse(const char *text, struct feed_request *request, const char **code) {
    const char *type;
    FREED_JSON *message = json_parse(text, strlen(text), &failure);
    *code = "";
    assert_int_equal(json_want_text(message, "type", &type, &failure), 0);
    return feed_request_parse(type, message, request, code, &failure);
}

TEST(what_phones_say) {
    struct feed_request request;
    const char *code;
    assert_int_equal(parse("{\"type\":\"watch\",\"what\":\"feed\"}", &request, &code), 0);
    assert_true(request.watch && !request.has_version);
    assert_int_equal(parse("{\"type\":\"watch\",\"what\":\"feed\",\"version\":null}", &request, &code), 0);
    assert_false(request.has_version);
    assert_int_equal(parse("{\"type\":\"watch\",\"what\":\"feed\",\"version\":\"" VERSION("a") "\"}", &request, &code),
                     0);
    assert_true(request.has_version && request.version.number == 10 && request.version.hash == 1);
    assert_int_equal(parse("{\"type\":\"unwatch\",\"what\":\"feed\"}", &request, &code), 0);
    assert_false(request.watch);
    assert_int_equal(parse("{\"type\":\"more\"}", &request, &code), -ENOENT);
    assert_int_equal(parse("{\"type\":\"watch\"}", &request, &code), -ENOENT);
    assert_int_equal(parse("{\"type\":\"watch\",\"what\":\"comments\"}", &request, &code), -ENOENT);
    assert_int_equal(parse("{\"type\":\"unwatch\",\"what\":7}", &request, &code), -ENOENT);
    static const char *const BAD[][2] = {
        {"{\"type\":\"watch\",\"what\":\"feed\",\"version\":\"\"}", "bad_version"},
        {"{\"type\":\"watch\",\"what\":\"feed\",\"version\":12}", "bad_version"},
        {"{\"type\":\"watch\",\"what\":\"feed\",\"version\":\"X" VERSION("a") "\"}", "bad_version"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        assert_int_equal(parse(BAD[i][0], &request, &code), -EINVAL);
        assert_string_equal(code, BAD[i][1]);
    }
}

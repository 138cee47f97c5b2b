/* Tests of the frames of a thread: changes that become one frame, sampled ones, what makes a page stale, and what phones send. */
#include "fanout/comments/live_thread.h"
#include "fanout/comments/request.h"
#include "ids/ids.h"
#include "unit/kit/kit.h"
#include "unit/lib/users/some_profiles.h"
#include "ws/ws.h"

struct desk {
    struct some_profiles profiles;
    struct codec *codec;
    struct live_thread thread;
    const char *text; /* of comments */
    struct buffer content, frame;
};

SET_UP() {
    struct desk *desk = kit_zero(sizeof *desk);
    some_profiles_open(&desk->profiles);
    some_profiles_name(&desk->profiles, 7, "Ada");
    desk->codec = kit_codec();
    strcpy(desk->thread.subject, "post:5");
    desk->text = "hi \"you\"";
    return desk;
}

TEAR_DOWN(struct desk *desk) {
    live_thread_drop(&desk->thread);
    buffer_free(&desk->content);
    buffer_free(&desk->frame);
    some_profiles_close(&desk->profiles);
}

static int64_t id_of(int64_t number) { return ids_make((number + 1) << IDS_FRACTION_BITS, 0); }

/* A change with one comment (0: none), and one pair of counters (likes 0: none). */
static struct thread_told *told(struct desk *desk, bool sampled, int64_t version, int64_t comment,
                                enum changed_comment_state comment_state, int64_t counted, int64_t likes) {
    struct changed_comment items[] = {{.id = id_of(comment),
                                       .user = 7,
                                       .state = comment_state,
                                       .time = ids_time_ms(id_of(comment)),
                                       .floor = (int32_t)comment,
                                       .likes = 9,
                                       .version = 1}};
    struct event_text texts[] = {{desk->text, comment_state == COMMENT_CHANGE_VISIBLE ? strlen(desk->text) : 0}};
    struct changed_counters counters[] = {{.id = id_of(counted), .likes = likes, .replies = 1}};
    const struct comment_change change = {.sampled = sampled,
                                          .since = version - 1,
                                          .version = version,
                                          .total = 40 + version,
                                          .items = {items, comment != 0},
                                          .texts = {texts, comment != 0},
                                          .counters = {counters, likes != 0},
                                          .likes = 10 * version};
    buffer_clear(&desk->content);
    event_encode_comment_change(&desk->content, &change);
    struct thread_told *made =
        thread_told_new(desk->codec, desk->content.data, desk->content.size, desk->profiles.profiles);
    assert_non_null(made);
    return made;
}

static void change(struct desk *desk, int64_t version, int64_t comment, enum changed_comment_state comment_state,
                   int64_t counted, int64_t likes) {
    struct thread_told *made = told(desk, false, version, comment, comment_state, counted, likes);
    live_thread_change(&desk->thread, made, version - 1, version);
    thread_told_give(made);
}

static void show(struct desk *desk, int64_t version, int64_t comment, enum changed_comment_state comment_state) {
    struct thread_told *made = told(desk, true, version, comment, comment_state, 0, 0);
    live_thread_show(&desk->thread, made);
    thread_told_give(made);
}

static const char *frame_of(struct desk *desk) {
    if (desk->thread.changed)
        frame_comments(&desk->frame, &desk->thread);
    else
        frame_stale_thread(&desk->frame, &desk->thread);
    live_thread_told(&desk->thread);
    return buffer_cstring(&desk->frame) + WS_HEADROOM;
}

TEST(test_changes_become_one_frame_with_the_newest_state, struct desk *desk) {
    change(desk, 3, 2, COMMENT_CHANGE_VISIBLE, 1, 4);
    change(desk, 4, 1, COMMENT_CHANGE_DELETED, 2, 10); // the comment's own counters are newer than those before
    change(desk, 5, 0, COMMENT_CHANGE_VISIBLE, 3, 6);
    FREED char *expected = mem_format(
        "{\"type\":\"comments\",\"subject\":\"post:5\",\"since\":2,\"version\":5,\"total\":45,\"likes\":50,\"sampled\":false,"
        "\"items\":["
        "{\"id\":\"%lld\",\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":null,\"time\":%lld,\"version\":1,\"edited\":null,\"floor\":1,\"root\":null,"
        "\"reply_to\":null,\"likes\":9,\"reply_count\":0,\"replies\":[],\"state\":\"deleted\"},"
        "{\"id\":\"%lld\",\"user\":7,\"name\":\"Ada\",\"avatar_url\":\"\",\"text\":\"hi \\\"you\\\"\",\"time\":%lld,\"version\":1,\"edited\":null,\"floor\":2,"
        "\"root\":null,\"reply_to\":null,\"likes\":9,\"reply_count\":0,\"replies\":[],\"state\":\"visible\"}],"
        "\"gone\":[\"%lld\"],\"counters\":[{\"id\":\"%lld\",\"likes\":10,\"reply_count\":1},"
        "{\"id\":\"%lld\",\"likes\":6,\"reply_count\":1}]}",
        (long long)id_of(1), (long long)ids_time_ms(id_of(1)), (long long)id_of(2), (long long)ids_time_ms(id_of(2)),
        (long long)id_of(1), (long long)id_of(2), (long long)id_of(3));
    assert_string_equal(frame_of(desk), expected);
    assert_false(live_thread_pending(&desk->thread));
    // A comment that is restored before it was told to be gone is not gone.
    change(desk, 6, 1, COMMENT_CHANGE_HIDDEN, 0, 0);
    change(desk, 7, 1, COMMENT_CHANGE_VISIBLE, 0, 0);
    assert_non_null(strstr(frame_of(desk), "\"gone\":[]"));
}

TEST(test_a_change_that_does_not_follow_makes_the_page_stale, struct desk *desk) {
    change(desk, 3, 1, COMMENT_CHANGE_VISIBLE, 0, 0);
    change(desk, 9, 2, COMMENT_CHANGE_VISIBLE, 0, 0);
    change(desk, 10, 3, COMMENT_CHANGE_VISIBLE, 0, 0);
    assert_string_equal(frame_of(desk),
                        "{\"type\":\"stale\",\"what\":\"comments\",\"subject\":\"post:5\",\"version\":10,"
                        "\"after_ms\":0}");
    change(desk, 3, 1, COMMENT_CHANGE_VISIBLE, 0, 0);
    live_thread_stale(&desk->thread, 8, 70);
    show(desk, 9, 1, COMMENT_CHANGE_VISIBLE);
    assert_string_equal(frame_of(desk),
                        "{\"type\":\"stale\",\"what\":\"comments\",\"subject\":\"post:5\",\"version\":8,"
                        "\"after_ms\":70}");
}

TEST(test_what_is_shown_to_every_page_is_sampled, struct desk *desk) {
    for (int64_t version = 5; version < 5 + 2 * LIVE_THREAD_PENDING_MAX; version++)
        show(desk, version, version, version == 5 ? COMMENT_CHANGE_HIDDEN : COMMENT_CHANGE_VISIBLE);
    assert_int_equal(desk->thread.item_count, LIVE_THREAD_PENDING_MAX);
    assert_true(live_comment_item(&desk->thread.items[0])->gone); // and the newest ones
    assert_int_equal(desk->thread.items[LIVE_THREAD_PENDING_MAX - 1].id, id_of(4 + 2 * LIVE_THREAD_PENDING_MAX));
    const char *frame = frame_of(desk);
    assert_non_null(strstr(frame, "\"since\":4,\"version\":2004,\"total\":2044,\"likes\":20040,\"sampled\":true"));
    // More than fits of a change that is not sampled: the page is to be read.
    for (int64_t version = 5; version < 10 + LIVE_THREAD_PENDING_MAX; version++)
        change(desk, version, version, COMMENT_CHANGE_VISIBLE, 0, 0);
    assert_true(desk->thread.stale && !desk->thread.changed);
    assert_int_equal(desk->thread.stale_version, 9 + LIVE_THREAD_PENDING_MAX);
}

TEST(test_a_frame_is_bounded_in_bytes, struct desk *desk) {
    enum { SIZE = 5000, COMMENTS = 100 };
    static char text[SIZE + 1];
    memset(text, 'a', SIZE);
    desk->text = text;
    show(desk, 5, 1, COMMENT_CHANGE_HIDDEN);
    for (int64_t version = 6; version < 5 + COMMENTS; version++) show(desk, version, version, COMMENT_CHANGE_VISIBLE);
    assert_true(!desk->thread.stale && live_comment_item(&desk->thread.items[0])->gone);
    assert_int_equal(desk->thread.items[desk->thread.item_count - 1].id, id_of(4 + COMMENTS));
    size_t size = strlen(frame_of(desk));
    assert_in_range(size, LIVE_THREAD_PENDING_BYTES - 2 * SIZE, LIVE_THREAD_PENDING_BYTES + SIZE);
    // The same comment over and over is one, and one that is gone has no text.
    for (int64_t version = 6; version < 5 + COMMENTS; version++) change(desk, version, 2, COMMENT_CHANGE_VISIBLE, 0, 0);
    for (int64_t version = 5 + COMMENTS; version < 5 + 3 * COMMENTS; version += 2) {
        change(desk, version, version, COMMENT_CHANGE_VISIBLE, 0, 0);
        change(desk, version + 1, version, COMMENT_CHANGE_DELETED, 0, 0);
    }
    assert_true(desk->thread.changed && !desk->thread.stale);
    frame_of(desk);
    for (int64_t version = 6; version < 5 + COMMENTS; version++)
        change(desk, version, version, COMMENT_CHANGE_VISIBLE, 0, 0);
    assert_true(desk->thread.stale && !desk->thread.changed);
    assert_int_equal(desk->thread.bytes, 0);
}

/* The next frame is a sampled one in which these comments, and no others, are gone (0: none). */
static void assert_gone(struct desk *desk, int64_t first, int64_t second) {
    FREED char *expected = second ? mem_format("\"gone\":[\"%lld\",\"%lld\"],\"counters\":[]}", (long long)id_of(first),
                                               (long long)id_of(second))
                                  : mem_format("\"gone\":[\"%lld\"],\"counters\":[]}", (long long)id_of(first));
    assert_true(desk->thread.changed);
    assert_int_equal(desk->thread.item_count, second ? 2 : 1);
    const char *frame = frame_of(desk);
    assert_non_null(strstr(frame, "\"sampled\":true"));
    assert_non_null(strstr(frame, expected));
}

static void assert_stale(struct desk *desk, int64_t version) {
    assert_true(desk->thread.stale && !desk->thread.changed);
    assert_int_equal(desk->thread.stale_version, version);
    assert_non_null(strstr(frame_of(desk), "\"type\":\"stale\""));
    assert_false(live_thread_pending(&desk->thread));
}

TEST(test_what_is_gone_is_told_before_a_page_is_stale, struct desk *desk) {
    change(desk, 3, 1, COMMENT_CHANGE_DELETED, 8, 4);
    change(desk, 4, 2, COMMENT_CHANGE_VISIBLE, 0, 0);
    live_thread_stale(&desk->thread, 5, 70);
    assert_gone(desk, 1, 0);
    assert_stale(desk, 5);
    // Later changes and sampled ones: what they restore is not gone.
    live_thread_stale(&desk->thread, 5, 70);
    change(desk, 6, 1, COMMENT_CHANGE_HIDDEN, 8, 5);
    show(desk, 7, 2, COMMENT_CHANGE_HIDDEN);
    show(desk, 8, 3, COMMENT_CHANGE_HIDDEN);
    change(desk, 9, 2, COMMENT_CHANGE_VISIBLE, 0, 0);
    assert_gone(desk, 1, 3);
    assert_stale(desk, 9);
    // A change that does not follow.
    change(desk, 10, 1, COMMENT_CHANGE_HIDDEN, 0, 0);
    change(desk, 20, 2, COMMENT_CHANGE_HIDDEN, 0, 0);
    assert_gone(desk, 1, 2);
    assert_stale(desk, 20);
}

TEST(test_what_is_gone_outlives_the_reading_of_a_page, struct desk *desk) {
    const int64_t read = 6;
    show(desk, 6, 1, COMMENT_CHANGE_HIDDEN); // the page shows it
    show(desk, 7, 2, COMMENT_CHANGE_HIDDEN);
    show(desk, 7, 3, COMMENT_CHANGE_VISIBLE);
    live_thread_stale(&desk->thread, 8, 70);
    live_thread_read(&desk->thread, &read);
    assert_gone(desk, 2, 0);
    assert_false(live_thread_pending(&desk->thread));
    show(desk, 7, 2, COMMENT_CHANGE_HIDDEN);
    live_thread_read(&desk->thread, NULL);
    assert_gone(desk, 2, 0);
    // A change that is told again is older than what is gone, and makes a frame that is not sampled.
    show(desk, 9, 2, COMMENT_CHANGE_HIDDEN);
    live_thread_read(&desk->thread, &read);
    change(desk, 7, 2, COMMENT_CHANGE_VISIBLE, 0, 0);
    change(desk, 8, 4, COMMENT_CHANGE_VISIBLE, 0, 0);
    assert_true(live_comment_item(&desk->thread.items[0])->gone && !desk->thread.stale);
    assert_non_null(strstr(frame_of(desk), "\"since\":6,\"version\":8,\"total\":48,\"likes\":80,\"sampled\":false"));
    assert_false(live_thread_pending(&desk->thread));
}

TEST(test_malformed_contents_are_refused, struct desk *desk) {
    thread_told_give(told(desk, false, 3, 1, COMMENT_CHANGE_VISIBLE, 1, 1));
    for (size_t size = 0; size < desk->content.size; size++)
        assert_null(thread_told_new(desk->codec, desk->content.data, size, desk->profiles.profiles));
    struct event_text texts[] = {{"a", 1}, {"b", 1}};
    buffer_clear(&desk->content);
    event_encode_comment_change(&desk->content, &(struct comment_change){.texts = {texts, 2}});
    assert_null(thread_told_new(desk->codec, desk->content.data, desk->content.size, desk->profiles.profiles));
}

static int parse(const char *text, struct thread_request *request, const char **code) {
    static json_t *last; // texts of the request point into it
    json_decref(last);
    last = json_parse(text, strlen(text), &failure);
    assert_non_null(last);
    return thread_request_parse(json_string_value(json_object_get(last, "type")), last, request, code, &failure);
}

TEST(test_what_phones_say) {
    struct thread_request request;
    const char *code = "";
    assert_int_equal(
        parse("{\"type\":\"watch\",\"what\":\"comments\",\"subject\":\"post:5\",\"version\":7}", &request, &code), 0);
    assert_true(request.watch && request.has_version && request.version == 7);
    assert_string_equal(request.subject, "post:5");
    assert_int_equal(
        parse("{\"type\":\"unwatch\",\"what\":\"comments\",\"subject\":\"post:5\",\"version\":\"x\"}", &request, &code),
        0);
    assert_false(request.watch || request.has_version);
    assert_int_equal(parse("{\"type\":\"watch\",\"what\":\"feed\"}", &request, &code), -ENOENT);
    assert_int_equal(parse("{\"type\":\"more\",\"what\":\"comments\"}", &request, &code), -ENOENT);
    static const char *const BAD[][2] = {
        {"{\"type\":\"watch\",\"what\":\"comments\"}", "bad_subject"},
        {"{\"type\":\"watch\",\"what\":\"comments\",\"subject\":5}", "bad_subject"},
        {"{\"type\":\"unwatch\",\"what\":\"comments\",\"subject\":\"post\"}", "bad_subject"},
        {"{\"type\":\"watch\",\"what\":\"comments\",\"subject\":\"post:5\",\"version\":-1}", "bad_version"},
        {"{\"type\":\"watch\",\"what\":\"comments\",\"subject\":\"post:5\",\"version\":\"5\"}", "bad_version"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        assert_int_equal(parse(BAD[i][0], &request, &code), -EINVAL);
        assert_string_equal(code, BAD[i][1]);
    }
    parse("{\"type\":\"more\"}", &request, &code);
}

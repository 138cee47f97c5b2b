/* Parts of the feed in the gateway: what a post's body may be, how ids are merged, the questions for older posts, and lists of users with
 * their handles. The owners and HTTP are played here: their functions are this file's own. */
#include "ids/ids.h"
#include "ingest/feed/older.h"
#include "ingest/feed/post_body.h"
#include "ingest/feed/refs.h"
#include "ingest/owners.h"
#include "ingest/user_lists.h"
#include "unit/kit/kit.h"

static json_t *parsed(const char *text) {
    json_t *json = json_parse(text, strlen(text), &failure);
    if (!json) fail_msg("%s: %s", text, failure.text);
    return json;
}

/* A body that ends with a text of many equal pieces. */
static json_t *long_body(const char *start, const char *piece, size_t times, const char *end) {
    FREED_BUFFER text = {.size = 0};
    buffer_string(&text, start);
    for (size_t i = 0; i < times; i++) buffer_string(&text, piece);
    buffer_string(&text, end);
    return parsed(buffer_cstring(&text));
}

static void check_body(json_t *object, const char *wanted) {
    struct post_body body;
    struct error error = {.text = ""};
    const char *wrong = post_body_read(object, &body, &error);
    if (!wanted != !wrong || (wanted && strcmp(wanted, wrong) != 0)) fail_msg("%s", wrong ? error.text : "taken");
    assert_int_equal(error.text[0] != 0, wrong != NULL);
    json_decref(object);
}

TEST(bodies_are_taken_or_refused) {
    static const char TEXT[] = "{\"text\":\"", MEDIA[] = "{\"text\":\"a\",\"media\":[\"http://";
    static const char KEY[] = "{\"text\":\"a\",\"key\":\"", GLOBE[] = "\xf0\x9f\x8c\x8d";
    check_body(parsed("{\"text\":\"a\"}"), NULL);
    check_body(parsed("{\"text\":\"a\",\"media\":[],\"key\":\" ~\",\"other\":5}"), NULL);
    check_body(parsed("{\"text\":5}"), "bad_text");
    check_body(parsed("{\"text\":\"\"}"), "bad_text");
    check_body(long_body(TEXT, GLOBE, 2000, "\"}"), NULL);
    check_body(long_body(TEXT, GLOBE, 2001, "\"}"), "bad_text");
    check_body(long_body(MEDIA, "a", 2041, "\"]}"), NULL);
    check_body(long_body(MEDIA, "a", 2042, "\"]}"), "bad_media");
    check_body(parsed("{\"text\":\"a\",\"media\":[\"http://1\",\"http://2\",\"http://3\",\"https://4\"]}"), NULL);
    check_body(parsed("{\"text\":\"a\",\"media\":[\"http:\"]}"), "bad_media");
    check_body(parsed("{\"text\":\"a\",\"media\":{}}"), "bad_media");
    check_body(long_body(KEY, "k", 64, "\"}"), NULL);
    check_body(long_body(KEY, "k", 65, "\"}"), "bad_key");
    check_body(parsed("{\"text\":\"a\",\"key\":\"\\u007f\"}"), "bad_key");
}

TEST(a_body_is_read_whole) {
    struct post_body body;
    FREED_JSON *object = parsed("{\"text\":\"hi\",\"media\":[\"http://1\",\"https://2\"],\"key\":\"k\"}");
    assert_null(post_body_read(object, &body, &failure));
    assert_memory_equal(body.text.data, "hi", body.text.size);
    assert_int_equal(body.media_count, 2);
    assert_memory_equal(body.media[1].data, "https://2", body.media[1].size);
    assert_string_equal(body.key, "k");
}

static void read_refs(struct page_refs *refs, const char *text, bool good) {
    size_t before = refs->count;
    assert_int_equal(page_refs_read(refs, (struct json_bytes){text, strlen(text)}), good);
    if (!good) assert_int_equal(refs->count, before);
}

TEST(refs_are_merged_by_falling_id) {
    struct page_refs refs = {0};
    read_refs(&refs, "[{\"id\":\"5\",\"user\":1},{\"id\":\"3\",\"user\":2}]", true);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":3},{\"id\":4,\"user\":3}]", false);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":-3}]", false);
    read_refs(&refs, "{}", false);
    read_refs(&refs, "[{\"id\":\"4\"}]", false);
    read_refs(&refs, "[{\"id\":\"4\",\"user\":3}", false);
    read_refs(&refs, "[]", true);
    read_refs(&refs,
              "[{\"id\":\"9223372036854775807\",\"user\":3},{\"id\":\"3\",\"user\":2},{\"id\":\"4\",\"user\":0}]",
              true);
    page_refs_merge(&refs, 10);
    static const int64_t WANTED[] = {INT64_MAX, 5, 4, 3};
    assert_int_equal(refs.count, ARRAY_SIZE(WANTED));
    for (size_t i = 0; i < refs.count; i++) assert_true(refs.items[i].id == WANTED[i]);
    page_refs_merge(&refs, 2);
    assert_int_equal(refs.count, 2);
    assert_true(refs.items[1].id == 5 && refs.items[1].user == 1);
    page_refs_free(&refs);
    page_refs_merge(&refs, 2);
    assert_int_equal(refs.count, 0);
}

TEST(questions_for_older_posts_name_each_author_once) {
    enum { AUTHORS = 5000, PARTITIONS = 3 };
    struct older_questions questions;
    FREED_JSON *authors = json_array();
    size_t seen = 0;
    for (int i = 0; i < AUTHORS; i++) json_array_append_new(authors, json_integer(i));
    json_array_append_new(authors, json_string("7"));
    older_questions_new(&questions, authors, PARTITIONS);
    assert_true(questions.count >= 13 && questions.count <= 13 + PARTITIONS);
    for (size_t i = 0; i < questions.count; i++) {
        const struct older_question *question = &questions.items[i];
        size_t before = seen;
        for (const char *at = question->authors; at; at = strchr(at, ','), at += at != NULL, seen++)
            assert_int_equal(hash_user_partition(strtoll(at, NULL, 10), PARTITIONS), question->partition);
        assert_true(seen - before <= OLDER_AUTHORS_MAX);
    }
    assert_int_equal(seen, AUTHORS);
    older_questions_free(&questions);
}

/* ---- lists of users ---- */

enum { OWNERS = 4, QUESTIONS_MAX = 8, TEXT_MAX = 512 };

static struct {
    struct question {
        char path[TEXT_MAX];
        void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
        void *context;
    } questions[QUESTIONS_MAX];
    size_t count;
    int64_t work;
    char answer[TEXT_MAX]; /* "503": of an owner who is away; empty: none yet */
} played;

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    assert_true(played.count < QUESTIONS_MAX);
    struct question *question = &played.questions[played.count++];
    snprintf(question->path, sizeof question->path, "%s", path);
    question->done = done;
    question->context = context;
}

int32_t peers_of_user(const struct peers *peers, int64_t user) { return (int32_t)(user % OWNERS); }
int32_t peers_of_subject(const struct peers *peers, const char *subject) { return -1; }

/* One process has the partitions 0 and 2, another one 1 and 3. */
const int32_t *peers_lowest(const struct peers *peers) {
    static const int32_t LOWEST[OWNERS] = {0, 1, 0, 1};
    return LOWEST;
}

bool owners_answered(struct http_request *request, int code, unsigned status) {
    if (code || status != 200) owners_away(request, 1);
    return !code && status == 200;
}

void owners_away(struct http_request *request, int retry_after_s) { strcpy(played.answer, "503"); }
void http_add_work(struct http_request *request, int64_t requests) { played.work += requests; }

void http_reply_json(struct http_request *request, unsigned status, const struct buffer *body) {
    assert_int_equal(status, 200);
    snprintf(played.answer, sizeof played.answer, "%.*s", (int)body->size, (const char *)body->data);
}

static void put_user(struct buffer *body, int64_t user, struct profiles *profiles) {
    buffer_format(body, "\"user\":%" PRId64, user);
}

static bool put_state(struct buffer *body, const json_t *item) { return json_copy_text(body, item, "state"); }

/* Answers the open question with that path; reply NULL: its owner does not. */
static void say(const char *path, const char *reply) {
    for (size_t i = 0; i < played.count; i++) {
        struct question question = played.questions[i];
        if (!question.done || strcmp(question.path, path) != 0) continue;
        played.questions[i].done = NULL;
        question.done(question.context, reply ? 0 : -ETIMEDOUT, reply ? 200 : 0, reply, reply ? strlen(reply) : 0);
        return;
    }
    fail_msg("nobody has asked %s", path);
}

static void nothing_played(void) { memset(&played, 0, sizeof played); }

SET_UP() {
    nothing_played();
    return &played;
}

static const struct user_list PLAIN = {.put_user = put_user};

TEST(handles_are_asked_of_each_process_at_once) {
    static const int64_t USERS[] = {7, 2, 4, 1, 4};
    user_list_show(&PLAIN, USERS, ARRAY_SIZE(USERS));
    assert_int_equal(played.count, 2);
    say("/peer/handles/1?ids=7,1", "{\"items\":[\"ada\",null]}");
    assert_string_equal(played.answer, "");
    say("/peer/handles/0?ids=2,4,4", "{\"items\":[null,\"ben\",\"ben\"]}");
    assert_string_equal(played.answer, "{\"items\":[{\"user\":7,\"handle\":\"ada\"},{\"user\":2,\"handle\":null},"
                                       "{\"user\":4,\"handle\":\"ben\"},{\"user\":1,\"handle\":null},"
                                       "{\"user\":4,\"handle\":\"ben\"}]}");
    assert_int_equal(played.work, 1);
}

TEST(many_users_cost_more) {
    int64_t users[100];
    for (int64_t i = 0; i < 100; i++) users[i] = 2 * i;
    user_list_show(&PLAIN, users, 100);
    assert_int_equal(played.work, 3);
    played.questions[0].done(played.questions[0].context, -ETIMEDOUT, 0, NULL, 0);
}

/* Partition 3 has moved: its new owner is asked, once. */
TEST(a_user_who_is_elsewhere_is_asked_for_again) {
    static const int64_t USERS[] = {1, 3};
    user_list_show(&PLAIN, USERS, 2);
    say("/peer/handles/1?ids=1,3", "{\"items\":[\"ada\",false]}");
    say("/peer/handles/3?ids=3", "{\"items\":[\"cleo\"]}");
    assert_string_equal(played.answer,
                        "{\"items\":[{\"user\":1,\"handle\":\"ada\"},{\"user\":3,\"handle\":\"cleo\"}]}");
    nothing_played();
    user_list_show(&PLAIN, USERS, 2);
    say("/peer/handles/1?ids=1,3", "{\"items\":[false,\"cleo\"]}");
    say("/peer/handles/1?ids=1", "{\"items\":[false]}");
    assert_string_equal(played.answer, "{\"items\":[{\"user\":1,\"handle\":null},{\"user\":3,\"handle\":\"cleo\"}]}");
}

TEST(a_page_of_an_owner_gets_handles) {
    const struct user_list list = {.put_user = put_user, .put_more = put_state};
    static const struct rpc_value OF[] = {RPC_INT(USER, 5), RPC_TEXT(STATE, "all"), {.arg = RPC_END}};
    user_list_ask(&list, NULL, &ASK_FRIENDS, OF);
    say("/peer/friends/5?state=all",
        "{\"items\":[{\"user\":1,\"state\":\"friends\"},{\"user\":2,\"state\":\"invited\"}],\"next\":2,\"total\":9}");
    say("/peer/handles/0?ids=2", "{\"items\":[\"ben\"]}");
    say("/peer/handles/1?ids=1", NULL); // the list does not fail
    assert_string_equal(played.answer,
                        "{\"items\":[{\"user\":1,\"handle\":null,\"state\":\"friends\"},"
                        "{\"user\":2,\"handle\":\"ben\",\"state\":\"invited\"}],\"next\":2,\"total\":9}");
}

TEST(a_page_without_users_asks_for_nothing) {
    static const struct rpc_value OF[] = {RPC_INT(USER, 5), {.arg = RPC_END}};
    user_list_ask(&PLAIN, NULL, &ASK_FRIENDS, OF);
    say("/peer/friends/5", "{\"items\":[],\"next\":null}");
    assert_string_equal(played.answer, "{\"items\":[],\"next\":null}");
    assert_int_equal(played.count, 1);
}

TEST(a_list_that_cannot_be_read_is_away) {
    static const struct rpc_value OF[] = {RPC_INT(USER, 5), {.arg = RPC_END}};
    static const char *const REPLIES[] = {NULL, "{}", "[", "{\"items\":[{\"user\":\"1\"}],\"next\":null}"};
    for (size_t i = 0; i < ARRAY_SIZE(REPLIES); i++) {
        nothing_played();
        user_list_ask(&PLAIN, NULL, &ASK_FRIENDS, OF);
        say("/peer/friends/5", REPLIES[i]);
        assert_string_equal(played.answer, "503");
    }
}

/* Tests user_lists.c and gather.c. Lists of users with their handles. The owners and HTTP are played here: their functions are this
 * file's own. */
#include "ingest/owners.h"
#include "ingest/user_lists.h"
#include "unit/kit/kit.h"

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

/* Tests ask.c, questions.c and serve.c. Questions between daemons: each is written, read again, and asked of and answered by the right
 * process. HTTP and peers are played here: their functions are this file's own. */
#include "http/target.h"
#include "rpc/ask.h"
#include "rpc/serve.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 8, USER = 7, OTHER = 3, P = 5, TEXT_MAX = 256 };
#define SUBJECT "post:123"

/* ---- HTTP and peers ---- */

static struct {
    char target[TEXT_MAX];
    const char *method;
    struct http_field parameters[16];
    size_t count;
    unsigned status; /* of the answer; 0: none yet */
    const char *code;
} asked;

const char *http_method(const struct http_request *request) { return asked.method; }
const char *http_path(const struct http_request *request) { return asked.target; }

const char *http_query(const struct http_request *request, const char *name) {
    for (size_t i = 0; i < asked.count; i++)
        if (strcmp(asked.parameters[i].name, name) == 0) return asked.parameters[i].value;
    return NULL;
}

void http_reply(struct http_request *request, unsigned status, const char *type, const void *body, size_t size,
                const struct http_field *fields, size_t count) {
    assert_int_equal(asked.status, 0);
    asked.status = status;
}

void http_problem(struct http_request *request, unsigned status, const char *code, const char *detail, int retry) {
    http_reply(request, status, NULL, NULL, 0, NULL, 0);
    asked.code = code;
}

static void begin(const char *target) {
    memset(&asked, 0, sizeof asked);
    asked.method = "GET";
    asked.count = ARRAY_SIZE(asked.parameters);
    snprintf(asked.target, sizeof asked.target, "%s", target);
    assert_true(http_target_read(asked.target, asked.parameters, &asked.count));
}

static struct {
    char path[TEXT_MAX];
    int32_t partition;
} fetched;

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    snprintf(fetched.path, sizeof fetched.path, "%s", path);
    fetched.partition = partition;
}

int32_t peers_of_user(const struct peers *peers, int64_t user) { return hash_user_partition(user, PARTITIONS); }

int32_t peers_of_subject(const struct peers *peers, const char *subject) {
    return hash_partition(subject, strlen(subject), PARTITIONS);
}

/* ---- questions ---- */

#define ALL_VALUES                                                                                                     \
    RPC_VALUES(RPC_INT(USER, USER), RPC_INT(ONE, USER), RPC_INT(OTHER, OTHER), RPC_INT(POST, 9),                       \
               RPC_INT(PARTITION, P), RPC_TEXT(SUBJECT, SUBJECT), RPC_INT(COMMENT, 12), RPC_TEXT(SORT, "heat"),        \
               RPC_TEXT(STATE, "all"), RPC_TEXT(RELATION, "muted"), RPC_INT(LIMIT, 20), RPC_INT(BEFORE, 99),           \
               RPC_INT(ABOVE, 0), RPC_TEXT(AFTER, "4"), RPC_INT(FROM, 1), RPC_INT(TO, 2), RPC_INT(SINCE, 0),           \
               RPC_INT(OFFSET, 0), RPC_INT(WAIT_MS, 0), RPC_TEXT(KEY, "a b/&\xc3\xa4"), RPC_TEXT(HANDLE, "ada"),       \
               RPC_TEXT(IDS, "1,2"), RPC_TEXT(AUTHORS, "1,2"), RPC_TEXT(SUBJECTS, "post:1,post:2"),                    \
               RPC_TEXT(HIDDEN, "true"), RPC_INT(FIRST, 0), RPC_INT(AROUND, 0), RPC_TEXT(LIKES, "true"),               \
               RPC_TEXT(REPORTS, NULL), RPC_TEXT(WORDS, "tea & milk"), RPC_TEXT(TYPE, NULL),                           \
               RPC_TEXT(REPORTED, "true"))

static const struct {
    const struct rpc_question *question;
    const char *path;
} QUESTIONS[] = {
    {&ASK_FEED, "/peer/feed/7?limit=20&before=99&above=0"},
    {&ASK_OLDER, "/peer/older/5?limit=20&before=99&above=0&authors=1,2"},
    {&ASK_POSTS, "/peer/posts/5?ids=1,2&hidden=true"},
    {&ASK_WRITTEN, "/peer/written/7?limit=20&before=99&above=0"},
    {&ASK_USER, "/peer/user/7"},
    {&ASK_LIST, "/peer/list/7?relation=muted&limit=20&after=4&ids=1,2"},
    {&ASK_HANDLE, "/peer/handle/5?handle=ada"},
    {&ASK_HANDLES, "/peer/handles/5?ids=1,2"},
    {&ASK_NOTICES, "/peer/notices/7?limit=20&after=4&hidden=true"},
    {&ASK_RELATION, "/peer/relation/7/3?relation=muted&offset=0&wait_ms=0"},
    {&ASK_POSTED, "/peer/posted/7?offset=0&wait_ms=0&key=a%20b%2F%26%C3%A4"},
    {&ASK_GONE, "/peer/gone/7/9?offset=0&wait_ms=0"},
    {&ASK_WISH, "/peer/wish/7?offset=0&wait_ms=0&handle=ada"},
    {&ASK_UNNAMED, "/peer/unnamed/7?offset=0&wait_ms=0"},
    {&ASK_COMMENTS, "/peer/comments/page/post/123?sort=heat&limit=20&after=4&replies=0"},
    {&ASK_REPLIES, "/peer/comments/replies/post/123/12?limit=20&after=4"},
    {&ASK_COMMENT, "/peer/comments/one/post/123/12?user=7&around=0"},
    {&ASK_LIKES, "/peer/comments/likes/post/123?user=7&ids=1,2"},
    {&ASK_LIKERS, "/peer/comments/likers/post/123?limit=20&after=4"},
    {&ASK_SUBJECT, "/peer/comments/subject/post/123"},
    {&ASK_OUTCOME, "/peer/comments/outcome/post/123?user=7&comment=12&offset=0&wait_ms=0&key=a%20b%2F%26%C3%A4"},
    {&ASK_COUNTS, "/peer/comments/counts/5?subjects=post:1,post:2"},
    {&ASK_OF_USER, "/peer/comments/of/5?user=7&limit=20&after=4&likes=true"},
    {&ASK_FRIENDS, "/peer/friends/7?state=all&limit=20&after=4"},
    {&ASK_FRIEND_IDS, "/peer/friend-ids/7/3"},
    {&ASK_FRIENDSHIP, "/peer/friendship/7/3?offset=0&wait_ms=0"},
    {&ASK_REQUESTS, "/peer/requests/7"},
    {&ASK_NEARBY, "/peer/nearby/7?limit=20&after=4&since=0&wait_ms=0"},
    {&ASK_AUDIENCE, "/peer/audience/7?limit=20&after=4"},
    {&ASK_DISCOVER, "/peer/discover/7?limit=20&after=4"},
    {&ASK_HISTORY, "/peer/history/7?limit=20&after=4&from=1&to=2"},
    {&ASK_WIPED, "/peer/wiped/7?offset=0&wait_ms=0"},
    {&ASK_SEARCH, "/peer/moderation/comments?user=7&subject=post:123&state=all&limit=20&after=4&from=1&to=2"
                  "&text=tea%20%26%20milk&reported=true"},
};

/* What was written is read again. */
static void is_read(const struct rpc_question *question, const struct rpc_value *values, const struct rpc_asked *read) {
    for (const struct rpc_rule *rule = question->rules; rule < question->rules + RPC_RULES_MAX && rule->arg; rule++) {
        const struct rpc_value *value = rpc_value(values, rule->arg);
        if (rule->kind == RPC_NUMBERS)
            assert_int_equal(read->numbers[rule->arg], value->text ? atoi(value->text) : value->number);
        else if (value->text)
            assert_string_equal(read->texts[rule->arg], value->text);
        else
            assert_null(read->texts[rule->arg]);
    }
    for (size_t i = 0; i < RPC_PARTS_MAX && question->parts[i]; i++) {
        const struct rpc_value *value = rpc_value(values, question->parts[i]);
        if (value->text)
            assert_string_equal(read->subject, value->text);
        else
            assert_int_equal(read->numbers[value->arg], value->number);
    }
}

TEST(each_question_is_written_and_read) {
    for (size_t i = 0; i < ARRAY_SIZE(QUESTIONS); i++) {
        const struct rpc_question *question = QUESTIONS[i].question;
        struct rpc_asked read;
        rpc_ask(NULL, question, ALL_VALUES, 100, NULL, NULL);
        assert_string_equal(fetched.path, QUESTIONS[i].path);
        begin(fetched.path);
        assert_int_equal(rpc_read(question, NULL, PARTITIONS, &read), 0);
        assert_int_equal(read.partition, question->parts[0] ? fetched.partition : -1);
        is_read(question, ALL_VALUES, &read);
    }
}

/* Of one question, other paths are read by none. */
TEST(no_question_is_taken_for_another) {
    for (size_t i = 0; i < ARRAY_SIZE(QUESTIONS); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(QUESTIONS); j++) {
            struct rpc_asked read;
            begin(QUESTIONS[i].path);
            assert_int_equal(rpc_read(QUESTIONS[j].question, NULL, PARTITIONS, &read), i == j ? 0 : -ENOENT);
        }
    }
}

TEST(of_two_users_the_lower_ones_owner_is_asked) {
    assert_int_equal(rpc_partition(NULL, &ASK_FRIENDSHIP, RPC_VALUES(RPC_INT(ONE, USER), RPC_INT(OTHER, OTHER))),
                     hash_user_partition(OTHER, PARTITIONS));
    assert_int_equal(rpc_partition(NULL, &ASK_FRIENDSHIP, RPC_VALUES(RPC_INT(ONE, OTHER), RPC_INT(OTHER, USER))),
                     hash_user_partition(OTHER, PARTITIONS));
    assert_int_equal(rpc_partition(NULL, &ASK_RELATION, RPC_VALUES(RPC_INT(USER, USER), RPC_INT(OTHER, OTHER))),
                     hash_user_partition(USER, PARTITIONS));
}

TEST(absent_values_are_not_written) {
    char *path = rpc_path(&ASK_NEARBY, RPC_VALUES(RPC_INT(USER, 0), RPC_INT(LIMIT, 20), RPC_TEXT(AFTER, NULL),
                                                  RPC_INT(SINCE, -1), RPC_INT(WAIT_MS, -1)));
    assert_string_equal(path, "/peer/nearby/0?limit=20");
    free(path);
    path = rpc_path(&ASK_POSTS, RPC_VALUES(RPC_INT(PARTITION, 3), RPC_INT(IDS, 70)));
    assert_string_equal(path, "/peer/posts/3?ids=70");
    char *waiting = rpc_path_waiting(path, 4, 100);
    assert_string_equal(waiting, "/peer/posts/3?ids=70&offset=4&wait_ms=100");
    free(waiting);
    waiting = rpc_path_waiting("/peer/unnamed/7", 4, 100);
    assert_string_equal(waiting, "/peer/unnamed/7?offset=4&wait_ms=100");
    free(waiting);
    free(path);
}

TEST(what_is_absent_has_its_default) {
    struct rpc_asked read;
    begin("/peer/feed/7");
    assert_int_equal(rpc_read(&ASK_FEED, NULL, PARTITIONS, &read), 0);
    assert_true(read.numbers[RPC_LIMIT] == 20 && read.numbers[RPC_BEFORE] == INT64_MAX);
    begin("/peer/friendship/7/3");
    assert_int_equal(rpc_read(&ASK_FRIENDSHIP, NULL, PARTITIONS, &read), 0);
    assert_true(read.numbers[RPC_OFFSET] == -1 && read.numbers[RPC_WAIT_MS] == 2000);
}

/* ---- answers ---- */

static int serves; /* what it says of all partitions */
static int answers;

static int serves_now(const void *context, int32_t partition) {
    assert_true(partition >= 0);
    return serves;
}

static void answer(void *context, struct http_request *request, const struct rpc_asked *read) {
    assert_ptr_equal(context, &answers);
    answers++;
    http_reply(request, 200, NULL, NULL, 0, NULL, 0);
}

static const struct rpc_handler HANDLERS[] = {
    {&ASK_FRIENDS, answer, false}, {&ASK_FRIENDSHIP, answer, true}, {&ASK_OUTCOME, answer, false},
    {&ASK_WIPED, answer, false},   {&ASK_OLDER, answer, false},     {&ASK_POSTED, answer, false},
};
static const struct rpc_server SERVER = {HANDLERS, ARRAY_SIZE(HANDLERS), serves_now};

/* code: of the problem; NULL: any. */
static void says(const char *target, unsigned status, const char *code) {
    int before = answers;
    begin(target);
    rpc_serve(&SERVER, &answers, PARTITIONS, NULL);
    if (asked.status != status) fail_msg("%s: %u", target, asked.status);
    if (code) assert_string_equal(asked.code, code);
    assert_int_equal(answers - before, status == 200);
}

TEST(bad_questions_are_refused) {
    static const char *const NO_PATHS[] = {
        "/",
        "/peer/",
        "/peer/friends",
        "/peer/friends/",
        "/peer/friends/x",
        "/peer/friends/-1",
        "/peer/friends/7/x",
        "/peer/friends/9223372036854775808",
        "/peer/friendsx/7",
        "/peer/friendship/7",
        "/peer/friendship/7/7",
        "/peer/friendship/7/3/",
        "/peer/comments/outcome/post?user=1&key=k",
        "/peer/comments/outcome/Post/1?user=1&key=k",
        "/peer/feed/7",
    };
    static const char *const BAD_QUERIES[] = {
        "/peer/friends/7?limit=0",
        "/peer/friends/7?limit=1001",
        "/peer/friends/7?limit=",
        "/peer/friends/7?after=-1",
        "/peer/friends/7?after=9223372036854775808",
        "/peer/friendship/7/3?wait_ms=30001",
        "/peer/friendship/7/3?offset=x",
        "/peer/comments/outcome/post/1?key=k",
        "/peer/comments/outcome/post/1?user=1",
        "/peer/comments/outcome/post/1?user=1&key=",
        "/peer/wiped/7",
        "/peer/older/3?before=1",
    };
    char target[TEXT_MAX];
    serves = -ESTALE; // it does not matter yet
    for (size_t i = 0; i < ARRAY_SIZE(NO_PATHS); i++) says(NO_PATHS[i], 404, "not-found");
    for (size_t i = 0; i < ARRAY_SIZE(BAD_QUERIES); i++) says(BAD_QUERIES[i], 400, "bad-query");
    serves = 0;
    snprintf(target, sizeof target, "/peer/posted/7?key=%065d", 0);
    says(target, 400, "bad-query");
    snprintf(target, sizeof target, "/peer/posted/7?key=%064d", 0);
    says(target, 200, NULL);
    begin("/peer/friends/7");
    asked.method = "POST";
    rpc_serve(&SERVER, &answers, PARTITIONS, NULL);
    assert_int_equal(asked.status, 405);
}

TEST(only_owners_answer) {
    serves = 0;
    says("/peer/friends/7", 200, NULL);
    says("/peer/older/99999999999?authors=1", 200, NULL); // whoever serves it
    serves = -ESTALE;
    says("/peer/friends/7", 421, "not-the-owner");
    says("/peer/friendship/7/3", 421, "not-the-owner");
    serves = -EAGAIN;
    says("/peer/friends/7", 503, "restoring");
    says("/peer/friendship/7/3", 200, NULL);
}

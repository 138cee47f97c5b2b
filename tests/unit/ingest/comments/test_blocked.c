/* Whom readers have blocked: when the gateway asks their owners, and what counts while they do not answer. The owners are played here:
 * peers_fetch is this file's own. */
#include "ingest/comments/blocked.h"
#include "unit/kit/kit.h"

enum { READER = 7 };

static struct {
    char path[100];
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
    int count;
} asked;

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    snprintf(asked.path, sizeof asked.path, "%s", path);
    asked.done = done;
    asked.context = context;
    asked.count++;
    (void)peers;
}

int32_t peers_of_user(const struct peers *peers, int64_t user) {
    (void)peers;
    return (int32_t)(user % 8);
}

int32_t peers_of_subject(const struct peers *peers, const char *subject) { return -1; }

static int64_t time_ms;
static int64_t now_ms(void) { return time_ms; }

static struct {
    int count; /* of answers */
    size_t users;
    int64_t first, last;
    bool known;
} heard;

static void hear(void *context, const struct blocked_list *list) {
    heard.count++;
    heard.users = list->count;
    heard.first = list->count ? list->users[0] : -1;
    heard.last = list->count ? list->users[list->count - 1] : -1;
    heard.known = list->known;
}

static void say(int code, unsigned status, const char *reply) {
    asked.done(asked.context, code, status, reply, reply ? strlen(reply) : 0);
}

/* Asks, and answers if there is a question. Returns how many questions there were. */
static int ask(struct blocked_lists *lists, int64_t reader, int code, const char *reply) {
    int before = asked.count, answers = heard.count;
    blocked_lists_ask(lists, reader, NULL, hear);
    if (asked.count > before) say(code, 200, reply);
    assert_int_equal(heard.count, answers + 1);
    return asked.count - before;
}

#define TWO "{\"items\":[{\"user\":3,\"state\":\"blocked\"},{\"user\":5,\"state\":\"blocked\"}],\"next\":null}"
#define NONE "{\"items\":[],\"next\":null}"

SET_UP() {
    time_ms = 100000;
    memset(&asked, 0, sizeof asked);
    memset(&heard, 0, sizeof heard);
    return blocked_lists_new(NULL, now_ms);
}

TEAR_DOWN(struct blocked_lists *lists) { blocked_lists_free(lists); }

TEST(a_list_is_kept_for_a_minute, struct blocked_lists *lists) {
    assert_int_equal(ask(lists, READER, 0, TWO), 1);
    assert_string_equal(asked.path, "/peer/friends/7?state=blocked&limit=1000");
    assert_true(heard.known && heard.users == 2 && heard.first == 3 && heard.last == 5);
    assert_int_equal(ask(lists, 8, 0, NONE), 1);
    assert_true(heard.known && heard.users == 0);
    time_ms += 60000;
    assert_int_equal(ask(lists, READER, 0, NULL), 0);
    assert_int_equal(heard.users, 2);
    assert_int_equal(ask(lists, 8, 0, NULL), 0);
    time_ms++;
    assert_int_equal(ask(lists, READER, 0, NONE), 1);
    assert_int_equal(heard.users, 0);
    assert_int_equal(blocked_lists_users(lists), 0);
}

TEST(a_change_counts_at_once, struct blocked_lists *lists) {
    ask(lists, READER, 0, NONE);
    blocked_lists_changed(lists, READER);
    assert_int_equal(ask(lists, READER, 0, NONE), 1); // the owner has not read it back
    time_ms += 500;
    assert_int_equal(ask(lists, READER, 0, NULL), 0);
    time_ms++;
    assert_int_equal(ask(lists, READER, 0, TWO), 1);
    time_ms += 3000;
    assert_int_equal(ask(lists, READER, 0, TWO), 1);
    time_ms += 60000;
    assert_int_equal(ask(lists, READER, 0, NULL), 0);
    blocked_lists_changed(lists, 99); // of a reader who was never heard of
    assert_int_equal(ask(lists, 99, 0, TWO), 1);
}

TEST(the_last_list_counts_while_the_owner_is_away, struct blocked_lists *lists) {
    static const char *const BAD[] = {"",
                                      "{}",
                                      "{\"items\":5,\"next\":null}",
                                      "{\"items\":[5],\"next\":null}",
                                      "{\"items\":[{\"user\":3}],\"next\":\"x\"}",
                                      "{\"items\":[{\"user\":3},{\"user\":3}],\"next\":null}"};
    assert_int_equal(ask(lists, READER, -ETIMEDOUT, NULL), 1);
    assert_false(heard.known);
    assert_int_equal(ask(lists, READER, 0, NULL), 0); // nobody waits for this owner for a while
    assert_int_equal(ask(lists, READER + 8, 0, NULL), 0);
    assert_int_equal(ask(lists, READER + 1, 0, NONE), 1);
    assert_true(heard.known);
    time_ms += 2000;
    assert_int_equal(ask(lists, READER, 0, TWO), 1);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        time_ms += 100000;
        assert_int_equal(ask(lists, READER, i ? 0 : -EHOSTUNREACH, BAD[i]), 1);
        assert_true(heard.known && heard.users == 2);
    }
    time_ms += 2000;
    blocked_lists_changed(lists, READER);
    assert_int_equal(ask(lists, READER, -ETIMEDOUT, NULL), 1);
    assert_int_equal(heard.users, 2);
}

/* A page of an owner's answer: `count` users from the first one on. */
static void put_users(struct buffer *body, int64_t first, int count, bool more) {
    buffer_clear(body);
    buffer_string(body, "{\"items\":[");
    for (int i = 0; i < count; i++) buffer_format(body, "%s{\"user\":%lld}", i ? "," : "", (long long)(first + i));
    if (more)
        buffer_format(body, "],\"next\":%lld}", (long long)(first + count - 1));
    else
        buffer_string(body, "],\"next\":null}");
}

TEST(long_lists_are_read_to_their_end, struct blocked_lists *lists) {
    FREED_BUFFER body = {.size = 0};
    put_users(&body, 0, 1000, true);
    blocked_lists_ask(lists, READER, NULL, hear);
    say(0, 200, buffer_cstring(&body));
    assert_int_equal(heard.count, 0);
    assert_string_equal(asked.path, "/peer/friends/7?state=blocked&limit=1000&after=999");
    put_users(&body, 1000, 500, false);
    say(0, 200, buffer_cstring(&body));
    assert_true(heard.count == 1 && heard.users == 1500 && heard.last == 1499);

    blocked_lists_ask(lists, 8, NULL, hear);
    for (int page = 0; page < BLOCKED_MAX / 1000; page++) {
        put_users(&body, 1000 * page, 1000, true);
        say(0, 200, buffer_cstring(&body));
    }
    assert_true(heard.count == 2 && heard.users == BLOCKED_MAX);
}

TEST(memory_is_bounded, struct blocked_lists *lists) {
    FREED_BUFFER body = {.size = 0};
    put_users(&body, 0, 1000, false);
    for (int64_t reader = 0; reader < 3000; reader++) {
        assert_int_equal(ask(lists, reader, 0, buffer_cstring(&body)), 1);
        assert_int_equal(heard.users, 1000);
        assert_true(blocked_lists_users(lists) <= 1 << 20);
    }
    assert_int_equal(ask(lists, 2999, 0, NULL), 0);
}

/* Questions about users and posts that very many ask: whom the gateway asks, what it keeps, and what it forgets. The owners are played here:
 * peers_fetch is this file's own. */
#include "ids/ids.h"
#include "ingest/feed/shared_answers.h"
#include "unit/kit/kit.h"

enum { HOT_READS = 5, QUESTIONS_MAX = 32, PARTITIONS = 8 };

static struct {
    struct {
        int32_t partition;
        int timeout_ms;
        char path[100];
        page_answered *done;
        void *context;
    } items[QUESTIONS_MAX];
    size_t count;
} asked;

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms, page_answered *done,
                 void *context) {
    assert_true(asked.count < QUESTIONS_MAX);
    asked.items[asked.count].partition = partition;
    asked.items[asked.count].timeout_ms = timeout_ms;
    snprintf(asked.items[asked.count].path, sizeof asked.items->path, "%s", path);
    asked.items[asked.count].done = done;
    asked.items[asked.count++].context = context;
    (void)peers;
}

int32_t peers_of_user(const struct peers *peers, int64_t user) {
    (void)peers;
    return (int32_t)(user % PARTITIONS);
}

int32_t peers_of_subject(const struct peers *peers, const char *subject) { return -1; }

struct world {
    uv_loop_t loop;
    struct shared_answers *answers;
};

SET_UP() {
    struct world *world = kit_zero(sizeof *world);
    memset(&asked, 0, sizeof asked);
    kit_loop(&world->loop);
    world->answers = shared_answers_new(&(struct shared_answers_options){
        .loop = &world->loop, .metrics = kit_metrics(), .hot_reads = HOT_READS, .max_bytes = 100000});
    return world;
}

TEAR_DOWN(struct world *world) { shared_answers_free(world->answers); }

static struct {
    unsigned status;
    size_t count;
    char reply[100];
} heard;

static void hear(void *context, int code, unsigned status, const char *reply, size_t size) {
    assert_int_equal(code, 0);
    heard.status = status;
    heard.count++;
    snprintf(heard.reply, sizeof heard.reply, "%.*s", (int)size, reply ? reply : "");
}

static void ask(struct world *world, int64_t user) {
    shared_answers_ask(world->answers, SHARED_USER, user, &ASK_USER, RPC_VALUES(RPC_INT(USER, user)), hear, NULL);
}

/* Answers the newest question. */
static void say(int code, unsigned status, const char *reply) {
    size_t newest = asked.count - 1;
    memset(&heard, 0, sizeof heard);
    asked.items[newest].done(asked.items[newest].context, code, status, reply, reply ? strlen(reply) : 0);
}

/* Makes the user hot, and has one answer kept. */
static void make_hot(struct world *world, int64_t user) {
    for (int i = 0; i < HOT_READS; i++) {
        ask(world, user);
        say(0, 200, "{\"posts\":1}");
    }
}

TEST(the_owner_of_the_user_or_post_is_asked, struct world *world) {
    int64_t post = ids_make(7, 5);
    ask(world, 11);
    assert_int_equal(asked.items[0].partition, 11 % PARTITIONS);
    assert_string_equal(asked.items[0].path, "/peer/user/11");
    say(0, 200, "{\"posts\":1}");
    assert_int_equal(heard.status, 200);
    assert_string_equal(heard.reply, "{\"posts\":1}");
    shared_answers_ask(world->answers, SHARED_POST, post, &ASK_USER, RPC_VALUES(RPC_INT(USER, 3)), hear, NULL);
    assert_int_equal(asked.items[1].partition, 5);
    say(-ETIMEDOUT, 0, NULL);
    assert_int_equal(heard.status, 503);
    assert_string_equal(heard.reply, "");
}

/* Counts of a user are left out soon; without a list of posts there is nothing to show. */
TEST(counts_are_waited_for_less_than_lists, struct world *world) {
    ask(world, 11);
    say(0, 404, "{}");
    assert_int_equal(heard.status, 404);
    shared_answers_ask(world->answers, SHARED_USER, 11, &ASK_WRITTEN, RPC_VALUES(RPC_INT(USER, 11)), hear, NULL);
    say(0, 200, "{}");
    assert_true(asked.items[0].timeout_ms < asked.items[1].timeout_ms);
}

TEST(an_answer_about_a_hot_user_is_kept_until_it_is_forgotten, struct world *world) {
    make_hot(world, 11);
    size_t before = asked.count;
    memset(&heard, 0, sizeof heard);
    ask(world, 11);
    assert_int_equal(asked.count, before);
    assert_string_equal(heard.reply, "{\"posts\":1}");
    shared_answers_forget(world->answers, SHARED_POST, 11); // another one
    shared_answers_forget(world->answers, SHARED_USER, 12);
    ask(world, 11);
    assert_int_equal(asked.count, before);
    shared_answers_forget(world->answers, SHARED_USER, 11);
    ask(world, 11);
    assert_int_equal(asked.count, before + 1);
    say(0, 200, "{\"posts\":2}");
    assert_string_equal(heard.reply, "{\"posts\":2}");
    shared_answers_forget(NULL, SHARED_USER, 11);
}

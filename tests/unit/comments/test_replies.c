/* Tests replies.c, replies_of_user.c, replies_outcome.c and replies_pages.c. Answers of a comments process: how long a page becomes, and
 * when an outcome may be told. The decider and HTTP are played here: their functions are this file's own. */
#include "comments/replies.h"
#include "event/topics.h"
#include "json/json.h"
#include "unit/kit/kit.h"

enum { USER = 7, ROOTS = 200, REPLIES = 20, PUT_MAX = 2000, OFFSET = 4, RECORDS_MAX = 16, INTERVAL_MS = 1500 };
#define SUBJECT "site:1"

/* A record that was written, and is not read back yet. */
struct written {
    const struct topic *topic;
    uint8_t key[SUBJECT_KEY_MAX], value[512];
    size_t key_size, value_size;
};

struct replies_world {
    char *folder;
    struct store *store;
    struct threads *threads;
    struct overlay *overlays[THREADS_STATES];
    struct decisions *decisions;
    struct comment_replies *replies;
    struct written written[RECORDS_MAX];
    size_t written_count;
    int64_t next[THREADS_STATES];
};

/* ---- the decider ---- */

static struct decisions *the_decisions;
static int64_t handled;

struct decisions *comment_commands_decisions(struct comment_commands *commands) {
    return the_decisions;
}
struct decider *comment_commands_decider(struct comment_commands *commands) {
    return NULL;
}
int tasks_serves(const struct tasks *tasks, int32_t partition) { return 0; }
void tasks_damaged(struct tasks *tasks, int32_t partition, int code, const struct error *error) {}

int64_t decider_handled(const struct decider *decider, const struct topic *topic, int32_t partition) { return handled; }

/* The command is decided already, or is not before the deadline. */
int decider_await(struct decider *decider, const struct topic *topic, int32_t partition, int64_t offset,
                  int64_t deadline_us, void *context, void (*done)(void *context, int code)) {
    done(context, handled > offset ? 0 : -ETIMEDOUT);
    return 0;
}

/* ---- HTTP ---- */

static struct {
    const char *path, *query; /* query: "name=value&..." */
    char values[16][64];      /* that http_query has found, in turn */
    size_t found;
} asked;
static unsigned status; /* 0: it is not answered */
static json_t *reply;

const char *http_method(const struct http_request *request) { return "GET"; }
const char *http_path(const struct http_request *request) { return asked.path; }

const char *http_query(const struct http_request *request, const char *name) {
    size_t size = strlen(name);
    for (const char *at = asked.query; *at; at += strcspn(at, "&"), at += *at == '&') {
        if (strncmp(at, name, size) != 0 || at[size] != '=') continue;
        at += size + 1;
        char *value = asked.values[asked.found++ % 16];
        snprintf(value, sizeof *asked.values, "%.*s", (int)strcspn(at, "&"), at);
        return value;
    }
    return NULL;
}

void http_reply(struct http_request *request, unsigned code, const char *type, const void *body, size_t size,
                const struct http_field *fields, size_t count) {
    assert_int_equal(status, 0);
    status = code;
    reply = json_parse(body, size, NULL);
    assert_non_null(reply);
}

void http_reply_json(struct http_request *request, unsigned code, const struct buffer *body) {
    http_reply(request, code, NULL, body->data, body->size, NULL, 0);
}

void http_problem(struct http_request *request, unsigned code, const char *name, const char *detail, int retry_after) {
    http_reply(request, code, NULL, "{}", 2, NULL, 0);
}

static void ask(struct replies_world *world, const char *path, const char *query) {
    json_decref(reply);
    reply = NULL;
    status = 0;
    asked.path = path;
    asked.query = query;
    comment_replies_handle(world->replies, NULL);
}

/* ---- the process ---- */

static int keep(void *context, const struct topic *topic, int32_t partition, const void *key, size_t key_size,
                const void *value, size_t value_size) {
    struct replies_world *world = context;
    struct written *record = &world->written[world->written_count++];
    assert_true(world->written_count <= RECORDS_MAX && key_size <= sizeof record->key);
    assert_true(value && value_size <= sizeof record->value);
    *record = (struct written){.topic = topic, .key_size = key_size, .value_size = value_size};
    memcpy(record->key, key, key_size);
    memcpy(record->value, value, value_size);
    return 0;
}

static bool nobody_is_banned(void *context, int64_t user, int64_t now_ms) { return false; }
static struct event_text no_name(void *context, int64_t user) { return (struct event_text){"", 0}; }

SET_UP() {
    struct replies_world *world = kit_zero(sizeof *world);
    const struct store_options store = {.cache_bytes = 4 << 20, .memtable_bytes = 4 << 20};
    struct decisions_options options = {.partitions = 1,
                                        .user_partitions = 1,
                                        .rate = {INTERVAL_MS, 1},
                                        .context = world,
                                        .write = keep,
                                        .banned = nobody_is_banned,
                                        .name_of = no_name};
    world->folder = kit_folder();
    assert_int_equal(store_open(world->folder, &store, &world->store, &failure), 0);
    options.threads = world->threads = threads_new(world->store, 1);
    for (int s = 0; s < THREADS_STATES; s++)
        options.overlays[s] = world->overlays[s] =
            overlay_new(DECISIONS_STATES[s].key_max, DECISIONS_STATES[s].value_max);
    the_decisions = world->decisions = decisions_new(&options);
    assert_int_equal(threads_open(world->threads, 0, 1000, 0, &failure), 0);
    memset(world->next, 0, sizeof world->next);
    world->replies = comment_replies_new(&(struct comment_replies_options){.partitions = 1, .threads = world->threads});
    return world;
}

TEAR_DOWN(struct replies_world *world) {
    json_decref(reply);
    reply = NULL;
    comment_replies_free(world->replies);
    decisions_free(world->decisions);
    for (int s = 0; s < THREADS_STATES; s++) overlay_free(world->overlays[s]);
    threads_free(world->threads);
    store_close(world->store);
}

static void take(struct replies_world *world, const struct written *record) {
    const char *reason;
    int state = 0;
    while (state < THREADS_STATES && THREADS_TOPICS[state] != record->topic) state++;
    if (state == THREADS_STATES) return; // it is written for others
    assert_int_equal(threads_take(world->threads, (enum threads_state)state,
                                  &(struct kafka_record){.topic = record->topic,
                                                         .offset = world->next[state]++,
                                                         .timestamp = 1000,
                                                         .key = record->key,
                                                         .key_size = record->key_size,
                                                         .value = record->value,
                                                         .value_size = record->value_size},
                                  &reason, &failure),
                     0);
    assert_null(reason);
}

static void write_all(struct replies_world *world) { assert_int_equal(threads_write(world->threads, &failure), 0); }

/* ---- pages ---- */

static void put_comment(struct replies_world *world, int64_t id, struct comment comment) {
    struct written record = {.topic = &TOPIC_COMMENTS};
    FREED_BUFFER value = {.size = 0};
    record.key_size = subject_key_write(
        record.key, &(struct subject_key){.subject = SUBJECT, .size = strlen(SUBJECT), .numbers = 1, .comment = id});
    event_encode_comment(&value, &comment);
    record.value_size = value.size;
    memcpy(record.value, value.data, value.size);
    take(world, &record);
}

TEST(a_page_with_many_replies_ends_early, struct replies_world *world) {
    char query[100] = "limit=1000&replies=20";
    size_t roots = 0, pages = 0;
    for (int r = 1; r <= ROOTS; r++) {
        put_comment(world, r * 100, (struct comment){.user = USER, .floor = r, .floors = REPLIES, .replies = REPLIES});
        for (int i = 1; i <= REPLIES; i++)
            put_comment(world, r * 100 + i,
                        (struct comment){.user = USER, .floor = i, .root = r * 100, .answers = r * 100});
    }
    write_all(world);
    for (bool more = true; more; pages++) {
        ask(world, "/peer/comments/page/site/1", query);
        assert_int_equal(status, 200);
        const json_t *items = json_object_get(reply, "items"), *next = json_object_get(reply, "next");
        for (size_t i = 0; i < json_array_size(items); i++) {
            const json_t *item = json_array_get(items, i);
            assert_int_equal(json_integer_value(json_object_get(item, "floor")), ++roots);
            assert_int_equal(json_array_size(json_object_get(item, "replies")), REPLIES);
        }
        assert_true(json_array_size(items) * (1 + REPLIES) <= PUT_MAX + REPLIES);
        more = json_is_string(next);
        if (more) snprintf(query, sizeof query, "limit=1000&replies=20&after=%s", json_string_value(next));
    }
    assert_int_equal(roots, ROOTS);
    assert_int_equal(pages, 3);
}

/* Answers lie among all replies of the root, by their numbers there. */
TEST(answers_to_a_reply_are_listed, struct replies_world *world) {
    char query[100] = "limit=2";
    int64_t seen = 0;
    put_comment(world, 100, (struct comment){.user = 8, .floor = 1, .floors = 20, .replies = 20});
    put_comment(world, 101, (struct comment){.user = 9, .floor = 1, .root = 100, .answers = 100, .replies = 5});
    for (int i = 2; i <= 20; i++)
        put_comment(world, 100 + i,
                    (struct comment){.user = USER, .floor = i, .root = 100, .answers = i % 4 == 0 ? 101 : 100});
    write_all(world);
    for (bool more = true; more;) {
        ask(world, "/peer/comments/replies/site/1/101", query);
        assert_int_equal(status, 200);
        const json_t *items = json_object_get(reply, "items"), *next = json_object_get(reply, "next");
        for (size_t i = 0; i < json_array_size(items); i++) {
            seen += 4;
            assert_int_equal(json_integer_value(json_object_get(json_array_get(items, i), "floor")), seen);
        }
        assert_int_equal(json_integer_value(json_object_get(reply, "user")), 9);
        assert_int_equal(json_integer_value(json_object_get(reply, "root_user")), 8);
        more = json_is_string(next);
        if (more) snprintf(query, sizeof query, "limit=2&after=%s", json_string_value(next));
    }
    assert_int_equal(seen, 20);
    ask(world, "/peer/comments/replies/site/1/101", "after=floor-1"); // of a root's replies
    assert_int_equal(status, 400);
    ask(world, "/peer/comments/replies/site/1/100", "limit=20");
    assert_int_equal(json_array_size(json_object_get(reply, "items")), 20);
    assert_null(json_object_get(reply, "root_user"));
    ask(world, "/peer/comments/replies/site/1/102", "");
    assert_int_equal(json_array_size(json_object_get(reply, "items")), 0);
    ask(world, "/peer/comments/replies/site/1/99", "");
    assert_int_equal(status, 404);
}

/* ---- outcomes ---- */

/* Decides a command with that key, as the one at the offset. */
static void decide(struct replies_world *world, enum comment_command_kind kind, int64_t comment, int64_t user,
                   const char *key, int64_t offset) {
    FREED_BUFFER value = {.size = 0};
    struct comment_item item;
    int32_t failed;
    const struct comment_command command = {.kind = kind,
                                            .subject = {SUBJECT, strlen(SUBJECT)},
                                            .comment = comment,
                                            .user = user,
                                            .key = {key, strlen(key)},
                                            .text = {"a", 1},
                                            .owner = USER,
                                            .role = COMMENT_COMMAND_USER,
                                            .who_may = COMMENT_COMMAND_SAME_WHO,
                                            .review = COMMENT_COMMAND_SAME_REVIEW,
                                            .closing = COMMENT_COMMAND_SAME_CLOSING};
    event_encode_comment_command(&value, &command);
    const struct kafka_record record = {.topic = &TOPIC_COMMENT_COMMANDS,
                                        .offset = offset,
                                        .timestamp = 2000,
                                        .key = (const uint8_t *)SUBJECT,
                                        .key_size = strlen(SUBJECT),
                                        .value = value.data,
                                        .value_size = value.size};
    assert_int_equal(decisions_read(world->decisions, &record, &item, &failure), 0);
    const struct decider_command slice = {.topic = record.topic, .offset = offset, .item = &item};
    assert_int_equal(decisions_run(world->decisions, &slice, 1, &failed, &failure), 0);
    decisions_release(&item);
}

/* comment 0: the user writes one; else the user likes it. */
static void command(struct replies_world *world, int64_t comment, const char *key, int64_t offset) {
    decide(world, comment ? COMMENT_COMMAND_LIKE : COMMENT_COMMAND_POST, comment, USER, key, offset);
}

TEST(an_outcome_is_not_told_from_older_state, struct replies_world *world) {
    command(world, 0, "k", OFFSET);
    handled = OFFSET + 1;
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&offset=4&wait_ms=30000");
    assert_int_equal(status, 0);

    /* A later transaction is given up: the overlays are empty, and what was written before is not read yet. */
    for (int s = 0; s < THREADS_STATES; s++) overlay_clear(world->overlays[s]);
    handled = -1;
    comment_replies_look_again(world->replies);
    assert_int_equal(status, 0);
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&wait_ms=0");
    assert_int_equal(status, 202);

    status = 0;
    json_decref(reply);
    for (size_t i = 0; i < world->written_count; i++) take(world, &world->written[i]);
    write_all(world);
    handled = OFFSET + 1;
    comment_replies_look_again(world->replies);
    assert_int_equal(status, 200);
    assert_string_equal(json_string_value(json_object_get(json_object_get(reply, "comment"), "text")), "a");
}

/* Commands wait for longer than clients do: each repetition of a request is a new command, which is not decided in time. */
TEST(a_repeated_request_has_the_outcome_of_its_key, struct replies_world *world) {
    command(world, 0, "k", OFFSET);
    handled = OFFSET + 1;
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&offset=9&wait_ms=0");
    assert_int_equal(status, 202); // the transaction may still be given up

    for (size_t i = 0; i < world->written_count; i++) take(world, &world->written[i]);
    write_all(world);
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&offset=9&wait_ms=0");
    assert_int_equal(status, 200);
    assert_string_equal(json_string_value(json_object_get(json_object_get(reply, "comment"), "text")), "a");
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=another&offset=9&wait_ms=0");
    assert_int_equal(status, 202);
}

/* Keys are read, and comments are not: their leader is another, which was cut off. Whoever is told of the comment likes it next. */
TEST(an_outcome_is_not_told_before_its_comment_can_be_read, struct replies_world *world) {
    command(world, 0, "k", OFFSET);
    for (size_t i = 0; i < world->written_count; i++)
        if (world->written[i].topic == &TOPIC_COMMENT_TEXTS) take(world, &world->written[i]);
    write_all(world);
    handled = OFFSET + 1;
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&offset=9&wait_ms=0");
    assert_int_equal(status, 202);
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&offset=4&wait_ms=0");
    assert_int_equal(status, 202);
    for (size_t i = 0; i < world->written_count; i++)
        if (world->written[i].topic != &TOPIC_COMMENT_TEXTS) take(world, &world->written[i]);
    write_all(world);
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&offset=9&wait_ms=0");
    assert_int_equal(status, 200);
}

static const char *outcome(const char *member) { return json_string_value(json_object_get(reply, member)); }

TEST(a_refusal_for_now_says_how_long_and_is_not_remembered, struct replies_world *world) {
    command(world, 0, "k", OFFSET);
    command(world, 0, "too fast", OFFSET + 1);
    for (size_t i = 0; i < world->written_count; i++) take(world, &world->written[i]);
    write_all(world);
    for (int s = 0; s < THREADS_STATES; s++) overlay_clear(world->overlays[s]); // all is read back
    handled = OFFSET + 2;
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=too fast&offset=5&wait_ms=0");
    assert_int_equal(status, 200);
    assert_string_equal(outcome("refused"), "too_fast");
    assert_int_equal(json_integer_value(json_object_get(reply, "wait_ms")), INTERVAL_MS);
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=too fast&wait_ms=0");
    assert_int_equal(status, 404);
    ask(world, "/peer/comments/outcome/site/1", "user=7&key=k&offset=4&wait_ms=0");
    assert_null(outcome("refused"));
}

TEST(a_like_that_is_not_read_back_is_seen, struct replies_world *world) {
    put_comment(world, 100, (struct comment){.user = USER, .floor = 1});
    write_all(world);
    command(world, 0, "k", OFFSET);
    command(world, 100, "l", OFFSET + 1);
    for (size_t i = 0; i < world->written_count; i++)
        if (world->written[i].topic == &TOPIC_COMMENTS) take(world, &world->written[i]);
    write_all(world);
    ask(world, "/peer/comments/likes/site/1", "user=7&ids=100");
    assert_int_equal(status, 200);
    assert_int_equal(json_array_size(json_object_get(reply, "liked")), 1); // as the page's counter has it
}

static int64_t number(const json_t *object, const char *member) {
    return json_integer_value(json_object_get(object, member));
}

/* Decides likes of the subject by the users from 1 on, and reads all back. */
static void like_subject(struct replies_world *world, int64_t users) {
    for (int64_t user = 1; user <= users; user++) {
        char key[8];
        snprintf(key, sizeof key, "l%d", (int)user);
        decide(world, COMMENT_COMMAND_LIKE, 0, user, key, OFFSET + user);
    }
    handled = OFFSET + users + 1;
    ask(world, "/peer/comments/outcome/site/1", "user=3&key=l3&offset=7&wait_ms=0");
    assert_int_equal(status, 202); // nothing is read back
    for (size_t i = 0; i < world->written_count; i++) take(world, &world->written[i]);
    write_all(world);
    for (int s = 0; s < THREADS_STATES; s++) overlay_clear(world->overlays[s]);
}

TEST(a_subject_says_how_many_like_it_and_who, struct replies_world *world) {
    ask(world, "/peer/comments/counts/0", "subjects=site:1:7,site:1");
    assert_true(json_is_null(json_array_get(json_object_get(reply, "items"), 0)));
    like_subject(world, 5);
    ask(world, "/peer/comments/outcome/site/1", "user=3&key=l3&offset=7&wait_ms=0");
    assert_int_equal(status, 200);
    assert_true(json_is_null(json_object_get(reply, "comment")));
    assert_int_equal(number(json_object_get(reply, "subject"), "likes"), 5);
    ask(world, "/peer/comments/counts/0", "subjects=site:1:5,site:1:7,site:1,site:2:7");
    assert_int_equal(status, 200);
    const json_t *items = json_object_get(reply, "items");
    for (size_t i = 0; i < 3; i++) assert_int_equal(number(json_array_get(items, i), "likes"), 5);
    assert_true(json_is_true(json_object_get(json_array_get(items, 0), "liked")));
    assert_true(json_is_false(json_object_get(json_array_get(items, 1), "liked")));
    assert_null(json_object_get(json_array_get(items, 2), "liked"));
    assert_true(json_is_null(json_array_get(items, 3)));
    ask(world, "/peer/comments/page/site/1", "");
    assert_int_equal(number(reply, "likes"), 5);
    for (const char *const *bad = (const char *const[]){"site:1:", "site:1:x", "site:1:-1", "site:1:7:7", ":1", NULL};
         *bad; bad++) {
        char query[40];
        snprintf(query, sizeof query, "subjects=%s", *bad);
        ask(world, "/peer/comments/counts/0", query);
        assert_int_equal(status, 400);
    }
}

TEST(who_likes_a_subject_comes_in_pages, struct replies_world *world) {
    char query[40] = "limit=2";
    int64_t user = 0;
    ask(world, "/peer/comments/likers/site/1", "");
    assert_int_equal(json_array_size(json_object_get(reply, "items")), 0);
    like_subject(world, 5);
    for (bool more = true; more;) {
        ask(world, "/peer/comments/likers/site/1", query);
        assert_int_equal(status, 200);
        const json_t *items = json_object_get(reply, "items"), *next = json_object_get(reply, "next");
        for (size_t i = 0; i < json_array_size(items); i++)
            assert_int_equal(number(json_array_get(items, i), "user"), ++user);
        more = !json_is_null(next);
        snprintf(query, sizeof query, "limit=2&after=%d", (int)json_integer_value(next));
    }
    assert_int_equal(user, 5);
    ask(world, "/peer/comments/likers/site/1", "after=9223372036854775807");
    assert_int_equal(json_array_size(json_object_get(reply, "items")), 0);
    ask(world, "/peer/comments/of/0", "user=4&likes=true");
    const json_t *item = json_array_get(json_object_get(reply, "items"), 0);
    assert_string_equal(json_string_value(json_object_get(item, "what")), "like");
    assert_true(json_is_null(json_object_get(item, "comment")));
}

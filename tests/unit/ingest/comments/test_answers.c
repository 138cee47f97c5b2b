/* What a gateway's client is told of the outcome of a command about comments, whatever the owner of the subject says. The answers of
 * HTTP are this file's own. */
#include <stdarg.h>

#include "ingest/comments/answers.h"
#include "unit/kit/kit.h"

/* ---- the answer ---- */

static struct {
    unsigned status, count;
    int retry_after;
    char code[32], location[200], body[100];
} answered;

void http_problem(struct http_request *request, unsigned status, const char *code, const char *detail,
                  int retry_after) {
    answered.status = status;
    answered.retry_after = retry_after;
    answered.count++;
    snprintf(answered.code, sizeof answered.code, "%s", code);
    assert_non_null(detail);
}

void http_reply(struct http_request *request, unsigned status, const char *type, const void *body, size_t size,
                const struct http_field *fields, size_t count) {
    answered.status = status;
    answered.count++;
    snprintf(answered.body, sizeof answered.body, "%.*s", (int)size, (const char *)body);
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, "Location") == 0)
            snprintf(answered.location, sizeof answered.location, "%s", fields[i].value);
}

void http_reply_json(struct http_request *request, unsigned status, const struct buffer *body) {
    http_reply(request, status, "application/json", body->data, body->size, NULL, 0);
}

void http_reply_format(struct http_request *request, unsigned status, const char *format, ...) {
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    http_reply(request, status, "application/json", text, (size_t)size, NULL, 0);
}

/* ---- the gateway ---- */

void command_send(const struct command_sender *sender, const struct command_write *write) {
    fail_msg("nothing is sent here");
}

void page_copies_changed(struct page_copies *copies, const char *subject) {}

struct comment_names comments_names(struct comments_gateway *gateway) {
    return (struct comment_names){.profiles = NULL};
}

static enum sight_answer sight; /* whether the reader may see the post */

void comments_leave(struct comments_gateway *gateway, const char *subject, int64_t reader, void *context,
                    void (*done)(void *context, enum sight_answer answer)) {
    assert_int_equal(reader, 7);
    assert_string_equal(subject, "post:1");
    done(context, sight);
}

void comments_unseen(struct http_request *request, enum sight_answer answer) {
    http_problem(request, answer == SIGHT_AWAY ? 503 : 404, "no_post", "unseen", 0);
}

static bool still_known; /* the subject, after the answer */

/* The owner's reply; NULL: none. */
static void say(enum answer_form form, int64_t offset, const char *text) {
    struct comments_gateway gateway = {.user_partitions = 8, .subjects = known_subjects_new()};
    known_subjects_put(gateway.subjects, &(struct known_subject){.subject = "post:1", .owner = 5});
    struct comment_wish wish = {
        .gateway = &gateway, .form = form, .user = 7, .subject = "post:1", .key = "a b", .offset = offset};
    FREED_JSON *reply = text ? json_parse(text, strlen(text), NULL) : NULL;
    memset(&answered, 0, sizeof answered);
    comment_wish_answered(&wish, NULL, reply ? 200 : 0, reply, (struct json_bytes){text, text ? strlen(text) : 0});
    assert_int_equal(answered.count, 1);
    still_known = known_subjects_find(gateway.subjects, "post:1") != NULL;
    known_subjects_free(gateway.subjects);
}

#define REFUSED(why) "{\"refused\":\"" why "\",\"comment\":null,\"subject\":null,\"pinned\":false}"
#define NOTHING "{\"refused\":null,\"comment\":null,\"subject\":null,\"pinned\":false}"

/* Its command was decided, so nothing more will become of it. */
TEST(a_comment_whose_key_is_unknown_is_not_waited_for) {
    say(ANSWER_MADE, 7, NOTHING);
    assert_int_equal(answered.status, 404);
    assert_string_equal(answered.code, "no_outcome");
    say(ANSWER_REPORTED, 7, NOTHING);
    assert_int_equal(answered.status, 202);
}

TEST(the_address_of_an_outcome_has_the_offset_if_there_is_one) {
    say(ANSWER_MADE, 7, NULL);
    assert_int_equal(answered.status, 202);
    assert_string_equal(answered.location, "/v1/subjects/post/1/outcome?key=a%20b&offset=7");
    say(ANSWER_MADE, -1, NULL);
    assert_int_equal(answered.status, 202);
    assert_string_equal(answered.location, "/v1/subjects/post/1/outcome?key=a%20b");
}

TEST(a_wrong_comment_in_the_body_is_a_bad_request) {
    say(ANSWER_MADE, -1, REFUSED("no_comment"));
    assert_int_equal(answered.status, 400);
    assert_string_equal(answered.code, "no_comment");
    say(ANSWER_LIKES, 7, REFUSED("no_comment"));
    assert_int_equal(answered.status, 404);
    say(ANSWER_MADE, 7, REFUSED("closed"));
    assert_int_equal(answered.status, 409);
}

/* A phone may send a command again if nobody remembers its refusal. */
TEST(a_refusal_for_now_says_when_to_come_again) {
    static const char *const FAST = "{\"refused\":\"too_fast\",\"wait_ms\":2001,\"comment\":null}";
    static const char *const FACTS = "{\"refused\":\"old_facts\",\"wait_ms\":0,\"comment\":null}";
    say(ANSWER_MADE, 7, FAST);
    assert_int_equal(answered.status, 429);
    assert_string_equal(answered.code, "too_many_writes");
    assert_int_equal(answered.retry_after, 3);
    say(ANSWER_MADE, 7, FACTS);
    assert_int_equal(answered.status, 503);
    assert_int_equal(answered.retry_after, 1);
    assert_false(still_known); // it is asked for anew
    say(ANSWER_MADE, 7, REFUSED("not_allowed"));
    assert_int_equal(answered.status, 403);
    assert_int_equal(answered.retry_after, 0);
    assert_true(still_known);
}

/* A like is taken back through a closed door, but nobody is told that there is such a post. */
TEST(likes_are_for_those_who_see_the_post) {
    static const char SAID[] =
        "{\"refused\":null,\"comment\":{\"likes\":3},\"subject\":{\"likes\":4},\"pinned\":false}";
    static const struct {
        enum answer_form form;
        const char *seen;
    } ANSWERS[] = {{ANSWER_LIKES, "{\"likes\":3}"},
                   {ANSWER_LIKED, "{\"likes\":4,\"liked\":true}"},
                   {ANSWER_UNLIKED, "{\"likes\":4,\"liked\":false}"}};
    static const unsigned STATUS[] = {[SIGHT_YES] = 200, [SIGHT_NO] = 404, [SIGHT_NO_POST] = 404, [SIGHT_AWAY] = 503};
    for (sight = SIGHT_YES; sight <= SIGHT_AWAY; sight++) {
        for (size_t i = 0; i < ARRAY_SIZE(ANSWERS); i++) {
            say(ANSWERS[i].form, 7, SAID);
            assert_int_equal(answered.status, STATUS[sight]);
            if (sight == SIGHT_YES) assert_string_equal(answered.body, ANSWERS[i].seen);
        }
    }
    sight = SIGHT_YES;
    say(ANSWER_UNLIKED, 7, NOTHING); // nobody has ever liked it
    assert_string_equal(answered.body, "{\"likes\":0,\"liked\":false}");
    say(ANSWER_LIKES, 7, NOTHING);
    assert_int_equal(answered.status, 202);
}

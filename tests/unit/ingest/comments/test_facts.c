/* Facts about a new comment: which questions the gateway asks their owners, and what it makes of the answers. The owners are played
 * here: peers_fetch is this file's own. */
#include "ids/ids.h"
#include "ingest/comments/facts.h"
#include "unit/kit/kit.h"

enum { OWNER = 50, USER = 60, AUTHOR = 70, QUESTIONS_MAX = 32 };

/* ---- the owners ---- */

struct asked {
    char path[200];
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
};

static struct asked asked[QUESTIONS_MAX];
static size_t asked_count;

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    assert_true(asked_count < QUESTIONS_MAX && partition >= 0 && timeout_ms > 0);
    struct asked *question = &asked[asked_count++];
    snprintf(question->path, sizeof question->path, "%s", path);
    question->done = done;
    question->context = context;
    (void)peers;
}

int32_t peers_of_user(const struct peers *peers, int64_t user) {
    (void)peers;
    return (int32_t)(user % 8);
}

int32_t peers_of_subject(const struct peers *peers, const char *subject) {
    (void)peers;
    return (int32_t)(strlen(subject) % 8);
}

/* Answers the open question with that path, which must have been asked once. */
static void say(const char *path, int code, unsigned status, const char *reply) {
    for (size_t i = 0; i < asked_count; i++) {
        if (!asked[i].done || strcmp(asked[i].path, path) != 0) continue;
        struct asked question = asked[i];
        asked[i].done = NULL;
        question.done(question.context, code, status, reply, reply ? strlen(reply) : 0);
        return;
    }
    fail_msg("nobody has asked %s", path);
}

static size_t open_questions(void) {
    size_t count = 0;
    for (size_t i = 0; i < asked_count; i++) count += asked[i].done != NULL;
    return count;
}

/* ---- the gateway ---- */

struct facts_world {
    struct comments_gateway gateway;
    bool done;
    enum facts_outcome outcome;
    struct facts facts;
    char post[SUBJECT_MAX + 1], post_path[64];
    int64_t post_id;
};

SET_UP() {
    struct facts_world *world = kit_zero(sizeof *world);
    world->gateway.user_partitions = 8;
    world->gateway.subjects = known_subjects_new();
    world->gateway.authors = known_authors_new();
    world->post_id = ids_make(5 << 12, 3);
    snprintf(world->post, sizeof world->post, "post:%lld", (long long)world->post_id);
    snprintf(world->post_path, sizeof world->post_path, "/peer/posts/3?ids=%lld", (long long)world->post_id);
    asked_count = 0;
    return world;
}

TEAR_DOWN(struct facts_world *world) {
    assert_int_equal(open_questions(), 0);
    known_subjects_free(world->gateway.subjects);
    known_authors_free(world->gateway.authors);
}

static void done(void *context, enum facts_outcome outcome, const struct facts *facts) {
    struct facts_world *world = context;
    assert_false(world->done);
    world->done = true;
    world->outcome = outcome;
    world->facts = *facts;
}

static void ask(struct facts_world *world, const char *subject, int64_t user, int64_t answers) {
    world->done = false;
    asked_count = 0;
    facts_ask(&world->gateway,
              &(struct facts_wish){.subject = subject, .user = user, .about = answers, .context = world, .done = done});
}

#define SITE "/peer/comments/subject/site/1"
#define SUBJECT(who) "{\"owner\":50,\"who_may\":\"" who "\"}"

/* What the two are to each other, as each of them sees it. */
static void say_friendship(int user, int other, const char *mine, const char *theirs) {
    char path[64], reply[64];
    snprintf(path, sizeof path, "/peer/friendship/%d/%d", user, other);
    snprintf(reply, sizeof reply, "{\"state\":\"%s\",\"since\":0}", mine);
    say(path, 0, 200, reply);
    snprintf(path, sizeof path, "/peer/friendship/%d/%d", other, user);
    snprintf(reply, sizeof reply, "{\"state\":\"%s\",\"since\":0}", theirs);
    say(path, 0, 200, reply);
}

static void assert_known(const struct facts_world *world, int64_t owner, bool follows, bool friends, bool blocked) {
    assert_true(world->done);
    assert_int_equal(world->outcome, FACTS_KNOWN);
    assert_int_equal(world->facts.owner, owner);
    assert_int_equal(world->facts.follows, follows);
    assert_int_equal(world->facts.friends, friends);
    assert_int_equal(world->facts.blocked, blocked);
}

TEST(nothing_is_asked_about_oneself, struct facts_world *world) {
    ask(world, "site:1", OWNER, 0);
    assert_int_equal(asked_count, 1);
    say(SITE, 0, 200, SUBJECT("followers"));
    assert_known(world, OWNER, false, false, false);
}

TEST(only_what_the_subject_needs_is_asked, struct facts_world *world) {
    ask(world, "site:1", USER, 0);
    say(SITE, 0, 200, SUBJECT("everyone"));
    assert_int_equal(open_questions(), 2);
    say_friendship(USER, OWNER, "none", "none");
    assert_known(world, OWNER, false, false, false);
    assert_int_equal(world->facts.who_may, COMMENT_COMMAND_EVERYONE);

    known_subjects_forget(world->gateway.subjects, "site:1");
    ask(world, "site:1", USER, 0);
    say(SITE, 0, 200, SUBJECT("followers"));
    assert_int_equal(open_questions(), 3);
    say("/peer/list/60?relation=following&limit=1&after=49", 0, 200, "{\"items\":[{\"user\":50}],\"next\":null}");
    say_friendship(USER, OWNER, "friends", "friends");
    assert_known(world, OWNER, true, true, false);
    assert_int_equal(world->facts.who_may, COMMENT_COMMAND_FOLLOWERS);

    ask(world, "site:1", USER, 0); /* the subject is known for a while */
    assert_int_equal(asked_count, 3);
    say("/peer/list/60?relation=following&limit=1&after=49", 0, 200, "{\"items\":[{\"user\":51}],\"next\":null}");
    say_friendship(USER, OWNER, "none", "blocked");
    assert_known(world, OWNER, false, false, true);
}

TEST(a_block_counts_whoever_has_made_it, struct facts_world *world) {
    static const char *const STATES[][2] = {{"blocked", "none"}, {"none", "blocked"}, {"blocked", "blocked"}};
    for (size_t i = 0; i < 3; i++) {
        known_subjects_forget(world->gateway.subjects, "site:1");
        ask(world, "site:1", USER, 0);
        say(SITE, 0, 200, SUBJECT("everyone"));
        say_friendship(USER, OWNER, STATES[i][0], STATES[i][1]);
        assert_known(world, OWNER, false, false, true);
    }
}

TEST(an_answer_asks_about_the_author_too, struct facts_world *world) {
    ask(world, "site:1", USER, 9);
    say("/peer/comments/one/site/1/9", 0, 200, "{\"item\":{\"id\":\"9\",\"user\":70},\"root\":null}");
    say(SITE, 0, 200, SUBJECT("everyone"));
    assert_int_equal(open_questions(), 4);
    say_friendship(USER, OWNER, "friends", "friends");
    say_friendship(USER, AUTHOR, "none", "blocked");
    assert_known(world, OWNER, false, true, true);
    struct comment_authors known = {0};
    assert_true(known_authors_find(world->gateway.authors, 9, &known));
    assert_true(known.comment == AUTHOR && known.root == AUTHOR);

    ask(world, "site:1", AUTHOR, 9); /* one's own comment; its author is known now */
    assert_int_equal(asked_count, 2);
    say_friendship(AUTHOR, OWNER, "none", "none");
    assert_known(world, OWNER, false, false, false);

    ask(world, "site:1", USER, 10);
    say("/peer/comments/one/site/1/10", 0, 404, "{}");
    assert_true(world->done);
    assert_int_equal(world->outcome, FACTS_NO_COMMENT);
}

TEST(under_a_root_its_author_counts_whomever_one_answers, struct facts_world *world) {
    ask(world, "site:1", USER, 11);
    say("/peer/comments/one/site/1/11", 0, 200,
        "{\"item\":{\"id\":\"11\",\"user\":70},\"root\":{\"id\":\"4\",\"user\":71}}");
    say(SITE, 0, 200, SUBJECT("everyone"));
    assert_int_equal(open_questions(), 6);
    say_friendship(USER, OWNER, "none", "none");
    say_friendship(USER, AUTHOR, "none", "none");
    say_friendship(USER, 71, "none", "blocked");
    assert_known(world, OWNER, false, false, true);
}

TEST(a_like_asks_about_the_authors_only, struct facts_world *world) {
    world->done = false;
    asked_count = 0;
    facts_ask(
        &world->gateway,
        &(struct facts_wish){
            .subject = world->post, .user = USER, .about = 12, .authors_only = true, .context = world, .done = done});
    assert_int_equal(open_questions(), 1);
    char path[100];
    snprintf(path, sizeof path, "/peer/comments/one/post/%lld/12", (long long)world->post_id);
    say(path, 0, 200, "{\"item\":{\"id\":\"12\",\"user\":70},\"root\":{\"id\":\"4\",\"user\":60}}");
    assert_int_equal(open_questions(), 2);
    say_friendship(USER, AUTHOR, "none", "blocked");
    assert_true(world->done && world->outcome == FACTS_KNOWN && world->facts.blocked);
}

/* Who has liked a post that was deleted a moment ago is told so: nothing is known for a while. */
TEST(a_like_of_a_post_asks_whose_it_is, struct facts_world *world) {
    char items[100];
    snprintf(items, sizeof items, "{\"items\":[{\"id\":\"%lld\",\"user\":50}]}", (long long)world->post_id);
    for (int i = 0; i < 4; i++) {
        bool there_only = i == 1, gone = i > 1;
        world->done = false;
        asked_count = 0;
        facts_ask(&world->gateway, &(struct facts_wish){.subject = world->post,
                                                        .user = USER,
                                                        .authors_only = true,
                                                        .there_only = there_only,
                                                        .context = world,
                                                        .done = done});
        assert_int_equal(open_questions(), 1);
        say(world->post_path, 0, 200, gone ? "{\"items\":[null]}" : items);
        if (!there_only && !gone) say_friendship(USER, OWNER, "none", "blocked");
        if (gone)
            assert_true(world->done && world->outcome == FACTS_NO_POST);
        else
            assert_known(world, OWNER, false, false, !there_only);
    }
}

TEST(the_author_of_a_post_owns_it, struct facts_world *world) {
    char path[100], items[100];
    snprintf(path, sizeof path, "/peer/comments/subject/post/%lld", (long long)world->post_id);
    snprintf(items, sizeof items, "{\"items\":[{\"id\":\"%lld\",\"user\":50}]}", (long long)world->post_id);
    ask(world, world->post, USER, 0);
    say(world->post_path, 0, 200, items);
    say(path, 0, 404, "{}");
    say_friendship(USER, OWNER, "none", "none");
    assert_known(world, OWNER, false, false, false);

    known_subjects_forget(world->gateway.subjects, world->post);
    ask(world, world->post, USER, 0);
    say(path, 0, 404, "{}");
    say(world->post_path, 0, 200, "{\"items\":[null]}");
    assert_int_equal(world->outcome, FACTS_NO_POST);
    assert_true(world->done);

    ask(world, "post:4611686018427387904", USER, 0); /* of no partition that there is? then there is no such post */
    for (size_t i = 0; i < asked_count; i++)
        if (asked[i].done) say(asked[i].path, 0, 404, "{}");
    assert_true(world->done && world->outcome != FACTS_KNOWN);
}

TEST(a_subject_that_nobody_registered_has_no_owner, struct facts_world *world) {
    ask(world, "site:1", USER, 0);
    say(SITE, 0, 404, "{}");
    assert_known(world, -1, false, false, false);
}

TEST(an_owner_who_is_away_lets_nobody_write, struct facts_world *world) {
    static const struct {
        int code;
        unsigned status;
        const char *reply;
    } AWAY[] = {{-ETIMEDOUT, 0, NULL}, {-EHOSTUNREACH, 0, NULL}, {0, 503, "{}"}, {0, 200, "no"}, {0, 200, "{}"}};
    char items[100], path[100];
    snprintf(items, sizeof items, "{\"items\":[{\"id\":\"%lld\",\"user\":50}]}", (long long)world->post_id);
    snprintf(path, sizeof path, "/peer/comments/subject/post/%lld", (long long)world->post_id);
    for (size_t i = 0; i < sizeof AWAY / sizeof *AWAY; i++) {
        known_subjects_forget(world->gateway.subjects, world->post);
        ask(world, world->post, USER, 0); /* the feed */
        say(path, 0, 404, "{}");
        say(world->post_path, AWAY[i].code, AWAY[i].status, AWAY[i].reply);
        assert_true(world->done && world->outcome == FACTS_AWAY);

        known_subjects_forget(world->gateway.subjects, "site:1");
        ask(world, "site:1", USER, 0); /* the router */
        say(SITE, 0, 200, SUBJECT("everyone"));
        say("/peer/friendship/60/50", 0, 200, "{\"state\":\"none\"}");
        say("/peer/friendship/50/60", AWAY[i].code, AWAY[i].status, AWAY[i].reply);
        assert_true(world->done && world->outcome == FACTS_AWAY);
    }
}

/* A stalled comments process must not hold writers up: the decision may come later. */
TEST(a_silent_comments_process_holds_nobody_up, struct facts_world *world) {
    char items[100], path[100];
    snprintf(items, sizeof items, "{\"items\":[{\"id\":\"%lld\",\"user\":50}]}", (long long)world->post_id);
    snprintf(path, sizeof path, "/peer/comments/subject/post/%lld", (long long)world->post_id);
    ask(world, world->post, USER, 0);
    say(world->post_path, 0, 200, items);
    say(path, -ETIMEDOUT, 0, NULL);
    say("/peer/list/60?relation=following&limit=1&after=49", 0, 200, "{\"items\":[{\"user\":50}],\"next\":null}");
    say_friendship(USER, OWNER, "none", "none");
    assert_known(world, OWNER, true, false, false); /* its settings are not known, so everything is asked */

    ask(world, "site:1", USER, 0); /* nobody can say whose that is */
    say(SITE, -ETIMEDOUT, 0, NULL);
    assert_true(world->done && world->outcome == FACTS_AWAY);

    known_subjects_put(
        world->gateway.subjects,
        &(struct known_subject){.subject = "site:1", .owner = OWNER, .author = -1, .heard_ms = -1000000});
    ask(world, "site:1", USER, 0);
    say(SITE, -ETIMEDOUT, 0, NULL);
    say("/peer/list/60?relation=following&limit=1&after=49", 0, 200, "{\"items\":[],\"next\":null}");
    say_friendship(USER, OWNER, "none", "blocked");
    assert_known(world, OWNER, false, false, true);

    known_subjects_put(world->gateway.subjects,
                       &(struct known_subject){.subject = "site:1", .owner = -1, .author = -1, .heard_ms = -1000000});
    ask(world, "site:1", USER, 0); /* somebody may have registered it since */
    say(SITE, -ETIMEDOUT, 0, NULL);
    assert_true(world->done && world->outcome == FACTS_AWAY);
}

TEST(the_end_of_the_gateway_ends_it, struct facts_world *world) {
    ask(world, "site:1", USER, 9);
    say(SITE, -ECANCELED, 0, NULL);
    assert_false(world->done);
    say("/peer/comments/one/site/1/9", -ECANCELED, 0, NULL);
    assert_true(world->done && world->outcome == FACTS_STOPPING);
}

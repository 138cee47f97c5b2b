/* Who may see whose posts, as a process knows it: what it asks, what it is told, and for how long that counts. */
#include "ids/ids.h"
#include "posts/sights.h"
#include "unit/kit/kit.h"
#include "unit/lib/posts/post_owners.h"

enum { PARTITIONS = 4, AUTHOR = 7, READER = 9, OTHER = 10, MOST = 300 };

static int64_t now;

struct world {
    uv_loop_t loop;
    struct post_owners owners;
    struct sights *sights;
};

static int64_t now_ms(void) { return now; }

static void fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context) {
    struct world *w = context;
    post_owners_fetch(&w->owners, partition, path, timeout_ms, done, done_context);
}

SET_UP() {
    struct world *w = mem_zero(1, sizeof *w);
    uv_loop_init(&w->loop);
    now = 1000000;
    w->sights = sights_new(&(struct sights_options){.loop = &w->loop,
                                                    .partitions = PARTITIONS,
                                                    .again_ms = 1,
                                                    .asks = SIGHT_ASKS,
                                                    .context = w,
                                                    .fetch = fetch,
                                                    .now_ms = now_ms});
    return w;
}

TEAR_DOWN(struct world *w) {
    post_owners_free(&w->owners);
    sights_stop(w->sights);
    sights_free(w->sights);
    kit_loop_end(&w->loop);
    free(w);
}

/* ---- asking ---- */

enum { UNTOLD = -1 };

static void told(void *context, enum sight_answer answer) {
    int *at = context;
    assert_int_equal(*at, UNTOLD);
    *at = (int)answer;
}

static void ask(struct world *w, int64_t author, int64_t post, int64_t reader, int *answer) {
    *answer = UNTOLD;
    sights_ask(w->sights, &(struct sights_wish){
                              .reader = reader, .author = author, .post = post, .context = answer, .done = told});
}

static void until_asked(struct world *w, size_t questions) {
    while (w->owners.count < questions) uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void say(struct world *w, const char *reply) { post_owners_say(&w->owners, w->owners.count - 1, 0, 200, reply); }

/* Whoever knows too little is asked twice. */
static void say_it_is_old(struct world *w, const char *reply) {
    size_t questions = w->owners.count;
    say(w, reply);
    until_asked(w, questions + 1);
    assert_string_equal(w->owners.questions[questions].path, w->owners.questions[questions - 1].path);
}

/* Asks, has that answered, and returns what was told. */
static int asked(struct world *w, int64_t reader, const char *reply) {
    size_t questions = w->owners.count;
    int answer;
    ask(w, AUTHOR, 0, reader, &answer);
    if (answer != UNTOLD) return answer;
    until_asked(w, questions + 1);
    say(w, reply);
    return answer;
}

static void assert_path(const struct world *w, size_t question, int32_t partition, const char *path) {
    FREED char *expected = mem_format("/peer/may/%d%s", (int)partition, path);
    assert_string_equal(w->owners.questions[question].path, expected);
    assert_int_equal(w->owners.questions[question].partition, partition);
}

/* ---- tests ---- */

TEST(authors_see_their_posts, struct world *w) {
    int answer;
    assert_true(sights_may(w->sights, AUTHOR, AUTHOR));
    ask(w, AUTHOR, 0, AUTHOR, &answer);
    assert_int_equal(answer, SIGHT_YES);
    assert_int_equal(w->owners.count, 0);
    assert_false(sights_may(w->sights, AUTHOR, READER));
    assert_false(sights_may(w->sights, AUTHOR, -1));
}

TEST(all_who_ask_within_a_moment_are_one_question, struct world *w) {
    int32_t home = hash_user_partition(AUTHOR, PARTITIONS);
    int answers[3], other;
    for (int i = 0; i < 3; i++) ask(w, AUTHOR, 0, i ? READER + i : -1, &answers[i]);
    ask(w, AUTHOR + 1, 0, READER, &other);
    until_asked(w, 2);
    assert_int_equal(w->owners.count, 2);
    assert_path(w, 1, home, "?user=7&readers=10,11");
    say(w, "{\"user\":7,\"age_ms\":0,\"everybody\":true,\"but\":[11]}");
    assert_int_equal(answers[0], SIGHT_YES);
    assert_int_equal(answers[1], SIGHT_YES);
    assert_int_equal(answers[2], SIGHT_NO);
    assert_int_equal(other, UNTOLD);
    post_owners_say(&w->owners, 0, 0, 404, "{}");
    assert_int_equal(other, SIGHT_NO_POST);
    assert_true(sights_may(w->sights, AUTHOR, 1234));
    assert_false(sights_may(w->sights, AUTHOR, 11));
}

TEST(a_question_names_so_many_readers, struct world *w) {
    int answers[MOST];
    for (int i = 0; i < MOST; i++) ask(w, AUTHOR, 0, READER + i, &answers[i]);
    until_asked(w, 2);
    for (size_t i = 0; i < 2; i++)
        post_owners_say(&w->owners, i, 0, 200, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[9,308]}");
    for (int i = 0; i < MOST; i++) assert_int_equal(answers[i], i == 0 || i == MOST - 1 ? SIGHT_YES : SIGHT_NO);
}

TEST(a_permission_counts_from_its_question_less_the_age, struct world *w) {
    for (int64_t age = 0; age <= SIGHT_MS + 100; age += 100) {
        for (int64_t takes = 0; takes <= SIGHT_MS + 100; takes += 100) {
            FREED char *reply = mem_format("{\"user\":7,\"age_ms\":%d,\"everybody\":false,\"may\":[9]}", (int)age);
            size_t questions = w->owners.count;
            int answer;
            ask(w, AUTHOR, 0, READER, &answer);
            until_asked(w, questions + 1);
            now += takes;
            int64_t left = SIGHT_MS - age - takes;
            if (left < 0) {
                say_it_is_old(w, reply);
                assert_int_equal(answer, UNTOLD);
                now += takes;
            }
            say(w, reply);
            assert_int_equal(answer, left >= 0 ? SIGHT_YES : SIGHT_AWAY);
            assert_int_equal(sights_may(w->sights, AUTHOR, READER), left >= 0);
            now += left > 0 ? left : 0;
            assert_int_equal(sights_may(w->sights, AUTHOR, READER), left >= 0);
            now++;
            assert_false(sights_may(w->sights, AUTHOR, READER));
        }
    }
}

TEST(what_everybody_may_see_ends_too, struct world *w) {
    assert_int_equal(asked(w, READER, "{\"user\":7,\"age_ms\":400,\"everybody\":true,\"but\":[]}"), SIGHT_YES);
    now += SIGHT_MS - 400;
    assert_true(sights_may(w->sights, AUTHOR, OTHER));
    now++;
    assert_false(sights_may(w->sights, AUTHOR, OTHER));
    assert_int_equal(asked(w, READER, "{\"user\":7,\"age_ms\":0,\"everybody\":true,\"but\":[9,3]}"), SIGHT_NO);
    assert_false(sights_may(w->sights, AUTHOR, 3)); // they need not rise
    assert_true(sights_may(w->sights, AUTHOR, OTHER));
}

/* An older word is no news, and a denial is not kept. */
TEST(the_newest_word_counts, struct world *w) {
    int first, second;
    ask(w, AUTHOR, 0, READER, &first);
    until_asked(w, 1);
    now += 1000;
    ask(w, AUTHOR, 0, READER, &second);
    until_asked(w, 2);
    say(w, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[9]}");
    post_owners_say(&w->owners, 0, 0, 200, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[9]}");
    assert_int_equal(first, SIGHT_YES);
    now += SIGHT_MS;
    assert_true(sights_may(w->sights, AUTHOR, READER));
    now++;
    assert_int_equal(asked(w, READER, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[]}"), SIGHT_NO);
    assert_int_equal(asked(w, READER, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[9]}"), SIGHT_YES);
}

TEST(readers_owners_vouch, struct world *w) {
    int64_t sent = now - 100;
    assert_true(sights_word_counts(w->sights, sent, 300));
    now += SIGHT_MS - 400;
    assert_true(sights_word_counts(w->sights, sent, 300));
    now++;
    assert_false(sights_word_counts(w->sights, sent, 300));
    assert_true(sights_word_counts(w->sights, now, SIGHT_MS));
    assert_false(sights_word_counts(w->sights, now, SIGHT_MS + 1));
    assert_false(sights_word_counts(w->sights, now, INT64_MAX)); // it does not know how old it is
}

TEST(posts_lead_to_their_authors, struct world *w) {
    int64_t post = ids_make(INT64_C(5) << IDS_FRACTION_BITS, 2);
    FREED char *path = mem_format("?post=%lld&readers=9", (long long)post);
    int answer;
    ask(w, -1, post, READER, &answer);
    until_asked(w, 1);
    assert_path(w, 0, 2, path);
    say(w, "{\"user\":7,\"age_ms\":0,\"everybody\":true,\"but\":[]}");
    assert_int_equal(answer, SIGHT_YES);
    assert_true(sights_may(w->sights, AUTHOR, OTHER));
    assert_true(sights_may_see(w->sights, post, OTHER));
    assert_false(sights_may_see(w->sights, post + 1, OTHER));
    ask(w, -1, post, OTHER, &answer);
    assert_int_equal(answer, SIGHT_YES);
    now += SIGHT_MS + 1;
    ask(w, -1, post, READER, &answer);
    until_asked(w, 2);
    post_owners_say(&w->owners, 1, 0, 404, "{}");
    assert_int_equal(answer, SIGHT_NO_POST);
    ask(w, -1, ids_make(INT64_C(5) << IDS_FRACTION_BITS, PARTITIONS), READER, &answer);
    assert_int_equal(answer, SIGHT_NO_POST); // no process has that partition
}

TEST(a_hidden_post_is_seen_by_nobody, struct world *w) {
    int64_t post = ids_make(INT64_C(5) << IDS_FRACTION_BITS, 2);
    int first, author, then;
    ask(w, -1, post, READER, &first);
    ask(w, -1, post, AUTHOR, &author);
    until_asked(w, 1);
    say(w, "{\"hidden\":true}");
    assert_int_equal(first, SIGHT_NO);
    assert_int_equal(author, SIGHT_NO);
    assert_false(sights_may_see(w->sights, post, AUTHOR));
    ask(w, -1, post, READER, &then); // it may be shown again any time
    until_asked(w, 2);
    say(w, "{\"user\":7,\"age_ms\":0,\"everybody\":true,\"but\":[]}");
    assert_int_equal(then, SIGHT_YES);
}

/* The author's owner is another one since the topics have more partitions. It knows of the post, too: whether it is hidden, and then whose it
 * is, as of the same moment. */
TEST(a_post_that_lies_elsewhere_than_its_author, struct world *w) {
    int32_t home = hash_user_partition(AUTHOR, PARTITIONS);
    int64_t post = ids_make(INT64_C(5) << IDS_FRACTION_BITS, (home + 1) % PARTITIONS);
    FREED char *path = mem_format("?post=%lld&readers=9", (long long)post);
    int answer, other;
    for (size_t i = 0; i < 2; i++) {
        ask(w, -1, post, READER, &answer);
        until_asked(w, 2 * i + 1);
        assert_path(w, 2 * i, ids_partition(post), path);
        say(w, "{\"user\":7}");
        assert_int_equal(answer, UNTOLD);
        until_asked(w, 2 * i + 2);
        assert_path(w, 2 * i + 1, home, path);
        assert_false(sights_may_see(w->sights, post, READER));
        say(w, i ? "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[9]}" : "{\"hidden\":true}");
        assert_int_equal(answer, i ? SIGHT_YES : SIGHT_NO);
    }
    assert_true(sights_may_see(w->sights, post, READER));
    assert_false(sights_may_see(w->sights, post, OTHER));
    ask(w, -1, post, OTHER, &other); // whose it is, is known
    until_asked(w, 5);
    assert_path(w, 4, home, "?user=7&readers=10");
    say(w, "{\"user\":7}"); // never so
    assert_int_equal(other, SIGHT_AWAY);
    now += SIGHT_MS + 1;
    ask(w, -1, post, READER, &answer);
    until_asked(w, 6);
    say(w, "{\"user\":7}");
    until_asked(w, 7);
    say(w, "{\"user\":7}"); // nor so
    assert_int_equal(answer, SIGHT_AWAY);
}

/* A question of a moved author's post does not mix with one that goes to where the id says. */
TEST(questions_to_two_owners_are_two, struct world *w) {
    int32_t home = hash_user_partition(AUTHOR, PARTITIONS);
    int64_t post = ids_make(INT64_C(5) << IDS_FRACTION_BITS, (home + 1) % PARTITIONS);
    int one, two;
    ask(w, -1, post, READER, &one);
    until_asked(w, 1);
    say(w, "{\"user\":7}");
    ask(w, -1, post, OTHER, &two);
    until_asked(w, 3);
    int32_t partitions = w->owners.questions[1].partition + w->owners.questions[2].partition;
    assert_int_equal(partitions, home + ids_partition(post));
    for (size_t i = 1; i < 3; i++) {
        bool moved = w->owners.questions[i].partition == home;
        post_owners_say(&w->owners, i, 0, 200,
                        moved ? "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[9]}" : "{\"user\":7}");
    }
    assert_int_equal(one, SIGHT_YES);
    until_asked(w, 4);
    say(w, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[]}");
    assert_int_equal(two, SIGHT_NO);
}

TEST(answers_that_say_nothing, struct world *w) {
    static const char *const REPLIES[] = {"",
                                          "{}",
                                          "[]",
                                          "{\"user\":-1}",
                                          "{\"user\":7,\"everybody\":true,\"but\":[]}",
                                          "{\"user\":7,\"age_ms\":0,\"everybody\":true}",
                                          "{\"user\":7,\"age_ms\":0,\"everybody\":1,\"but\":[]}",
                                          "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"but\":[9]}",
                                          "{\"user\":7,\"age_ms\":-1,\"everybody\":false,\"may\":[9]}"};
    int answer;
    for (size_t i = 0; i < ARRAY_SIZE(REPLIES); i++) {
        assert_int_equal(asked(w, READER, REPLIES[i]), SIGHT_AWAY);
        assert_false(sights_may(w->sights, AUTHOR, READER));
    }
    ask(w, AUTHOR, 0, READER, &answer);
    sights_stop(w->sights);
    assert_int_equal(answer, SIGHT_AWAY);
}

static const char OLD[] = "{\"user\":7,\"age_ms\":9223372036854775807,\"everybody\":false,\"may\":[9]}";

TEST(an_owner_that_knows_too_little_is_asked_once_more, struct world *w) {
    int answers[3], other;
    for (int i = 0; i < 2; i++) ask(w, AUTHOR, 0, READER + i, &answers[i]);
    until_asked(w, 1);
    say_it_is_old(w, OLD);
    ask(w, AUTHOR, 0, READER + 2, &answers[2]); // a question of its own
    until_asked(w, 3);
    post_owners_say(&w->owners, 1, 0, 200, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[9]}");
    assert_int_equal(answers[0], SIGHT_YES);
    assert_int_equal(answers[1], SIGHT_NO);
    assert_int_equal(answers[2], UNTOLD);
    say_it_is_old(w, OLD);
    say(w, OLD);
    assert_int_equal(answers[2], SIGHT_AWAY);
    for (int i = 1; i < 3; i++) ask(w, AUTHOR + 10 * i, 0, READER, &answers[i]);
    until_asked(w, 6);
    for (size_t i = 4; i < 6; i++) post_owners_say(&w->owners, i, 0, 200, OLD);
    until_asked(w, 8); // each of those that wait
    ask(w, AUTHOR, 0, OTHER, &other);
    until_asked(w, 9);
    say(w, OLD);
    sights_stop(w->sights);
    assert_int_equal(other, SIGHT_AWAY);
    post_owners_say(&w->owners, 6, 0, 404, "{}");
    post_owners_say(&w->owners, 7, 0, 404, "{}");
    ask(w, AUTHOR, 0, OTHER, &other); // nothing is asked any more
    assert_int_equal(other, SIGHT_AWAY);
}

/* Also while their owner knows little, as when Kafka is away. */
TEST(authors_see_a_post_that_is_theirs, struct world *w) {
    int64_t post = ids_make(INT64_C(5) << IDS_FRACTION_BITS, hash_user_partition(AUTHOR, PARTITIONS));
    int mine, theirs;
    ask(w, -1, post, AUTHOR, &mine);
    until_asked(w, 1);
    say(w, OLD);
    assert_int_equal(mine, SIGHT_YES);
    assert_true(sights_may_see(w->sights, post, AUTHOR));
    assert_false(sights_may_see(w->sights, post, READER));
    now += SIGHT_MS + 1;
    assert_false(sights_may_see(w->sights, post, AUTHOR)); // it may be hidden by now
    ask(w, -1, post, READER, &theirs);
    ask(w, -1, post, AUTHOR, &mine);
    until_asked(w, 2);
    say(w, OLD);
    assert_int_equal(mine, SIGHT_YES);
    assert_int_equal(theirs, UNTOLD);
    until_asked(w, 3);
    say(w, "{\"user\":7,\"age_ms\":0,\"everybody\":false,\"may\":[]}");
    assert_int_equal(theirs, SIGHT_NO);
}

/* Nothing that is known stays for longer than it counts, or so. */
TEST(memory_is_given_back, struct world *w) {
    int answer;
    for (int i = 0; i < 1000; i++) {
        FREED char *reply = mem_format("{\"user\":%d,\"age_ms\":0,\"everybody\":false,\"may\":[9]}", 1000 + i);
        ask(w, 1000 + i, 0, READER, &answer);
        until_asked(w, (size_t)i + 1);
        say(w, reply);
        assert_int_equal(answer, SIGHT_YES);
        now += 10;
        assert_true(sights_known(w->sights) <= SIGHT_MS / 10 + 2);
    }
    for (int i = 0; i < 200; i++) { // what is older is no news
        FREED char *reply = mem_format("{\"user\":7,\"age_ms\":%d,\"everybody\":false,\"may\":[9]}", i);
        assert_int_equal(asked(w, OTHER, reply), SIGHT_NO);
    }
    assert_true(sights_known(w->sights) <= SIGHT_MS / 10 + 2);
}

TEST(subjects_of_posts) {
    assert_int_equal(sights_post_of("post:123"), 123);
    assert_int_equal(sights_post_of("post:"), 0);
    assert_int_equal(sights_post_of("post:12a"), 0);
    assert_int_equal(sights_post_of("posts:12"), 0);
    assert_int_equal(sights_post_of("video:12"), 0);
}

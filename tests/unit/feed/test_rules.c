/* How commands of the feed are decided, and which ones are dead letters. */
#include "feed/posts.h"
#include "edits/edits.h"
#include "feed/rules.h"
#include "unit/kit/kit.h"

/* A text of so many copies of a character. */
static struct event_text copies(const char *character, size_t count) {
    size_t size = strlen(character);
    char *text = mem_alloc(size * count + 1);
    for (size_t i = 0; i < count; i++) memcpy(text + i * size, character, size);
    return (struct event_text){text, size * count};
}

static struct event_text text_of(const char *text) { return (struct event_text){text, strlen(text)}; }

static const struct post_command GOOD = {.kind = POST_COMMAND_POST, .user = 0, .text = {"Hi", 2}};

static void assert_complaint(const struct post_command *command, const char *part) {
    const char *complaint = post_command_complaint(command);
    if (!part && complaint) fail_msg("it complains: %s", complaint);
    if (part && (!complaint || !strstr(complaint, part))) fail_msg("not \"%s\": %s", part, complaint);
}

TEST(users_must_be_two) {
    static const struct {
        int64_t user, other;
        bool good;
    } CASES[] = {{0, 1, true},  {1, 0, true},   {INT64_MAX, 5, true}, {5, INT64_MAX, true}, {5, 5, false},
                 {0, 0, false}, {-1, 5, false}, {5, -1, false},       {INT64_MIN, 5, false}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        for (enum follow_command_kind kind = FOLLOW_COMMAND_FOLLOW; kind <= FOLLOW_COMMAND_UNMUTE; kind++) {
            const struct follow_command command = {
                .kind = kind, .user = CASES[i].user, .other = CASES[i].other, .time = 1};
            assert_int_equal(follow_command_complaint(&command) == NULL, CASES[i].good);
            struct follow_command without = command;
            without.time = (int64_t)i - 5; // 0 and below
            if (without.time < 1) assert_non_null(follow_command_complaint(&without));
        }
    }
}

TEST(a_text_has_1_to_2000_characters) {
    static const char *const CHARACTERS[] = {"a", "\xc3\xa9", "\xe5\x8f\x8b", "\xf0\x9f\x8c\x8d", " ", "\n"};
    for (size_t i = 0; i < ARRAY_SIZE(CHARACTERS); i++) {
        static const size_t COUNTS[] = {0, 1, 2, 1999, 2000, 2001, 4000};
        for (size_t k = 0; k < ARRAY_SIZE(COUNTS); k++) {
            struct post_command command = GOOD;
            command.text = copies(CHARACTERS[i], COUNTS[k]);
            bool good = COUNTS[k] >= 1 && COUNTS[k] <= 2000;
            assert_complaint(&command, good ? NULL : "its text is empty or longer");
            free((void *)(uintptr_t)command.text.data);
        }
    }
}

TEST(a_text_is_utf_8_without_nul) {
    static const struct event_text WRONG[] = {
        {"a\0b", 3},     {"\0", 1},           {"\x80", 1},         {"a\xc3", 2},
        {"\xc0\xaf", 2}, {"\xe0\x80\x80", 3}, {"\xed\xa0\x80", 3}, {"\xf4\x90\x80\x80", 4},
        {"\xff", 1},     {"\xc3(", 2},
    };
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        struct post_command command = GOOD;
        command.text = WRONG[i];
        assert_complaint(&command, "its text is not UTF-8");
        command.text = GOOD.text;
        command.key = WRONG[i];
        assert_complaint(&command, "its key is not UTF-8");
        command.key = (struct event_text){NULL, 0};
        FREED_BUFFER url = {.size = 0};
        buffer_string(&url, "http://");
        buffer_append(&url, WRONG[i].data, WRONG[i].size);
        const struct event_text medium = {(const char *)url.data, url.size};
        command.media = (struct event_texts){&medium, 1};
        assert_complaint(&command, "the address of a medium is not UTF-8");
    }
}

TEST(a_post_mentions_up_to_ten_users) {
    static const int64_t USERS[11] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, INT64_MAX}, NEGATIVE[] = {7, -1};
    struct post_command command = GOOD;
    command.mentions = (struct event_longs){USERS, 10};
    assert_complaint(&command, NULL);
    command.mentions.count = 11;
    assert_complaint(&command, "more than ten users");
    command.mentions = (struct event_longs){NEGATIVE, 2};
    assert_complaint(&command, "a negative user");
}

TEST(a_key_has_up_to_64_bytes) {
    static const size_t COUNTS[] = {0, 1, 63, 64, 65, 1000};
    for (size_t i = 0; i < ARRAY_SIZE(COUNTS); i++) {
        struct post_command command = GOOD;
        command.key = copies("k", COUNTS[i]);
        assert_complaint(&command, COUNTS[i] <= 64 ? NULL : "its key is longer");
        free((void *)(uintptr_t)command.key.data);
    }
}

TEST(media_are_up_to_four_addresses) {
    struct event_text media[5];
    for (size_t i = 0; i < 5; i++) media[i] = text_of(i % 2 ? "http://a/1" : "https://b/2");
    for (size_t count = 0; count <= 5; count++) {
        struct post_command command = GOOD;
        command.media = (struct event_texts){media, count};
        assert_complaint(&command, count <= 4 ? NULL : "more than four");
    }
    static const char *const WRONG[] = {"ftp://a", "HTTP://a",  "http:/a", "https:/a",
                                        "a",       " http://a", "//a",     "httpss://a"};
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        struct post_command command = GOOD;
        for (size_t at = 0; at < 4; at++) { // each one is looked at
            for (size_t k = 0; k < 4; k++) media[k] = text_of("http://a");
            media[at] = text_of(WRONG[i]);
            command.media = (struct event_texts){media, 4};
            assert_complaint(&command, "does not begin with http:// or https://");
            media[at] = (struct event_text){NULL, 0};
            assert_complaint(&command, "is empty or longer");
        }
    }
    for (size_t size = 2047; size <= 2049; size++) {
        struct post_command command = GOOD;
        struct event_text url = copies("x", size);
        memcpy((void *)(uintptr_t)url.data, "http://", 7);
        command.media = (struct event_texts){&url, 1};
        assert_complaint(&command, size <= 2048 ? NULL : "is empty or longer");
        free((void *)(uintptr_t)url.data);
    }
}

TEST(only_new_posts_have_no_id) {
    struct post_command command = GOOD;
    command.id = 5;
    assert_complaint(&command, "an id already");
    command.id = -5;
    assert_complaint(&command, "an id already");
    command = GOOD;
    command.user = -1;
    assert_complaint(&command, "negative");
    static const enum post_command_kind KINDS[] = {POST_COMMAND_DELETE, POST_COMMAND_FORGET};
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        command = (struct post_command){.kind = KINDS[i], .user = 5, .id = 1};
        assert_complaint(&command, NULL); // it has no text
        command.id = 0;
        assert_complaint(&command, "not above 0");
        command.id = -1;
        assert_complaint(&command, "not above 0");
        command.id = INT64_MAX;
        assert_complaint(&command, NULL);
        command.user = -1;
        assert_complaint(&command, "negative");
    }
}

TEST(followers_commands_name_whom_they_are_about) {
    for (enum follower_command_kind kind = FOLLOWER_COMMAND_ASK; kind <= FOLLOWER_COMMAND_EVERYBODY; kind++) {
        bool of_all = kind == FOLLOWER_COMMAND_FOLLOWERS || kind == FOLLOWER_COMMAND_EVERYBODY;
        for (int64_t reader = -1; reader <= 1; reader++) {
            struct follower_command command = {.kind = kind, .author = 1, .reader = reader, .time = 1};
            bool good = of_all ? reader < 0 : reader == 0;
            assert_int_equal(follower_command_complaint(&command) == NULL, good);
            command.time = 0;
            assert_non_null(follower_command_complaint(&command));
            command.time = 1;
            command.author = -1;
            assert_non_null(follower_command_complaint(&command));
        }
    }
}

TEST(who_may_see_is_one_predicate) {
    for (int bits = 0; bits < 16; bits++) {
        const struct sight_now now = {
            .own = bits & 1, .for_followers = bits & 2, .follows = bits & 4, .blocked = bits & 8};
        bool may = now.own;                               // the author
        if (!now.for_followers) may = true;               // everybody
        if (now.for_followers && now.follows) may = true; // accepted followers
        if (now.blocked && !now.own) may = false;         // never across a block
        assert_int_equal(sight_decide(&now), may);
    }
}

enum { MAX = 3 };

static enum follower_verdict decide(enum follower_command_kind kind, int64_t following, int64_t blocked,
                                    const struct follower_now *now) {
    return follower_decide(
        &(struct follower_command){.kind = kind, .author = 1, .reader = 2, .following = following, .blocked = blocked},
        now, MAX);
}

/* The command of a block that is carried out late, or once more, ends what was there before the block, and nothing that stands
 * since it was lifted. While a block stands it ends any follow and any request. */
TEST(a_block_ends_no_later_follow) {
    enum { BLOCKED = 1000 };
    for (int bits = 0; bits < 8; bits++) {
        for (int64_t since = 0; since <= 2 * BLOCKED; since += BLOCKED / 2) {
            const struct follower_now now = {
                .follows = bits & 1, .requested = bits & 2, .blocked = bits & 4, .since = since};
            bool any = now.follows || now.requested, ends = any && (now.blocked || since <= BLOCKED);
            assert_int_equal(decide(FOLLOWER_COMMAND_END, 0, BLOCKED, &now), ends ? FOLLOWER_ENDS : FOLLOWER_NOTHING);
            assert_int_equal(decide(FOLLOWER_COMMAND_END, 0, 0, &now), any ? FOLLOWER_ENDS : FOLLOWER_NOTHING);
        }
    }
}

TEST(follows_are_decided) {
    for (int bits = 0; bits < 16; bits++) {
        for (int64_t following = 0; following <= MAX + 1; following++) {
            for (size_t requests = FOLLOWER_REQUESTS_MAX - 1; requests <= FOLLOWER_REQUESTS_MAX; requests++) {
                const struct follower_now now = {.follows = bits & 1,
                                                 .requested = bits & 2,
                                                 .blocked = bits & 4,
                                                 .for_followers = bits & 8,
                                                 .requests = requests};
                bool asked = now.for_followers && now.requested;
                enum follower_verdict ask = now.follows || asked                ? FOLLOWER_NOTHING
                                            : now.blocked                       ? FOLLOWER_BLOCKED
                                            : following >= MAX                  ? FOLLOWER_FULL
                                            : !now.for_followers                ? FOLLOWER_FOLLOWS
                                            : requests >= FOLLOWER_REQUESTS_MAX ? FOLLOWER_CROWDED
                                                                                : FOLLOWER_REQUESTS;
                bool accepts = now.requested && !now.blocked;
                assert_int_equal(decide(FOLLOWER_COMMAND_ASK, following, 0, &now), ask);
                assert_int_equal(decide(FOLLOWER_COMMAND_ACCEPT, following, 0, &now),
                                 accepts ? FOLLOWER_FOLLOWS : FOLLOWER_NOTHING);
                assert_int_equal(decide(FOLLOWER_COMMAND_FOLLOWERS, following, 0, &now), FOLLOWER_NOTHING);
                assert_int_equal(decide(FOLLOWER_COMMAND_EVERYBODY, following, 0, &now), FOLLOWER_NOTHING);
            }
        }
    }
}

TEST(posts_are_decided) {
    const int64_t now_ms = INT64_C(1780000000000), day = POST_KEPT_MS;
    const struct post_now none = {.exists = false}, live = {.exists = true}, gone = {.exists = true, .deleted = now_ms};
    assert_int_equal(post_decide(POST_COMMAND_POST, &none, now_ms), POST_MAKE);
    assert_int_equal(post_decide(POST_COMMAND_POST, &live, now_ms), POST_NOTHING);
    const struct post_now banned = {.exists = false, .banned = true}, own = {.exists = true, .banned = true};
    assert_int_equal(post_decide(POST_COMMAND_POST, &banned, now_ms), POST_NOTHING);
    assert_int_equal(post_decide(POST_COMMAND_DELETE, &own, now_ms),
                     POST_REMOVE); // a ban takes nobody's own posts away from them
    assert_int_equal(post_decide(POST_COMMAND_POST, &gone, now_ms + 2 * day), POST_NOTHING); // its key is not free yet
    assert_int_equal(post_decide(POST_COMMAND_DELETE, &none, now_ms), POST_NOTHING);
    assert_int_equal(post_decide(POST_COMMAND_DELETE, &live, now_ms), POST_REMOVE);
    assert_int_equal(post_decide(POST_COMMAND_DELETE, &gone, now_ms), POST_NOTHING);
    assert_int_equal(post_decide(POST_COMMAND_FORGET, &none, now_ms + day), POST_NOTHING);
    assert_int_equal(post_decide(POST_COMMAND_FORGET, &live, now_ms + day), POST_NOTHING);
    assert_int_equal(post_decide(POST_COMMAND_FORGET, &gone, now_ms - day), POST_NOTHING);
    assert_int_equal(post_decide(POST_COMMAND_FORGET, &gone, now_ms + day - 1), POST_NOTHING);
    assert_int_equal(post_decide(POST_COMMAND_FORGET, &gone, now_ms + day), POST_FORGET);
}

TEST(moderators_decide) {
    const struct post_now none = {.exists = false}, shown = {.exists = true}, hidden = {.exists = true, .hidden = true},
                          gone = {.exists = true, .deleted = 1, .hidden = true};
    assert_int_equal(post_decide(POST_COMMAND_HIDE, &shown, 0), POST_HIDE);
    assert_int_equal(post_decide(POST_COMMAND_RESTORE, &hidden, 0), POST_SHOW);
    assert_int_equal(post_decide(POST_COMMAND_DELETE, &hidden, 0), POST_REMOVE);
    const enum post_command_kind kinds[] = {POST_COMMAND_HIDE, POST_COMMAND_RESTORE};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(post_decide(kinds[i], &none, 0), POST_NOTHING);
        assert_int_equal(post_decide(kinds[i], &gone, 0), POST_NOTHING);
        assert_int_equal(post_decide(kinds[i], i ? &shown : &hidden, 0), POST_NOTHING);
        struct post_command command = {.kind = kinds[i], .user = 1, .id = 2, .editor = 9, .reason = {"rude", 4}};
        assert_null(post_command_complaint(&command));
        command.editor = -1;
        assert_non_null(post_command_complaint(&command));
    }
    const struct post_now held = {.exists = true, .hidden = true, .held = true};
    assert_int_equal(post_decide(POST_COMMAND_HIDE, &held, 0), POST_HIDE);
    assert_int_equal(post_decide(POST_COMMAND_RESTORE, &held, 0), POST_SHOW);
    struct post_now edited = {.exists = true, .hidden = true, .version = 1, .read = 1};
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &edited, 0), POST_NOTHING); // its author may not
    edited.moderator = true;
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &edited, 0), POST_EDIT);
}

TEST(edits_are_decided) {
    struct post_now now = {.exists = true, .version = 3, .read = 3};
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_EDIT);
    now.read = 2;
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_NOTHING);
    now.read = 4;
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_NOTHING);
    now.version = now.read = EDIT_VERSIONS_MAX;
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_NOTHING);
    now.version = now.read = EDIT_VERSIONS_MAX - 1;
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_EDIT);
    now.banned = true;
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_NOTHING);
    now.banned = false;
    now.deleted = 1;
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_NOTHING);
    now = (struct post_now){.exists = false, .read = 1};
    assert_int_equal(post_decide(POST_COMMAND_EDIT, &now, 0), POST_NOTHING);
    struct post_command edit = {.kind = POST_COMMAND_EDIT, .user = 1, .id = 2, .version = 1, .text = {"new", 3}};
    assert_null(post_command_complaint(&edit));
    edit.text.size = 0;
    assert_non_null(post_command_complaint(&edit));
    edit.text.size = 3;
    edit.version = 0;
    assert_non_null(post_command_complaint(&edit));
    edit.version = 1;
    edit.id = 0;
    assert_non_null(post_command_complaint(&edit));
    edit.id = 2;
    edit.kind = POST_COMMAND_DELETE;
    assert_non_null(post_command_complaint(&edit));
}

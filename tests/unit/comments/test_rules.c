/* The rules of comments: floors, counters, who may do what, and what is refused. */
#include "comments/rules.h"
#include "unit/kit/kit.h"

enum { OWNER = 1, AUTHOR = 2, OTHER = 3 };

static const struct event_text SUBJECT = {"post:1", 6}, KEY = {"k", 1}, TEXT = {"hello", 5};

static struct comment_command command_of(enum comment_command_kind kind, int64_t user) {
    return (struct comment_command){.kind = kind,
                                    .subject = SUBJECT,
                                    .key = KEY,
                                    .text = TEXT,
                                    .user = user,
                                    .comment = 10,
                                    .owner = OWNER,
                                    .version = kind == COMMENT_COMMAND_EDIT};
}

static struct thread registered(void) { return (struct thread){.registered = true, .subject = {.owner = OWNER}}; }

/* A subject with the visible root 10, of AUTHOR. */
static struct thread with_root(void) {
    struct thread thread = registered();
    thread.subject.roots = 1;
    thread.subject.visible = 1;
    thread.about = (struct comment_place){.id = 10, .comment = {.user = AUTHOR, .floor = 1, .version = 1}};
    return thread;
}

/* The reply 12 answers the reply 11, under root 10. */
static struct thread with_reply(void) {
    struct thread thread = with_root();
    thread.root = thread.about;
    thread.root.comment.floors = 2;
    thread.root.comment.replies = 2;
    thread.answered = (struct comment_place){
        .id = 11, .comment = {.user = OTHER, .floor = 1, .root = 10, .answers = 10, .replies = 1}};
    thread.about = (struct comment_place){.id = 12, .comment = {.user = AUTHOR, .floor = 2, .root = 10, .answers = 11}};
    thread.subject.visible = 3;
    return thread;
}

TEST(roots_get_the_next_floor) {
    struct thread thread = with_root();
    thread.about.id = 0;
    struct comment_command command = command_of(COMMENT_COMMAND_POST, OTHER);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_true(thread.made.changed && thread.subject_changed);
    assert_int_equal(thread.made.comment.floor, 2);
    assert_int_equal(thread.made.comment.root, 0);
    assert_int_equal(thread.subject.roots, 2);
    assert_int_equal(thread.subject.visible, 2);
    assert_int_equal(thread.subject.structure, 1);
}

TEST(replies_are_numbered_under_their_root) {
    struct thread thread = with_root();
    struct comment_command command = command_of(COMMENT_COMMAND_REPLY, OTHER);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.made.comment.floor, 1);
    assert_int_equal(thread.made.comment.root, 10);
    assert_int_equal(thread.made.comment.answers, 10);
    assert_true(thread.about.changed);
    assert_int_equal(thread.about.comment.floors, 1);
    assert_int_equal(thread.about.comment.replies, 1);
    assert_int_equal(thread.subject.roots, 1);
}

TEST(a_reply_to_a_reply_has_the_same_root) {
    struct thread thread = with_reply();
    struct comment_command command = command_of(COMMENT_COMMAND_REPLY, OTHER);
    command.comment = 12;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.made.comment.floor, 3);
    assert_int_equal(thread.made.comment.root, 10);
    assert_int_equal(thread.made.comment.answers, 12);
    assert_int_equal(thread.root.comment.replies, 3);
    assert_int_equal(thread.about.comment.replies, 1);
    assert_false(thread.answered.changed);
    assert_int_equal(thread.subject.visible, 4);
}

TEST(a_hidden_reply_is_counted_nowhere) {
    struct thread thread = with_reply();
    struct comment_command command = command_of(COMMENT_COMMAND_HIDE, 99);
    command.role = COMMENT_COMMAND_MODERATOR;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.about.comment.state, COMMENT_HIDDEN);
    assert_int_equal(thread.root.comment.replies, 1);
    assert_int_equal(thread.answered.comment.replies, 0);
    assert_int_equal(thread.subject.visible, 2);
    assert_int_equal(thread.root.comment.floors, 2);
    command.kind = COMMENT_COMMAND_RESTORE;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.root.comment.replies, 2);
    assert_int_equal(thread.answered.comment.replies, 1);
    assert_int_equal(thread.subject.visible, 3);
}

TEST(likes_count_each_user_once) {
    struct thread thread = with_root();
    struct comment_command command = command_of(COMMENT_COMMAND_LIKE, AUTHOR);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_true(thread.reaction_changed && thread.likes);
    thread.reaction_changed = false;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_false(thread.reaction_changed);
    assert_int_equal(thread.about.comment.likes, 1);
    assert_int_equal(thread.subject.counters, 1);
    assert_int_equal(thread.subject.structure, 0);
    command.kind = COMMENT_COMMAND_UNLIKE;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.about.comment.likes, 0);
    assert_int_equal(thread.subject.counters, 2);
}

TEST(a_subject_itself_is_reported) {
    struct thread thread = {.registered = false};
    struct comment_command command = command_of(COMMENT_COMMAND_REPORT, OTHER);
    command.comment = 0;
    assert_null(comment_command_complaint(&command));
    command.owner = -1;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_NO_SUBJECT);
    command.owner = OWNER;
    for (int i = 0; i < 2; i++) {
        thread.reaction_changed = false;
        assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
        assert_true(thread.reported && thread.reaction_changed == !i); // each user once
        assert_false(thread.registered || thread.subject_changed || thread.likes);
    }
}

TEST(a_subject_itself_is_liked) {
    struct thread thread = {.registered = false};
    struct comment_command command = command_of(COMMENT_COMMAND_LIKE, AUTHOR);
    command.comment = 0;
    assert_null(comment_command_complaint(&command));
    command.owner = -1;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_NO_SUBJECT);
    command.owner = OWNER;
    command.blocked = true;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_BLOCKED);
    command.blocked = false;
    thread.banned = true;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_BANNED);
    thread.banned = false;
    command.kind = COMMENT_COMMAND_UNLIKE;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_false(thread.registered || thread.subject_changed || thread.reaction_changed);
    command.kind = COMMENT_COMMAND_LIKE;
    for (int i = 0; i < 2; i++) { // the second one does nothing
        assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
        assert_true(thread.registered && thread.likes && thread.subject_changed && thread.reaction_changed);
        assert_int_equal(thread.subject.owner, OWNER);
        assert_int_equal(thread.subject.likes, 1);
        assert_int_equal(thread.subject.counters, 1);
        assert_int_equal(thread.subject.structure, 1);
    }
    command.kind = COMMENT_COMMAND_UNLIKE;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
        assert_false(thread.likes || thread.about.changed);
        assert_int_equal(thread.subject.likes, 0);
        assert_int_equal(thread.subject.counters, 2);
    }
    thread.subject.closed = true; // to comments
    command.kind = COMMENT_COMMAND_LIKE;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
}

/* Decides a command of that kind and sender on a copy of the thread. */
static int decided(struct thread thread, enum comment_command_kind kind, int64_t user, enum comment_command_role role) {
    struct comment_command command = command_of(kind, user);
    command.role = role;
    return thread_decide(&command, &thread);
}

TEST(who_may_do_what) {
    enum { NO = COMMENT_REFUSAL_NOT_YOURS, YES = THREAD_DONE };
    static const struct {
        enum comment_command_kind kind;
        int other, author, owner, moderator, service;
    } CASES[] = {
        {COMMENT_COMMAND_DELETE, NO, YES, YES, YES, NO}, {COMMENT_COMMAND_PIN, NO, NO, YES, YES, NO},
        {COMMENT_COMMAND_UNPIN, NO, NO, YES, YES, NO},   {COMMENT_COMMAND_HIDE, NO, NO, NO, YES, NO},
        {COMMENT_COMMAND_RESTORE, NO, NO, NO, YES, NO},  {COMMENT_COMMAND_APPROVE, NO, NO, NO, YES, NO},
        {COMMENT_COMMAND_CLOSE, NO, NO, YES, YES, YES},  {COMMENT_COMMAND_OPEN, NO, NO, YES, YES, YES},
        {COMMENT_COMMAND_REGISTER, NO, NO, NO, NO, YES}, {COMMENT_COMMAND_EDIT, NO, YES, NO, YES, NO},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        enum comment_command_kind kind = CASES[i].kind;
        assert_int_equal(decided(with_root(), kind, OTHER, COMMENT_COMMAND_USER), CASES[i].other);
        assert_int_equal(decided(with_root(), kind, AUTHOR, COMMENT_COMMAND_USER), CASES[i].author);
        assert_int_equal(decided(with_root(), kind, OWNER, COMMENT_COMMAND_USER), CASES[i].owner);
        assert_int_equal(decided(with_root(), kind, OTHER, COMMENT_COMMAND_MODERATOR), CASES[i].moderator);
        assert_int_equal(decided(with_root(), kind, AUTHOR, COMMENT_COMMAND_SERVICE), CASES[i].service);
    }
}

TEST(who_may_write) {
    struct comment_command command = command_of(COMMENT_COMMAND_POST, OTHER);
    struct thread base = registered(), thread;
#define WRITES(EXPECTED) (thread = base, assert_int_equal(thread_decide(&command, &thread), EXPECTED))
    WRITES(THREAD_DONE);
    base.subject.who_may = COMMENT_SUBJECT_FOLLOWERS;
    WRITES(THREAD_OLD_FACTS); // the gateway has not asked whether the user follows the owner
    command.who_may = COMMENT_COMMAND_FOLLOWERS;
    WRITES(COMMENT_REFUSAL_NOT_ALLOWED);
    command.follows = true;
    WRITES(THREAD_DONE);
    command.owner = 77; // the gateway asked about somebody else
    WRITES(THREAD_OLD_FACTS);
    base.subject.who_may = COMMENT_SUBJECT_NOBODY;
    WRITES(COMMENT_REFUSAL_NOT_ALLOWED);
    command.owner = OWNER;
    base.subject.who_may = COMMENT_SUBJECT_FRIENDS;
    WRITES(COMMENT_REFUSAL_NOT_ALLOWED);
    command.friends = true;
    WRITES(THREAD_DONE);
    base.subject.level = 3;
    WRITES(COMMENT_REFUSAL_LEVEL);
    command.level = 3;
    WRITES(THREAD_DONE);
    base.subject.who_may = COMMENT_SUBJECT_NOBODY;
    WRITES(COMMENT_REFUSAL_NOT_ALLOWED);
    command.user = OWNER;
    WRITES(THREAD_DONE);
    command.blocked = true;
    WRITES(COMMENT_REFUSAL_BLOCKED);
    base.banned = true;
    WRITES(COMMENT_REFUSAL_BANNED);
    base.subject.closed = true;
    WRITES(COMMENT_REFUSAL_CLOSED);
#undef WRITES
}

/* Whether the user may write so long after the first comment. */
static int writes_at(struct thread *thread, enum comment_command_role role, int64_t ms) {
    struct comment_command command = command_of(COMMENT_COMMAND_POST, OTHER);
    command.role = role;
    thread->now_ms = 5000 + ms;
    return thread_decide(&command, thread);
}

TEST(a_burst_and_then_one_an_interval) {
    struct thread thread = registered();
    thread.rate = (struct comment_rate){.interval_ms = 100, .burst = 3};
    for (int i = 0; i < 3; i++) assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 0), THREAD_DONE);
    assert_int_equal(thread.rested_at, 5300);
    assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 30), THREAD_TOO_FAST);
    assert_int_equal(thread.wait_ms, 70);
    assert_int_equal(thread.rested_at, 5300); // it does not count
    assert_int_equal(thread.subject.roots, 3);
    assert_int_equal(writes_at(&thread, COMMENT_COMMAND_SERVICE, 30), THREAD_DONE);
    assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 99), THREAD_TOO_FAST);
    assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 100), THREAD_DONE);
    assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 100), THREAD_TOO_FAST);
    assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 1000), THREAD_DONE); // rested
    assert_int_equal(thread.rested_at, 6100);
    assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 900), THREAD_DONE); // clocks may go back
    assert_int_equal(thread.rested_at, 6200);
    thread.rate.interval_ms = 0;
    for (int i = 0; i < 9; i++) assert_int_equal(writes_at(&thread, COMMENT_COMMAND_USER, 900), THREAD_DONE);
}

TEST(review_holds_comments_of_all_but_the_owner) {
    struct thread thread = registered();
    thread.subject.review = COMMENT_SUBJECT_BEFORE;
    struct comment_command command = command_of(COMMENT_COMMAND_POST, OTHER);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.made.comment.state, COMMENT_HELD);
    assert_int_equal(thread.subject.held, 1);
    assert_int_equal(thread.subject.visible, 0);
    thread.about = thread.made;
    thread.about.id = 10;
    assert_int_equal(decided(thread, COMMENT_COMMAND_LIKE, AUTHOR, COMMENT_COMMAND_USER), COMMENT_REFUSAL_NOT_VISIBLE);
    assert_int_equal(decided(thread, COMMENT_COMMAND_REPLY, AUTHOR, COMMENT_COMMAND_USER), COMMENT_REFUSAL_NOT_VISIBLE);
    command = command_of(COMMENT_COMMAND_APPROVE, 99);
    command.role = COMMENT_COMMAND_MODERATOR;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.about.comment.state, COMMENT_VISIBLE);
    assert_int_equal(thread.subject.held, 0);
    assert_int_equal(thread.subject.visible, 1);
    command = command_of(COMMENT_COMMAND_POST, OWNER);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.made.comment.state, COMMENT_VISIBLE);
    assert_int_equal(thread.made.comment.floor, 2);
    command.state = COMMENT_COMMAND_HELD; // for what its text says
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.made.comment.state, COMMENT_HELD);
    assert_int_equal(thread.subject.held, 1);
}

TEST(a_deleted_comment_keeps_its_floor_and_its_replies) {
    struct thread thread = with_reply();
    thread.about = thread.root;
    thread.root = thread.answered = (struct comment_place){.id = 0};
    thread.subject.pins = 1;
    thread.subject.pinned[0] = 10;
    struct comment_command command = command_of(COMMENT_COMMAND_DELETE, AUTHOR);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.about.comment.state, COMMENT_DELETED);
    assert_int_equal(thread.about.comment.floor, 1);
    assert_int_equal(thread.about.comment.replies, 2);
    assert_int_equal(thread.subject.visible, 2);
    assert_int_equal(thread.subject.pins, 0);
    int64_t structure = thread.subject.structure;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.subject.structure, structure);
    command.user = OTHER;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_NOT_YOURS);
    assert_int_equal(decided(thread, COMMENT_COMMAND_RESTORE, 9, COMMENT_COMMAND_MODERATOR),
                     COMMENT_REFUSAL_NOT_VISIBLE);
}

TEST(ten_roots_can_be_pinned) {
    struct thread thread = with_root();
    struct comment_command command = command_of(COMMENT_COMMAND_PIN, OWNER);
    for (int64_t id = 10; id < 20; id++) {
        thread.about.id = id;
        assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
        assert_int_equal(thread.subject.pinned[0], id);
    }
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    thread.about.id = 20;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_PINS);
    command.kind = COMMENT_COMMAND_UNPIN;
    thread.about.id = 15;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.subject.pins, 9);
    assert_int_equal(thread.subject.pinned[4], 14);
    struct thread reply = with_reply();
    command.kind = COMMENT_COMMAND_PIN;
    assert_int_equal(thread_decide(&command, &reply), COMMENT_REFUSAL_NO_ROOT);
}

TEST(reports_count_each_user_once) {
    struct thread thread = with_root();
    struct comment_command command = command_of(COMMENT_COMMAND_REPORT, OTHER);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.about.comment.reports, 1);
    assert_int_equal(thread.subject.structure, 0);
}

TEST(subjects_must_be_registered) {
    for (int kind = COMMENT_COMMAND_POST; kind <= COMMENT_COMMAND_OPEN; kind++) {
        struct thread thread = {.registered = false};
        struct comment_command command = command_of((enum comment_command_kind)kind, OTHER);
        command.owner = -1;
        assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_NO_SUBJECT);
    }
    struct thread thread = {.registered = false};
    struct comment_command command = command_of(COMMENT_COMMAND_POST, OTHER);
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE); // the gateway knows the post's owner
    assert_true(thread.registered);
    assert_int_equal(thread.subject.owner, OWNER);
}

TEST(a_registration_changes_what_it_names) {
    struct thread thread = {.registered = false};
    struct comment_command command = command_of(COMMENT_COMMAND_REGISTER, 0);
    command.role = COMMENT_COMMAND_SERVICE;
    command.who_may = COMMENT_COMMAND_SAME_WHO;
    command.review = COMMENT_COMMAND_BEFORE;
    command.closing = COMMENT_COMMAND_SAME_CLOSING;
    command.owner = -1;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_NO_SUBJECT);
    command.owner = 5;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.subject.owner, 5);
    assert_int_equal(thread.subject.review, COMMENT_SUBJECT_BEFORE);
    command = (struct comment_command){.kind = COMMENT_COMMAND_REGISTER,
                                       .role = COMMENT_COMMAND_SERVICE,
                                       .owner = -1,
                                       .level = -1,
                                       .who_may = COMMENT_COMMAND_NOBODY,
                                       .review = COMMENT_COMMAND_SAME_REVIEW,
                                       .closing = COMMENT_COMMAND_CLOSED};
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.subject.owner, 5);
    assert_int_equal(thread.subject.who_may, COMMENT_SUBJECT_NOBODY);
    assert_true(thread.subject.closed);
    int64_t structure = thread.subject.structure;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.subject.structure, structure);
}

TEST(a_refusal_changes_nothing) {
    for (int kind = COMMENT_COMMAND_POST; kind <= COMMENT_COMMAND_REGISTER; kind++) {
        struct thread thread = with_reply();
        thread.subject.closed = true;
        thread.about.comment.state = COMMENT_HIDDEN;
        struct thread before = thread;
        struct comment_command command = command_of((enum comment_command_kind)kind, OTHER);
        if (thread_decide(&command, &thread) != THREAD_DONE) assert_memory_equal(&before, &thread, sizeof thread);
    }
}

/* A closed subject, a banned author and a hidden parent stand in nobody's way who imports. */
TEST(an_import_comes_with_its_time_and_state) {
    struct thread thread = with_root();
    thread.subject.closed = thread.banned = true;
    thread.about.comment.state = COMMENT_HIDDEN;
    thread.subject.visible = 0;
    struct comment_command command = command_of(COMMENT_COMMAND_REPLY, OTHER);
    command.role = COMMENT_COMMAND_SERVICE;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_NOT_VISIBLE);
    command.written = 1234;
    command.state = COMMENT_COMMAND_HELD;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.made.comment.time, 1234);
    assert_int_equal(comment_time(10, &thread.made.comment), 1234);
    assert_int_equal(thread.made.comment.state, COMMENT_HELD);
    assert_int_equal(thread.subject.held, 1);
    assert_int_equal(thread.subject.visible, 0);
    command.state = COMMENT_COMMAND_VISIBLE;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.subject.visible, 1);
    assert_int_equal(thread.about.comment.replies, 1);
    command.kind = COMMENT_COMMAND_LIKE;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.about.comment.likes, 1);
}

TEST(complaints) {
    struct comment_command good = command_of(COMMENT_COMMAND_REPLY, OTHER);
    static char large[COMMENT_TEXT_POINTS_MAX + 1];
    memset(large, 'x', sizeof large);
    assert_null(comment_command_complaint(&good));
#define BAD(...)                                                                                                       \
    do {                                                                                                               \
        struct comment_command bad = good;                                                                             \
        __VA_ARGS__;                                                                                                   \
        assert_non_null(comment_command_complaint(&bad));                                                              \
    } while (0)
    BAD(bad.subject = (struct event_text){"post", 4});
    BAD(bad.user = -1);
    BAD(bad.version = 1);
    BAD(bad.reason = TEXT);
    BAD(bad.key.size = 0);
    BAD(bad.key = (struct event_text){large, COMMENT_CLIENT_KEY_MAX + 1});
    BAD(bad.comment = 0);
    BAD(bad.kind = COMMENT_COMMAND_POST);
    BAD(bad.text.size = 0);
    BAD(bad.text = (struct event_text){large, sizeof large});
    BAD(bad.text = (struct event_text){"\xff", 1});
    BAD(bad.text = (struct event_text){"a\0b", 3});
    BAD(bad.kind = COMMENT_COMMAND_REPORT; bad.text = (struct event_text){large, COMMENT_REASON_POINTS_MAX + 1});
    BAD(bad.mentions = (struct event_longs){(const int64_t[]){-1}, 1});
    BAD(bad.mentions = (struct event_longs){(const int64_t[11]){0}, 11});
    BAD(bad.written = 1);
    BAD(bad.role = COMMENT_COMMAND_SERVICE; bad.written = -1);
    BAD(bad.comment = 0; bad.named_key = KEY);
    good.role = COMMENT_COMMAND_SERVICE;
    good.written = 1;
    BAD(bad.named_key = KEY);
    BAD(bad.comment = 0; bad.named_key = (struct event_text){large, COMMENT_CLIENT_KEY_MAX + 1});
    BAD(bad.state = COMMENT_COMMAND_DELETED);
    good.comment = 0;
    good.named_key = KEY;
    assert_null(comment_command_complaint(&good));
    good.state = COMMENT_COMMAND_DELETED;
    BAD(bad.state = COMMENT_COMMAND_HIDDEN; bad.text.size = 0);
    good.text.size = 0;
    assert_null(comment_command_complaint(&good));
    good.state = COMMENT_COMMAND_VISIBLE;
    good.text = (struct event_text){large, COMMENT_TEXT_POINTS_MAX};
    assert_null(comment_command_complaint(&good));
#undef BAD
}

TEST(an_edit_makes_the_next_version) {
    struct thread thread = with_root();
    struct comment_command command = command_of(COMMENT_COMMAND_EDIT, AUTHOR);
    thread.now_ms = 1234;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_true(thread.edited && thread.about.changed && thread.subject_changed);
    assert_int_equal(thread.about.comment.version, 2);
    assert_int_equal(thread.about.comment.edited, 1234);
    assert_int_equal(thread.subject.structure, 1);
    // The same once more is no other edit; whoever else has not read it gets another word.
    thread.repeats = true;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    thread.repeats = false;
    assert_int_equal(thread.about.comment.version, 2);
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_OLD_VERSION);
    command.version = 3;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_OLD_VERSION);
    assert_int_equal(thread.about.comment.version, 2);
    thread.about.comment.version = command.version = EDIT_VERSIONS_MAX;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_EDITS);
    command.role = COMMENT_COMMAND_MODERATOR;
    assert_int_equal(thread_decide(&command, &thread), COMMENT_REFUSAL_EDITS);
}

static int edited(enum comment_state state, bool review, bool banned, int64_t user, bool moderator) {
    struct thread thread = with_root();
    thread.about.comment.state = state;
    thread.subject.review = review ? COMMENT_SUBJECT_BEFORE : COMMENT_SUBJECT_AFTER;
    thread.banned = banned;
    return decided(thread, COMMENT_COMMAND_EDIT, user, moderator ? COMMENT_COMMAND_MODERATOR : COMMENT_COMMAND_USER);
}

TEST(which_comments_are_edited) {
    enum { AFTER = false, BEFORE = true, USER = false, MODERATOR = true, HIDDEN = COMMENT_REFUSAL_NOT_VISIBLE };
    assert_int_equal(edited(COMMENT_VISIBLE, AFTER, true, AUTHOR, USER), COMMENT_REFUSAL_BANNED);
    assert_int_equal(edited(COMMENT_VISIBLE, AFTER, true, AUTHOR, MODERATOR), THREAD_DONE);
    assert_int_equal(edited(COMMENT_HIDDEN, AFTER, false, AUTHOR, USER), HIDDEN);
    assert_int_equal(edited(COMMENT_HIDDEN, AFTER, false, 99, MODERATOR), THREAD_DONE);
    assert_int_equal(edited(COMMENT_DELETED, AFTER, false, AUTHOR, USER), HIDDEN);
    assert_int_equal(edited(COMMENT_DELETED, AFTER, false, 99, MODERATOR), HIDDEN);
    // An approved comment stays as it is; one that waits may still change.
    assert_int_equal(edited(COMMENT_VISIBLE, BEFORE, false, AUTHOR, USER), COMMENT_REFUSAL_NOT_ALLOWED);
    assert_int_equal(edited(COMMENT_VISIBLE, BEFORE, false, 99, MODERATOR), THREAD_DONE);
    assert_int_equal(edited(COMMENT_HELD, BEFORE, false, AUTHOR, USER), THREAD_DONE);
}

/* Edits and new comments come out of the same burst. */
TEST(edits_take_their_turn) {
    struct thread thread = with_root();
    struct comment_command command = command_of(COMMENT_COMMAND_EDIT, AUTHOR);
    thread.rate = (struct comment_rate){.interval_ms = 1000, .burst = 2};
    thread.now_ms = 5000;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    command.version = 2;
    assert_int_equal(thread_decide(&command, &thread), THREAD_DONE);
    assert_int_equal(thread.rested_at, 7000);
    command.version = 3;
    assert_int_equal(thread_decide(&command, &thread), THREAD_TOO_FAST);
    assert_int_equal(thread.wait_ms, 1000);
    assert_int_equal(thread.about.comment.version, 3);
}

TEST(those_who_were_told_are_told_of_no_edit) {
    static const int64_t BEFORE[] = {7, 8, 7}, NOW[] = {9, 8, 10};
    struct edit_mentions all;
    edit_mentions_of(&all, &(struct event_longs){BEFORE, 3}, &(struct event_longs){NOW, 3});
    assert_int_equal(all.told, 2);
    assert_int_equal(all.count, 4);
    assert_int_equal(all.users[2], 9);
    assert_int_equal(all.users[3], 10);
    int64_t many[EDIT_TOLD_MAX];
    for (int64_t i = 0; i < EDIT_TOLD_MAX; i++) many[i] = 100 + i;
    edit_mentions_of(&all, &(struct event_longs){many, EDIT_TOLD_MAX}, &(struct event_longs){NOW, 3});
    assert_int_equal(all.told, EDIT_TOLD_MAX);
    assert_int_equal(all.count, EDIT_TOLD_MAX);
}

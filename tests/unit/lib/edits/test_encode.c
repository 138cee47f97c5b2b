/* Records that edits have changed, as they are written: what a version before edits can say is of that version, so that the last release reads
 * it. */
#include "edits/encode.h"
#include "base/bytes.h"
#include "unit/kit/kit.h"

enum { ITEMS = 3 };

/* In the schema `older` unless it says an edit; and it is read as it was, wherever in the buffer it lies. */
#define ASSERT_WRITTEN(NAME, record, older)                                                                            \
    do {                                                                                                               \
        FREED_BUFFER value = {.size = 0};                                                                              \
        FREED_BUFFER same = {.size = 0};                                                                               \
        FREED_BUFFER again = {.size = 0};                                                                              \
        struct NAME read;                                                                                              \
        buffer_string(&value, "before");                                                                               \
        edit_encode_##NAME(&value, record);                                                                            \
        const uint8_t *bytes = value.data + 6;                                                                         \
        assert_memory_equal(value.data, "before", 6);                                                                  \
        assert_int_equal(bytes_get_be32(bytes + 1), older);                                                            \
        if (event_decode_##NAME(kit_codec(), bytes, value.size - 6, &read, &failure)) fail_msg("%s", failure.text);    \
        event_encode_##NAME(&same, record);                                                                            \
        event_encode_##NAME(&again, &read);                                                                            \
        assert_int_equal(again.size, same.size);                                                                       \
        assert_memory_equal(again.data, same.data, same.size);                                                         \
    } while (0)

static const int64_t USERS[] = {12, 1 << 20};
static const struct event_text TEXTS[ITEMS] = {{"a", 1}, {"", 0}, {"友", 3}};

TEST(a_comment) {
    struct comment comment = {.user = 300, .floor = 1, .likes = 70, .time = 5, .version = 1};
    struct comment_text text = {.text = TEXTS[2],
                                .user = 300,
                                .key = {"k", 1},
                                .mentions = {USERS, 2},
                                .rested_at = 7,
                                .version = 1,
                                .editor = -1};
    ASSERT_WRITTEN(comment, &comment, 51);
    ASSERT_WRITTEN(comment_text, &text, 46);
    comment.version = text.version = 2;
    ASSERT_WRITTEN(comment, &comment, COMMENT_SCHEMA_ID);
    ASSERT_WRITTEN(comment_text, &text, COMMENT_TEXT_SCHEMA_ID);
    comment.version = text.version = 1;
    comment.edited = text.edited = 5;
    ASSERT_WRITTEN(comment, &comment, COMMENT_SCHEMA_ID);
    ASSERT_WRITTEN(comment_text, &text, COMMENT_TEXT_SCHEMA_ID);
    text.edited = 0;
    text.level = 1;
    ASSERT_WRITTEN(comment_text, &text, COMMENT_TEXT_SCHEMA_ID);
    text.level = 0;
    text.editor = 0;
    ASSERT_WRITTEN(comment_text, &text, COMMENT_TEXT_SCHEMA_ID);
}

TEST(a_post) {
    struct post_text text = {.text = TEXTS[0], .media = {TEXTS, ITEMS}, .version = 1, .editor = -1};
    ASSERT_WRITTEN(post_text, &text, 18);
    text.mentions = (struct event_longs){USERS, 2};
    ASSERT_WRITTEN(post_text, &text, POST_TEXT_SCHEMA_ID);
    text = (struct post_text){.text = TEXTS[0], .version = 2, .editor = -1};
    ASSERT_WRITTEN(post_text, &text, POST_TEXT_SCHEMA_ID);
    text = (struct post_text){.text = TEXTS[0], .version = 1, .edited = 9, .editor = -1};
    ASSERT_WRITTEN(post_text, &text, POST_TEXT_SCHEMA_ID);
    text = (struct post_text){.text = TEXTS[0], .version = 1, .editor = 0};
    ASSERT_WRITTEN(post_text, &text, POST_TEXT_SCHEMA_ID);
}

TEST(whether_a_post_is_shown) {
    struct post post = {.state = POST_LIVE, .key = {"k", 1}};
    ASSERT_WRITTEN(post, &post, 17);
    post.moderated = 2;
    ASSERT_WRITTEN(post, &post, POST_SCHEMA_ID);
    post = (struct post){.state = POST_HIDDEN, .key = {"k", 1}, .moderated = 1};
    ASSERT_WRITTEN(post, &post, POST_SCHEMA_ID);
    post = (struct post){.state = POST_HELD};
    ASSERT_WRITTEN(post, &post, POST_SCHEMA_ID);
    post = (struct post){.state = POST_DELETED, .deleted = 9};
    ASSERT_WRITTEN(post, &post, 17);
}

TEST(commands) {
    for (int kind = COMMENT_COMMAND_POST; kind <= COMMENT_COMMAND_EDIT; kind++) {
        bool edits = kind == COMMENT_COMMAND_EDIT;
        struct comment_command command = {.kind = (enum comment_command_kind)kind,
                                          .subject = {"post:1", 6},
                                          .key = {"k", 1},
                                          .text = TEXTS[2],
                                          .mentions = {USERS, 2},
                                          .named_key = {"named", 5},
                                          .version = edits ? 3 : 0,
                                          .reason = edits ? TEXTS[0] : TEXTS[1]};
        ASSERT_WRITTEN(comment_command, &command, edits ? COMMENT_COMMAND_SCHEMA_ID : 50);
    }
    for (int kind = POST_COMMAND_POST; kind <= POST_COMMAND_EDIT; kind++) {
        bool edits = kind == POST_COMMAND_EDIT;
        struct post_command command = {.kind = (enum post_command_kind)kind,
                                       .user = 7,
                                       .id = 9,
                                       .key = {"k", 1},
                                       .text = TEXTS[2],
                                       .mentions = {USERS, 2},
                                       .version = edits ? 3 : 0,
                                       .editor = -1,
                                       .reason = edits ? TEXTS[0] : TEXTS[1]};
        ASSERT_WRITTEN(post_command, &command, edits ? 116 : 25);
        command.held = true;
        ASSERT_WRITTEN(post_command, &command, POST_COMMAND_SCHEMA_ID);
    }
    for (int kind = POST_COMMAND_DELETE; kind <= POST_COMMAND_RESTORE; kind++) {
        struct post_command command = {
            .kind = (enum post_command_kind)kind, .user = 7, .id = 9, .editor = 8, .reason = TEXTS[0]};
        bool decides = kind != POST_COMMAND_FORGET && kind != POST_COMMAND_EDIT;
        if (decides) ASSERT_WRITTEN(post_command, &command, POST_COMMAND_SCHEMA_ID);
    }
}

TEST(refusals_and_the_log) {
    for (int reason = 0; reason <= COMMENT_REFUSAL_EDITS; reason++) {
        struct comment_refusal refusal = {
            .command = 5, .user = 7, .key = {"k", 1}, .reason = (enum comment_refusal_reason)reason};
        ASSERT_WRITTEN(comment_refusal, &refusal, reason > COMMENT_REFUSAL_PINS ? COMMENT_REFUSAL_SCHEMA_ID : 37);
    }
    for (int what = 0; what <= MODERATION_ENTRY_EDIT; what++) {
        struct moderation_entry entry = {
            .what = (enum moderation_entry_what)what, .user = 7, .reason = TEXTS[0], .until = 8};
        ASSERT_WRITTEN(moderation_entry, &entry, what == MODERATION_ENTRY_EDIT ? MODERATION_ENTRY_SCHEMA_ID : 52);
    }
}

TEST(what_edges_are_told) {
    struct changed_comment items[ITEMS];
    struct added_post posts[ITEMS];
    const struct changed_counters counters[] = {{.id = 7, .likes = 300, .replies = 2}};
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (struct changed_comment){.id = INT64_C(1) << (i * 20),
                                            .user = i * 1000,
                                            .state = COMMENT_CHANGE_DELETED,
                                            .time = INT64_C(1780000000000) + i,
                                            .floor = i,
                                            .likes = 70 * i,
                                            .replies = i,
                                            .version = 1};
        posts[i] = (struct added_post){.author = i * 1000, .id = INT64_C(1) << (i * 20), .version = 1};
    }
    for (size_t count = 0; count <= ITEMS; count += ITEMS) {
        struct comment_change change = {.since = 200,
                                        .version = INT64_C(1) << 40,
                                        .total = 90,
                                        .items = {items, count},
                                        .texts = {TEXTS, count},
                                        .gone = {USERS, 2},
                                        .counters = {counters, 1}};
        const struct feed_change feed = {.posts = {posts, count}, .gone = {USERS, 2}};
        ASSERT_WRITTEN(comment_change, &change, 45);
        change.likes = 5;
        ASSERT_WRITTEN(comment_change, &change, 101);
        ASSERT_WRITTEN(feed_change, &feed, 20);
    }
    items[1].version = posts[1].version = 2;
    items[1].edited = INT64_C(1780000000009);
    for (size_t count = 1; count <= 2; count++) { // the edited one is not among them, and then it is
        const struct comment_change change = {.items = {items, count}, .texts = {TEXTS, count}};
        const struct feed_change feed = {.posts = {posts, count}};
        ASSERT_WRITTEN(comment_change, &change, count == 1 ? 45 : COMMENT_CHANGE_SCHEMA_ID);
        ASSERT_WRITTEN(feed_change, &feed, count == 1 ? 20 : FEED_CHANGE_SCHEMA_ID);
    }
}

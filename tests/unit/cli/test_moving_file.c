/* Tests moving_file.c, comments_records.c and moving.c. Comments that move here: lines of JSON become the commands of an import. */
#include "cli/comments_records.h"
#include "cli/moving_file.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "subjects/subject.h"
#include "unit/kit/kit.h"

static char *folder;

SET_UP() { return folder = kit_folder(); }

static char *path_of(const char *name) { return mem_format("%s/%s", folder, name); }

static char *write_file(const char *name, const char *text) {
    char *path = path_of(name);
    kit_write(path, text);
    return path;
}

/* A line a command, with guests by the order in which they come. */
struct said {
    struct buffer out;
    int64_t guests[32];
    int guest_count;
};

static void put_user(struct said *said, int64_t user) {
    for (int i = 0; i < said->guest_count; i++)
        if (said->guests[i] == user) {
            buffer_format(&said->out, "g%d", i);
            return;
        }
    buffer_format(&said->out, "%" PRId64, user);
}

static int on_command(void *context, const struct comment_command *command, struct error *error) {
    static const char *const KINDS[] = {[COMMENT_COMMAND_POST] = "POST",
                                        [COMMENT_COMMAND_REPLY] = "REPLY",
                                        [COMMENT_COMMAND_LIKE] = "LIKE",
                                        [COMMENT_COMMAND_PIN] = "PIN",
                                        [COMMENT_COMMAND_REGISTER] = "REGISTER"};
    struct said *said = context;
    assert_int_equal(command->role, COMMENT_COMMAND_SERVICE);
    assert_true(subject_valid(command->subject.data, command->subject.size));
    buffer_format(&said->out, "%s %.*s ", KINDS[command->kind], (int)command->subject.size, command->subject.data);
    if (command->kind == COMMENT_COMMAND_REGISTER) {
        buffer_format(&said->out, "owner=%" PRId64 " closing=%d who=%d review=%d level=%d\n", command->owner,
                      (int)command->closing, (int)command->who_may, (int)command->review, (int)command->level);
        return 0;
    }
    put_user(said, command->user);
    buffer_format(&said->out, " %.*s t=%" PRId64 " s=%d", (int)command->key.size, command->key.data, command->written,
                  (int)command->state);
    if (command->named_key.size) {
        buffer_string(&said->out, " of ");
        put_user(said, command->named_user);
        buffer_format(&said->out, "/%.*s", (int)command->named_key.size, command->named_key.data);
    }
    buffer_format(&said->out, " [%.*s]\n", (int)command->text.size, command->text.data);
    return 0;
}

/* Without the file's folder. */
static void on_wrong(void *context, const struct error *reason) {
    const char *name = strrchr(reason->text, '/');
    buffer_format(&((struct said *)context)->out, "WRONG %s\n", name ? name + 1 : reason->text);
}

static int on_profile(void *context, int64_t user, const char *name, struct error *error) {
    struct said *said = context;
    assert_in_range(user, MOVING_GUESTS, 2 * MOVING_GUESTS - 1);
    buffer_format(&said->out, "GUEST g%d %s\n", said->guest_count, name);
    said->guests[said->guest_count++] = user;
    return 0;
}

/* Prints the comments that a file describes, or "error: ...". skip: what is wrong does not end it. The caller frees it. */
static char *read_file(const char *path, const char *authors, bool skip) {
    struct said said = {.guest_count = 0};
    struct moving *moving = NULL;
    struct error error = {.text = ""};
    double share = 0;
    const struct moving_options options = {
        .authors = authors,
        .salt = "salt",
        .context = &said,
        .wrong = skip ? on_wrong : NULL,
        .send = on_command,
        .profile = on_profile,
    };
    int code = moving_new(&options, &moving, &error);
    if (!code) code = moving_file_read(path, &share, moving, &error);
    if (code) {
        buffer_clear(&said.out);
        const char *name = strrchr(error.text, '/');
        buffer_format(&said.out, "error: %s", name ? name + 1 : error.text);
    } else {
        const struct moving_counts *counts = moving_counts(moving);
        buffer_format(&said.out, "%d %d %d %d, %d cut", (int)counts->subjects, (int)counts->comments,
                      (int)counts->likes, (int)counts->pins, (int)counts->cut);
        if (counts->wrong) buffer_format(&said.out, ", %d wrong", (int)counts->wrong);
    }
    moving_free(moving);
    char *text = mem_string(buffer_cstring(&said.out));
    buffer_free(&said.out);
    return text;
}

static char *read_with(const char *path, const char *authors) { return read_file(path, authors, false); }

static void expect(const char *name, const char *content, const char *expected) {
    FREED char *path = write_file(name, content), *said = read_with(path, NULL);
    assert_string_equal(said, expected);
}

TEST(lines) {
    expect("a.jsonl",
           "{\"type\":\"subject\",\"subject\":\"post:1\",\"owner\":3,\"who_may\":\"friends\",\"review\":\"before\","
           "\"closed\":true,\"level\":2}\n"
           "{\"type\":\"comment\",\"id\":\"10\",\"key\":\"k\",\"user\":4,\"time\":99,\"text\":\"hi\"}\n\n"
           "{\"type\":\"comment\",\"id\":\"11\",\"name\":\"Zoe\",\"time\":100,\"reply_to\":\"10\",\"state\":\"hidden\","
           "\"text\":\"ho\"}\n"
           "{\"type\":\"like\",\"comment\":\"10\",\"user\":8}\n"
           "{\"type\":\"like\",\"comment\":null,\"user\":9}\n"
           "{\"type\":\"pin\",\"comment\":\"10\"}",
           "REGISTER post:1 owner=3 closing=1 who=2 review=1 level=2\n"
           "POST post:1 4 k t=99 s=0 [hi]\n"
           "GUEST g0 Zoe\n"
           "REPLY post:1 g0 11 t=100 s=2 of 4/k [ho]\n"
           "LIKE post:1 8 k t=99 s=0 of 4/k []\n"
           "LIKE post:1 9 import like t=1 s=0 []\n"
           "PIN post:1 0 k t=99 s=0 of 4/k []\n"
           "1 2 2 1, 0 cut");
    expect("empty.jsonl", "", "0 0 0 0, 0 cut");
}

TEST(bad_files) {
    expect("b1", "{\"type\":\"subject\",\"subject\":\"post:1\",\"owner\":3}\n{\"type\":\"comment\",\"id\":\"1\"}",
           "error: b1:2: user: a number, or email, login or name must be there");
    expect("b2", "\n\n{\"type\":\"comment\",\"id\":\"1\",\"user\":1,\"time\":1,\"text\":\"x\"}\n",
           "error: b2:3: comment 1 has no subject before it");
    expect("b3", "{\"type\":\"subject\",\"subject\":\"nothing\",\"owner\":3}\n",
           "error: b3:1: subject nothing: must be TYPE:ID, such as post:123");
    expect("b4",
           "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
           "{\"type\":\"comment\",\"id\":\"2\",\"user\":1,\"time\":1,\"text\":\"x\",\"reply_to\":\"9\"}",
           "error: b4:2: comment 2 answers 9, which is not before it");
    expect("b7", "{\"type\":\"like\",\"comment\":null,\"user\":9}\n", "error: b7:1: a like has no subject before it");
    expect("b5", "{\"type\":\"vote\"}", "error: b5:1: type: unknown value vote");
    expect("b6", "\xEF\xBB\xBF<rss/>", "error: b6:1: this is XML: starling-comments-convert makes lines of it");
    char *path = path_of("none"), *said = read_with(path, NULL);
    assert_string_equal(said, "error: none: No such file or directory");
    free(said);
    free(path);
    FREED char *list = write_file("bad-authors", "a@b.c,7\nnobody\n");
    said = read_with("/dev/null", list);
    assert_string_equal(said, "error: bad-authors:2: must be AUTHOR,USER");
    free(said);
}

static void expect_skipping(const char *name, const char *content, const char *expected) {
    FREED char *path = write_file(name, content), *said = read_file(path, NULL, true);
    assert_string_equal(said, expected);
}

TEST(what_is_wrong_is_skipped_if_that_is_wanted) {
    expect_skipping("s1",
                    "\xEF\xBB\xBF{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                    "{\"type\":\"comment\",\"id\":\"2\",\"user\":1,\"time\":1,\"text\":\"x\",\"reply_to\":\"9\"}\n"
                    "{\"type\":\"comment\",\"id\":\"3\",\"user\":1,\"time\":2,\"text\":\"y\"}\n{\"type\":\n",
                    "REGISTER a:b owner=3 closing=0 who=0 review=0 level=0\n"
                    "WRONG s1:2: comment 2 answers 9, which is not before it\n"
                    "POST a:b 1 3 t=2 s=0 [y]\n"
                    "WRONG s1:4: malformed JSON in line 1, column 8: unexpected token near end of file\n"
                    "1 1 0 0, 0 cut, 2 wrong");
}

/* Guests are told apart by the e-mail address, else the login, else the name; case does not matter in addresses and in the list. */
TEST(authors_are_known_by_what_is_known_of_them) {
#define COMMENT(id, author) "{\"type\":\"comment\",\"id\":\"" id "\"," author ",\"time\":1,\"text\":\"x\"}\n"
    char *path = write_file(
        "names", "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n" COMMENT(
                     "1", "\"email\":\"Anna@Example.org\",\"name\":\"Ängström\"")
                     COMMENT("2", "\"email\":\"anna@example.org\",\"name\":\"anna\"")
                         COMMENT("3", "\"email\":\"rosa@garden.example\",\"login\":\"user:1\",\"name\":\"Rosa\"")
                             COMMENT("4", "\"login\":\"joecook\",\"name\":\"Rosa\"") COMMENT("5", "\"name\":\"\""));
#undef COMMENT
    char *list = write_file("authors", "ROSA@garden.example,7\nJoeCook,41\n"), *said = read_with(path, list);
    assert_string_equal(said, "REGISTER a:b owner=3 closing=0 who=0 review=0 level=0\n"
                              "GUEST g0 Ängström\n"
                              "POST a:b g0 1 t=1 s=0 [x]\n"
                              "POST a:b g0 2 t=1 s=0 [x]\n"
                              "POST a:b 7 3 t=1 s=0 [x]\n"
                              "POST a:b 41 4 t=1 s=0 [x]\n"
                              "GUEST g1 guest\n"
                              "POST a:b g1 5 t=1 s=0 [x]\n"
                              "1 5 0 0, 0 cut");
    free(said);
    free(list);
    free(path);
}

/* A guest whose name is a user's login is not that user. */
TEST(a_name_is_no_login) {
    static const char LINES[] = "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                                "{\"type\":\"comment\",\"id\":\"1\",\"name\":\"Rosa\",\"time\":1,\"text\":\"x\"}\n";
    char *path = write_file("names", LINES), *list = write_file("authors", "\xEF\xBB\xBFrosa,7\n");
    char *said = read_with(path, list);
    assert_non_null(strstr(said, "POST a:b g0 "));
    free(said);
    free(list);
    list = write_file("authors", "\xEF\xBB\xBFname:rosa,7\n");
    said = read_with(path, list);
    assert_non_null(strstr(said, "POST a:b 7 "));
    free(said);
    free(list);
    free(path);
}

TEST(times_to_come_are_refused) {
    FREED char *path = write_file(
        "future", "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                  "{\"type\":\"comment\",\"id\":\"1\",\"user\":1,\"time\":1767225600000000,\"text\":\"x\"}\n");
    FREED char *said = read_with(path, NULL);
    assert_non_null(strstr(said, "has no time between 1970 and now"));
}

TEST(a_long_text_is_cut) {
    FREED_BUFFER file = {.size = 0};
    buffer_string(&file, "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                         "{\"type\":\"comment\",\"id\":\"2\",\"user\":1,\"time\":1,\"text\":\"");
    for (int i = 0; i < COMMENT_TEXT_POINTS_MAX + 1; i++) buffer_string(&file, "é");
    buffer_string(&file, "\"}");
    FREED char *path = write_file("long", buffer_cstring(&file)), *said = read_with(path, NULL);
    assert_non_null(strstr(said, "1 1 0 0, 1 cut"));
    assert_true(strlen(said) > 2 * COMMENT_TEXT_POINTS_MAX && strlen(said) < 2 * COMMENT_TEXT_POINTS_MAX + 150);
}

/* ---- export ---- */

static void add(struct comments_records *records, const struct topic *topic, const struct subject_key *key,
                const struct buffer *value) {
    uint8_t bytes[SUBJECT_KEY_MAX];
    const struct kafka_record record = {.topic = topic,
                                        .key = bytes,
                                        .key_size = subject_key_write(bytes, key),
                                        .value = value->data,
                                        .value_size = value->size};
    comments_records_add(records, &record);
}

static int put_line(void *context, const struct buffer *line) {
    buffer_append(context, line->data, line->size);
    return 0;
}

/* Import reads an export and makes the same comments of it. */
TEST(an_export_can_be_read) {
    struct comments_records *records = comments_records_new();
    struct codec *codec = kit_codec();
    FREED_BUFFER value = {.data = NULL}, out = {.data = NULL};
    struct comments_records_counts counts = {.subjects = 0};
    int64_t root = ids_make(4096, 1), reply = ids_make(8192, 1), pins[] = {root};
    const struct event_text texts[] = {{"old", 3}, {"quo\"te", 6}, {"", 0}};
    struct subject_key key = {.subject = "post:1", .size = 6, .numbers = 2, .comment = root, .second = 8};
    event_encode_comment_reaction(&value, &(struct comment_reaction){.likes = true});
    add(records, &TOPIC_REACTIONS, &key, &value);
    key.comment = 0; // of the subject itself
    add(records, &TOPIC_REACTIONS, &key, &value);
    for (int i = 0; i < 3; i++) { // the first text is an older record of the root
        key = (struct subject_key){.subject = "post:1", .size = 6, .numbers = 1, .comment = i == 2 ? reply : root};
        buffer_clear(&value);
        event_encode_comment_text(&value, &(struct comment_text){.text = texts[i], .user = 4, .key = {"k", 1}});
        add(records, &TOPIC_COMMENT_TEXTS, &key, &value);
    }
    buffer_clear(&value);
    event_encode_comment(
        &value,
        &(struct comment){.user = 4, .state = COMMENT_DELETED, .floor = 1, .root = root, .answers = root, .time = 77});
    add(records, &TOPIC_COMMENTS, &key, &value);
    key.comment = root;
    buffer_clear(&value);
    event_encode_comment(&value, &(struct comment){.user = 4, .floor = 1, .likes = 1, .floors = 1});
    add(records, &TOPIC_COMMENTS, &key, &value);
    key.numbers = 0;
    buffer_clear(&value);
    event_encode_comment_subject(&value, &(struct comment_subject){.owner = 3, .closed = true, .pinned = {pins, 1}});
    add(records, &TOPIC_COMMENTS, &key, &value);
    assert_int_equal(comments_records_each(records, codec, put_line, &out, &counts), 0);
    assert_int_equal(counts.subjects, 1);
    assert_int_equal(counts.comments, 2);
    assert_int_equal(counts.likes, 2);
    assert_int_equal(counts.broken, 0);
    FREED char *expected = mem_format("REGISTER post:1 owner=3 closing=1 who=0 review=0 level=0\n"
                                      "LIKE post:1 8 import like t=1 s=0 []\n"
                                      "POST post:1 4 k t=%" PRId64 " s=0 [quo\"te]\n"
                                      "LIKE post:1 8 k t=%" PRId64 " s=0 of 4/k []\n"
                                      "REPLY post:1 4 k t=77 s=3 of 4/k []\n"
                                      "PIN post:1 0 k t=%" PRId64 " s=0 of 4/k []\n"
                                      "1 2 2 1, 0 cut",
                                      ids_time_ms(root), ids_time_ms(root), ids_time_ms(root));
    expect("export.jsonl", buffer_cstring(&out), expected);
    comments_records_free(records);
}

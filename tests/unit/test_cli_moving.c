/* Comments that move here: lines of JSON, WordPress's export and Disqus's become the commands of an import. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "cli/comments_records.h"
#include "cli/moving_file.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "subjects/subject.h"

static char folder[] = "/tmp/test-moving-XXXXXX";

static char *path_of(const char *name) { return mem_format("%s/%s", folder, name); }

static char *write_file(const char *name, const char *text) {
    char *path = path_of(name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
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
static char *read_file(const char *path, const char *authors, const char *subjects, bool skip) {
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
    const struct moving_file_options file = {
        .path = path, .type = "article", .subjects = subjects, .owner = 5, .share = &share};
    int code = moving_new(&options, &moving, &error);
    if (!code) code = moving_file_read(&file, moving, &error);
    if (code) {
        buffer_clear(&said.out);
        const char *name = strrchr(error.text, '/');
        buffer_format(&said.out, "error: %s", name ? name + 1 : error.text);
    } else {
        const struct moving_counts *counts = moving_counts(moving);
        buffer_format(&said.out, "%d %d %d %d, %d skipped, %d cut", (int)counts->subjects, (int)counts->comments,
                      (int)counts->likes, (int)counts->pins, (int)counts->skipped, (int)counts->cut);
        if (counts->hidden || counts->gone || counts->wrong)
            buffer_format(&said.out, ", %d hidden, %d gone, %d wrong", (int)counts->hidden, (int)counts->gone,
                          (int)counts->wrong);
    }
    moving_free(moving);
    char *text = mem_string(buffer_cstring(&said.out));
    buffer_free(&said.out);
    return text;
}

static char *read_with(const char *path, const char *authors, const char *subjects) {
    return read_file(path, authors, subjects, false);
}

static void expect(const char *name, const char *content, const char *expected) {
    char *path = write_file(name, content), *said = read_with(path, NULL, NULL);
    assert_string_equal(said, expected);
    free(said);
    free(path);
}

static void expect_sample(const char *sample, const char *authors, const char *subjects, const char *expected) {
    char *path = mem_format("%s/tests/e2e/samples/%s", STARLING_SOURCE_DIR, sample);
    char *author_list = write_file("authors", authors), *subject_list = write_file("subjects", subjects);
    char *said = read_with(path, author_list, subject_list);
    assert_string_equal(said, expected);
    free(said);
    free(subject_list);
    free(author_list);
    free(path);
}

static void wordpress(void **state) {
    expect_sample("wordpress.xml", "rosa,7\nROSA@garden.example,7\n", "",
                  "REGISTER article:17 owner=7 closing=0 who=0 review=0 level=0\n"
                  "GUEST g0 Ängström\n"
                  "POST article:17 g0 wp:101 t=1399291200000 s=0 [Also in the north?]\n"
                  "REPLY article:17 7 wp:103 t=1399296600000 s=0 of g0/wp:101 [Yes, but not in frost & snow.\n"
                  "See this page (https://rhs.example/roses).]\n"
                  "REPLY article:17 g0 wp:104 t=1399363200000 s=1 of g0/wp:101 [What was that pill seller?]\n"
                  "GUEST g1 Ben\n"
                  "POST article:17 g1 wp:106 t=1399539600000 s=3 []\n"
                  "1 4 0 0, 2 skipped, 0 cut");
    expect_sample("wordpress.xml", "", "# by the link\nhttps://garden.example/2014/05/prune-roses/,post:99\n",
                  "REGISTER post:99 owner=5 closing=0 who=0 review=0 level=0\n"
                  "GUEST g0 Ängström\n"
                  "POST post:99 g0 wp:101 t=1399291200000 s=0 [Also in the north?]\n"
                  "GUEST g1 Rosa\n"
                  "REPLY post:99 g1 wp:103 t=1399296600000 s=0 of g0/wp:101 [Yes, but not in frost & snow.\n"
                  "See this page (https://rhs.example/roses).]\n"
                  "REPLY post:99 g0 wp:104 t=1399363200000 s=1 of g0/wp:101 [What was that pill seller?]\n"
                  "GUEST g2 Ben\n"
                  "POST post:99 g2 wp:106 t=1399539600000 s=3 []\n"
                  "1 4 0 0, 2 skipped, 0 cut");
}

/* Posts stand in any order; the identifier that can be no subject gives way to the thread's number. */
static void disqus(void **state) {
    expect_sample("disqus.xml", "joecook,41\n", "",
                  "REGISTER article:soup owner=5 closing=1 who=0 review=0 level=0\n"
                  "POST article:soup 41 disqus:501 t=1330682400000 s=0 [How long do the beans soak?\n\n"
                  "I have https://beans.example/kinds here.\nThanks]\n"
                  "GUEST g0 Somebody\n"
                  "REPLY article:soup g0 disqus:502 t=1330686000000 s=3 of 41/disqus:501 []\n"
                  "GUEST g1 Marta\n"
                  "REPLY article:soup g1 disqus:503 t=1330689600000 s=0 of g0/disqus:502 [Twelve hours.]\n"
                  "REGISTER article:2233445567 owner=5 closing=0 who=0 review=0 level=0\n"
                  "POST article:2233445567 41 disqus:504 t=1333350000000 s=0 [面包很好吃 & crisp]\n"
                  "2 4 0 0, 1 skipped, 0 cut");
}

static void lines(void **state) {
    expect("a.jsonl",
           "{\"type\":\"subject\",\"subject\":\"post:1\",\"owner\":3,\"who_may\":\"friends\",\"review\":\"before\","
           "\"closed\":true,\"level\":2}\n"
           "{\"type\":\"comment\",\"id\":\"10\",\"key\":\"k\",\"user\":4,\"time\":99,\"text\":\"hi\"}\n\n"
           "{\"type\":\"comment\",\"id\":\"11\",\"name\":\"Zoe\",\"time\":100,\"reply_to\":\"10\",\"state\":\"hidden\","
           "\"text\":\"ho\"}\n"
           "{\"type\":\"like\",\"comment\":\"10\",\"user\":8}\n"
           "{\"type\":\"pin\",\"comment\":\"10\"}",
           "REGISTER post:1 owner=3 closing=1 who=2 review=1 level=2\n"
           "POST post:1 4 k t=99 s=0 [hi]\n"
           "GUEST g0 Zoe\n"
           "REPLY post:1 g0 11 t=100 s=2 of 4/k [ho]\n"
           "LIKE post:1 8 k t=99 s=0 of 4/k []\n"
           "PIN post:1 0 k t=99 s=0 of 4/k []\n"
           "1 2 1 1, 0 skipped, 0 cut");
    expect("empty.jsonl", "", "0 0 0 0, 0 skipped, 0 cut");
}

/* A circle of parents, one that is not in the file, and a parent that is later than its reply. */
static void odd_parents(void **state) {
#define COMMENT(id, parent, time)                                                                                      \
    "<wp:comment><wp:comment_id>" id "</wp:comment_id><wp:comment_author>A</wp:comment_author><wp:comment_date_gmt>"   \
    "2020-01-01 00:00:" time "</wp:comment_date_gmt><wp:comment_content>x &lt; y</wp:comment_content>"                 \
    "<wp:comment_approved>1</wp:comment_approved><wp:comment_parent>" parent "</wp:comment_parent></wp:comment>\n"
    expect("odd.xml",
           "<rss xmlns:wp='http://wordpress.org/export/1.1/'><channel><item>\n<wp:post_id>1</wp:post_id>" COMMENT(
               "1", "2", "01") COMMENT("2", "1", "02") COMMENT("3", "77", "03") COMMENT("4", "5", "04")
               COMMENT("5", "0", "05") "</item></channel></rss>",
           "REGISTER article:1 owner=5 closing=0 who=0 review=0 level=0\n"
           "GUEST g0 A\n"
           "POST article:1 g0 wp:2 t=1577836802000 s=0 [x < y]\n"
           "REPLY article:1 g0 wp:1 t=1577836801000 s=0 of g0/wp:2 [x < y]\n"
           "POST article:1 g0 wp:3 t=1577836803000 s=0 [x < y]\n"
           "POST article:1 g0 wp:5 t=1577836805000 s=0 [x < y]\n"
           "REPLY article:1 g0 wp:4 t=1577836804000 s=0 of g0/wp:5 [x < y]\n"
           "1 5 0 0, 0 skipped, 0 cut");
    expect("time.xml",
           "<rss xmlns:wp='w'><channel>\n<item><wp:post_id>1</wp:post_id>\n" COMMENT("1", "0",
                                                                                     "xx") "</item></channel></rss>",
           "error: time.xml:3: comment 1 has no time between 1970 and now");
#undef COMMENT
}

static void bad_files(void **state) {
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
    expect("b5", "{\"type\":\"vote\"}", "error: b5:1: type: unknown value vote");
    expect("b6", "<html></html>", "error: b6:1: <html> begins neither WordPress's export (rss) nor Disqus's (disqus)");
    expect("b7", "<rss><channel>\n<item>\n</channel></rss>",
           "error: b7:3: Opening and ending tag mismatch: item line 2 and channel");
    expect(
        "b8",
        "<disqus xmlns:dsq='http://disqus.com/disqus-internals'>\n<post dsq:id='1'><thread dsq:id='9'/></post></disqus>",
        "error: b8:2: post 1 is of thread 9, which is not before it");
    char *path = path_of("none"), *said = read_with(path, NULL, NULL);
    assert_string_equal(said, "error: none: No such file or directory");
    free(said);
    free(path);
    char *list = write_file("bad-authors", "a@b.c,7\nnobody\n");
    said = read_with("/dev/null", list, NULL);
    assert_string_equal(said, "error: bad-authors:2: must be AUTHOR,USER");
    free(said);
    free(list);
}

#define ITEM(ID, REST)                                                                                                 \
    "<item><post_id>" ID "</post_id>" REST                                                                             \
    "<comment><comment_id>1</comment_id><comment_author>A</comment_author><comment_date_gmt>2014-05-05 "               \
    "12:00:00</comment_date_gmt><comment_content>x</comment_content><comment_approved>1</comment_approved></comment>"  \
    "</item>\n"

/* Comments are not more public than the pages that had them. */
static void pages_that_are_not_public(void **state) {
    expect("pages",
           "<rss><channel>\n" ITEM("1", "<status>publish</status>") ITEM("2", "<status>private</status>")
               ITEM("3", "<status>trash</status>") ITEM("4", "<post_password>p</post_password>")
                   ITEM("5", "<status>draft</status>") "</channel></rss>",
           "REGISTER article:1 owner=5 closing=0 who=0 review=0 level=0\n"
           "GUEST g0 A\n"
           "POST article:1 g0 wp:1 t=1399291200000 s=0 [x]\n"
           "REGISTER article:2 owner=5 closing=0 who=0 review=0 level=0\n"
           "POST article:2 g0 wp:1 t=1399291200000 s=1 [x]\n"
           "REGISTER article:4 owner=5 closing=0 who=0 review=0 level=0\n"
           "POST article:4 g0 wp:1 t=1399291200000 s=1 [x]\n"
           "REGISTER article:5 owner=5 closing=0 who=0 review=0 level=0\n"
           "POST article:5 g0 wp:1 t=1399291200000 s=1 [x]\n"
           "4 4 0 0, 0 skipped, 0 cut, 3 hidden, 1 gone, 0 wrong");
    expect(
        "threads",
        "<disqus xmlns:dsq='http://disqus.com/disqus-internals'><thread dsq:id='9'><id>a</id><isDeleted>true</isDeleted>"
        "</thread><post dsq:id='1'><message>x</message><createdAt>2014-05-05T12:00:00Z</createdAt><thread dsq:id='9'/>"
        "</post></disqus>",
        "0 0 0 0, 0 skipped, 0 cut, 0 hidden, 1 gone, 0 wrong");
}

static void expect_skipping(const char *name, const char *content, const char *expected) {
    char *path = write_file(name, content), *said = read_file(path, NULL, NULL, true);
    assert_string_equal(said, expected);
    free(said);
    free(path);
}

static void what_is_wrong_is_skipped_if_that_is_wanted(void **state) {
    expect_skipping("s1",
                    "\xEF\xBB\xBF{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                    "{\"type\":\"comment\",\"id\":\"2\",\"user\":1,\"time\":1,\"text\":\"x\",\"reply_to\":\"9\"}\n"
                    "{\"type\":\"comment\",\"id\":\"3\",\"user\":1,\"time\":2,\"text\":\"y\"}\n{\"type\":\n",
                    "REGISTER a:b owner=3 closing=0 who=0 review=0 level=0\n"
                    "WRONG s1:2: comment 2 answers 9, which is not before it\n"
                    "POST a:b 1 3 t=2 s=0 [y]\n"
                    "WRONG s1:4: malformed JSON in line 1, column 8: unexpected token near end of file\n"
                    "1 1 0 0, 0 skipped, 0 cut, 0 hidden, 0 gone, 2 wrong");
    expect_skipping(
        "s2",
        "<disqus xmlns:dsq='http://disqus.com/disqus-internals'>\n<post dsq:id='1'><thread dsq:id='9'/></post>\n"
        "<thread dsq:id='9'><id>a</id></thread>\n"
        "<post dsq:id='2'><message>no\x0b&#0011;&#xB;&#x2764;t&#10;ime</message><thread dsq:id='9'/></post>\n"
        "<post dsq:id='3'><message>y</message><createdAt>2014-05-05T12:00:00Z</createdAt><parent dsq:id='2'/>"
        "<thread dsq:id='9'/></post></disqus>",
        "WRONG s2:4: a control character (11) is a blank now\n"
        "WRONG s2:4: a control character (11) is a blank now\n"
        "WRONG s2:4: a control character (11) is a blank now\n"
        "WRONG s2:2: post 1 is of thread 9, which is not before it\n"
        "REGISTER article:a owner=5 closing=0 who=0 review=0 level=0\n"
        "WRONG s2:4: comment 2 has no time between 1970 and now\n"
        "GUEST g0 guest\n"
        "POST article:a g0 disqus:3 t=1399291200000 s=0 [y]\n"
        "1 1 0 0, 0 skipped, 0 cut, 0 hidden, 0 gone, 5 wrong");
}

/* Wherever the pieces end in which a file is read. */
static void references_to_control_characters_become_blanks(void **state) {
    enum { REFERENCES = 3000 };
    struct buffer content = {.data = NULL}, expected = {.data = NULL};
    buffer_string(
        &content,
        "<disqus xmlns:dsq='http://disqus.com/disqus-internals'><thread dsq:id='9'><id>a</id></thread>"
        "<post dsq:id='1'><message>y</message><createdAt>2014-05-05T12:00:00Z</createdAt><thread dsq:id='9'/><ip>");
    for (int i = 0; i < REFERENCES; i++) {
        buffer_string(&content, i % 2 ? "&#11;" : "&#xB;");
        buffer_string(&expected, "WRONG s3:1: a control character (11) is a blank now\n");
    }
    buffer_string(&content, "</ip></post></disqus>");
    char *path = write_file("s3", buffer_cstring(&content)), *said = read_file(path, NULL, NULL, true);
    assert_memory_equal(said, expected.data, expected.size);
    assert_non_null(strstr(said, "POST article:a g0 disqus:1 t=1399291200000 s=0 [y]\n"));
    free(said);
    free(path);
    buffer_free(&content);
    buffer_free(&expected);
}

/* A guest whose name is a user's login is not that user. */
static void a_name_is_no_login(void **state) {
    static const char LINES[] = "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                                "{\"type\":\"comment\",\"id\":\"1\",\"name\":\"Rosa\",\"time\":1,\"text\":\"x\"}\n";
    char *path = write_file("names", LINES), *list = write_file("authors", "\xEF\xBB\xBFrosa,7\n");
    char *said = read_with(path, list, NULL);
    assert_non_null(strstr(said, "POST a:b g0 "));
    free(said);
    free(list);
    list = write_file("authors", "\xEF\xBB\xBFname:rosa,7\n");
    said = read_with(path, list, NULL);
    assert_non_null(strstr(said, "POST a:b 7 "));
    free(said);
    free(list);
    free(path);
}

static void times_to_come_are_refused(void **state) {
    char *path = write_file(
        "future", "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                  "{\"type\":\"comment\",\"id\":\"1\",\"user\":1,\"time\":1767225600000000,\"text\":\"x\"}\n");
    char *said = read_with(path, NULL, NULL);
    assert_non_null(strstr(said, "has no time between 1970 and now"));
    free(said);
    free(path);
}

static void a_long_text_is_cut(void **state) {
    struct buffer file = {.data = NULL};
    buffer_string(&file, "{\"type\":\"subject\",\"subject\":\"a:b\",\"owner\":3}\n"
                         "{\"type\":\"comment\",\"id\":\"2\",\"user\":1,\"time\":1,\"text\":\"");
    for (int i = 0; i < COMMENT_TEXT_POINTS_MAX + 1; i++) buffer_string(&file, "é");
    buffer_string(&file, "\"}");
    char *path = write_file("long", buffer_cstring(&file)), *said = read_with(path, NULL, NULL);
    assert_non_null(strstr(said, "1 1 0 0, 0 skipped, 1 cut"));
    assert_true(strlen(said) > 2 * COMMENT_TEXT_POINTS_MAX && strlen(said) < 2 * COMMENT_TEXT_POINTS_MAX + 150);
    free(said);
    free(path);
    buffer_free(&file);
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
static void an_export_can_be_read(void **state) {
    struct comments_records *records = comments_records_new();
    struct codec *codec = codec_new();
    struct buffer value = {.data = NULL}, out = {.data = NULL};
    struct comments_records_counts counts = {.subjects = 0};
    int64_t root = ids_make(4096, 1), reply = ids_make(8192, 1), pins[] = {root};
    const struct event_text texts[] = {{"old", 3}, {"quo\"te", 6}, {"", 0}};
    struct subject_key key = {.subject = "post:1", .size = 6, .numbers = 2, .comment = root, .second = 8};
    event_encode_comment_reaction(&value, &(struct comment_reaction){.likes = true});
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
    assert_int_equal(counts.likes, 1);
    assert_int_equal(counts.broken, 0);
    char *expected = mem_format("REGISTER post:1 owner=3 closing=1 who=0 review=0 level=0\n"
                                "POST post:1 4 k t=%" PRId64 " s=0 [quo\"te]\n"
                                "LIKE post:1 8 k t=%" PRId64 " s=0 of 4/k []\n"
                                "REPLY post:1 4 k t=77 s=3 of 4/k []\n"
                                "PIN post:1 0 k t=%" PRId64 " s=0 of 4/k []\n"
                                "1 2 1 1, 0 skipped, 0 cut",
                                ids_time_ms(root), ids_time_ms(root), ids_time_ms(root));
    expect("export.jsonl", buffer_cstring(&out), expected);
    free(expected);
    buffer_free(&value);
    buffer_free(&out);
    codec_free(codec);
    comments_records_free(records);
}

static int make_folder(void **state) { return mkdtemp(folder) ? 0 : -1; }

static int remove_folder(void **state) {
    static const char *const NAMES[] = {"authors", "subjects", "a.jsonl", "empty.jsonl", "odd.xml",      "time.xml",
                                        "b1",      "b2",       "b3",      "b4",          "b5",           "b6",
                                        "b7",      "b8",       "long",    "bad-authors", "export.jsonl", "names",
                                        "future",  "s1",       "s2",      "s3"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char *path = path_of(NAMES[i]);
        unlink(path);
        free(path);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wordpress),
        cmocka_unit_test(disqus),
        cmocka_unit_test(lines),
        cmocka_unit_test(odd_parents),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(pages_that_are_not_public),
        cmocka_unit_test(what_is_wrong_is_skipped_if_that_is_wanted),
        cmocka_unit_test(references_to_control_characters_become_blanks),
        cmocka_unit_test(a_name_is_no_login),
        cmocka_unit_test(times_to_come_are_refused),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(an_export_can_be_read),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

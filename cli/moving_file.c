#include "cli/moving_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/config.h"
#include "base/text.h"
#include "json/json.h"
#include "subjects/words.h"

enum { READ_BYTES = 1 << 17, LINE_MAX_BYTES = 1 << 20, PART_BYTES = 4096 };

struct moving_file {
    const char *path;
    double *share;
    struct moving *moving;
    gzFile file;
    int64_t size;       /* on the disk; 0: not known */
    struct buffer text; /* scratch */
    long line;          /* that is read; 0: none yet */
};

/* ---- lines ---- */

/* Reads one of a few words; absent: the first one. */
static int want_word(const json_t *line, const char *key, const char *const *words, int *value, struct error *error) {
    const char *text;
    *value = 0;
    int code = json_want_text(line, key, &text, error);
    if (code == -ENOENT) return 0;
    if (code) return code;
    int number = text_word(text, words);
    if (number < 0) return error_set(error, -EINVAL, "%s: unknown value %.32s", key, text);
    *value = number;
    return 0;
}

static int take_subject(struct moving_file *file, const json_t *line, struct error *error) {
    struct moving_subject subject = {.level = 0};
    int who = 0, review = 0;
    int code = json_want_text(line, "subject", &subject.subject, error);
    if (!code) code = json_want_int(line, "owner", 0, INT64_MAX, &subject.owner, error);
    if (!code && json_given(line, "closed")) code = json_want_bool(line, "closed", &subject.closed, error);
    if (!code && json_given(line, "level")) code = json_want_int(line, "level", 0, INT32_MAX, &subject.level, error);
    if (!code) code = want_word(line, "who_may", SUBJECT_WHO_MAY, &who, error);
    if (!code) code = want_word(line, "review", SUBJECT_REVIEWS, &review, error);
    if (code) return code;
    subject.who_may = (enum comment_command_who)who;
    subject.review = (enum comment_command_review)review;
    return moving_begin(file->moving, &subject, error);
}

static int want_author(const json_t *line, struct moving_comment *comment, struct error *error) {
    const struct {
        const char *key;
        const char **value;
    } TEXTS[] = {{"email", &comment->author.email}, {"login", &comment->author.login}, {"name", &comment->author.name}};
    int code = 0;
    if (json_given(line, "user")) return json_want_int(line, "user", 0, INT64_MAX, &comment->user, error);
    for (size_t i = 0; !code && i < ARRAY_SIZE(TEXTS); i++)
        if (json_given(line, TEXTS[i].key)) code = json_want_text(line, TEXTS[i].key, TEXTS[i].value, error);
    if (!code && !comment->author.email && !comment->author.login && !comment->author.name)
        code = error_set(error, -EINVAL, "user: a number, or email, login or name must be there");
    return code;
}

static int take_comment(struct moving_file *file, const json_t *line, struct error *error) {
    struct moving_comment comment = {.user = -1, .text = ""};
    int state = 0;
    int code = json_want_text(line, "id", &comment.id, error);
    comment.key = comment.id;
    if (!code && json_given(line, "key")) code = json_want_text(line, "key", &comment.key, error);
    if (!code && json_given(line, "reply_to")) code = json_want_text(line, "reply_to", &comment.parent, error);
    if (!code) code = want_author(line, &comment, error);
    if (!code) code = json_want_int(line, "time", 1, INT64_MAX, &comment.time, error);
    if (!code) code = want_word(line, "state", COMMENT_STATES, &state, error);
    if (!code && json_given(line, "text")) code = json_want_text(line, "text", &comment.text, error);
    comment.state = (enum comment_command_state)state;
    return code ? code : moving_take(file->moving, &comment, error);
}

static int take_mark(struct moving_file *file, const json_t *line, bool like, struct error *error) {
    const char *comment = NULL;
    int64_t user = 0;
    bool subject = like && json_is_null(json_object_get(line, "comment"));
    int code = subject ? 0 : json_want_text(line, "comment", &comment, error);
    if (!code && like) code = json_want_int(line, "user", 0, INT64_MAX, &user, error);
    if (code) return code;
    return like ? moving_like(file->moving, comment, user, error) : moving_pin(file->moving, comment, error);
}

static int take_line(struct moving_file *file, struct error *error) {
    static const char *const TYPES[] = {"subject", "comment", "like", "pin", NULL};
    int type = 0;
    char *text = (char *)file->text.data;
    size_t mark = file->line == 1 ? (size_t)(text_after_mark(text) - text) : 0;
    if (file->line == 1 && text[mark] == '<')
        return error_set(error, -EBADMSG, "this is XML: starling-comments-convert makes lines of it");
    json_t *line = json_parse(text + mark, strcspn(text + mark, "\r\n"), error);
    if (!line) return -EINVAL;
    int code = json_given(line, "type") ? want_word(line, "type", TYPES, &type, error)
                                        : error_set(error, -EINVAL, "type: must be there");
    if (!code && type == 0) code = take_subject(file, line, error);
    if (!code && type == 1) code = take_comment(file, line, error);
    if (!code && type > 1) code = take_mark(file, line, type == 2, error);
    json_decref(line);
    return code == -ENOENT ? -EINVAL : code;
}

/* 1: a line is in the scratch text; 0: the end. */
static int next_line(struct moving_file *file, struct error *error) {
    char part[PART_BYTES];
    buffer_clear(&file->text);
    while (gzgets(file->file, part, sizeof part)) {
        size_t size = strlen(part);
        buffer_append(&file->text, part, size);
        if (file->text.size > LINE_MAX_BYTES) return error_set(error, -EINVAL, "the line is longer than 1 MiB");
        if (size && part[size - 1] == '\n') break;
    }
    return file->text.size > 0;
}

static int read_lines(struct moving_file *file, struct error *error) {
    int code;
    file->line = 1;
    while ((code = next_line(file, error)) == 1) {
        bool blank = strspn(buffer_cstring(&file->text), " \t\r\n") == file->text.size;
        code = blank ? 0 : moving_pass(file->moving, take_line(file, error), file->path, file->line, error);
        if (code) return code;
        file->line++;
        if (file->size) *file->share = (double)gzoffset(file->file) / (double)file->size;
    }
    return code;
}

/* ---- the file ---- */

/* Why reading stopped: 0: it is the end. */
static int read_failure(const struct moving_file *file, struct error *error) {
    int number = Z_OK;
    const char *text = gzerror(file->file, &number);
    if (number == Z_ERRNO) return error_set(error, -EIO, "%s", strerror(errno));
    if (number == Z_BUF_ERROR) return error_set(error, -EBADMSG, "the file is cut short");
    return number == Z_OK || number == Z_STREAM_END ? 0 : error_set(error, -EBADMSG, "%s", text);
}

static int open_file(struct moving_file *file, struct error *error) {
    struct stat found;
    errno = 0;
    if (stat(file->path, &found) == 0 && S_ISREG(found.st_mode)) file->size = found.st_size;
    file->file = strcmp(file->path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "re") : gzopen(file->path, "re");
    if (!file->file)
        return error_set(error, errno ? -errno : -ENOMEM, "%s: %s", file->path, strerror(errno ? errno : ENOMEM));
    gzbuffer(file->file, READ_BYTES);
    return 0;
}

static int read_all(struct moving_file *file, struct error *error) {
    int code = read_lines(file, error);
    struct error failure = {.text = ""};
    if (read_failure(file, &failure)) return error_set(error, -EBADMSG, "%s: %s", file->path, failure.text);
    return code ? error_prefix(error, code, "%s:%ld", file->path, file->line) : 0;
}

int moving_file_read(const char *path, double *share, struct moving *moving, struct error *error) {
    struct moving_file file = {.path = path, .share = share, .moving = moving};
    int code = open_file(&file, error);
    if (!code) code = read_all(&file, error);
    if (file.file) gzclose(file.file);
    buffer_free(&file.text);
    return code;
}

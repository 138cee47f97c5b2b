#include "cli/moving_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cli/listed.h"
#include "cli/moving_private.h"
#include "subjects/subject.h"

enum { READ_BYTES = 1 << 17 };

void moving_file_share(struct moving_file *file) {
    if (file->size) *file->options->share = (double)gzoffset(file->file) / (double)file->size;
}

/* ---- subjects ---- */

/* A line of the list. */
static bool take_subject(void *context, char *what, const char *subject) {
    struct moving_file *file = context;
    if (!subject_valid(subject, strlen(subject))) return false;
    file->names = mem_resize(file->names, file->name_count + 1, sizeof *file->names);
    file->names[file->name_count++] = mem_string(subject);
    *text_map_put(file->subjects, what) = (int64_t)file->name_count;
    return true;
}

bool moving_file_subject(const struct moving_file *file, const char *const *names, size_t count, char *subject,
                         size_t size) {
    for (size_t i = 0; i < count; i++) {
        const int64_t *found = names[i] ? text_map_find(file->subjects, names[i]) : NULL;
        if (found) return snprintf(subject, size, "%s", file->names[*found - 1]) < (int)size;
    }
    for (size_t i = 0; i < count; i++) {
        if (!names[i] || !*names[i]) continue;
        int length = snprintf(subject, size, "%s:%s", file->options->type, names[i]);
        if (length < (int)size && subject_valid(subject, (size_t)length)) return true;
    }
    return false;
}

/* ---- the file ---- */

/* The first byte that is no blank, and the file is at its beginning again. */
static int first_byte(gzFile file) {
    int c = gzgetc(file);
    if (c == 0xef) { // a byte order mark
        gzgetc(file);
        gzgetc(file);
        c = gzgetc(file);
    }
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n') c = gzgetc(file);
    gzrewind(file);
    return c;
}

/* Why reading stopped: 0: it is the end. */
static int read_failure(const struct moving_file *file, struct error *error) {
    int number = Z_OK;
    const char *text = gzerror(file->file, &number);
    if (number == Z_ERRNO) return error_set(error, -EIO, "%s", strerror(errno));
    if (number == Z_BUF_ERROR) return error_set(error, -EBADMSG, "the file is cut short");
    return number == Z_OK || number == Z_STREAM_END ? 0 : error_set(error, -EBADMSG, "%s", text);
}

static int open_file(struct moving_file *file, struct error *error) {
    const char *path = file->options->path;
    struct stat found;
    errno = 0;
    if (stat(path, &found) == 0 && S_ISREG(found.st_mode)) file->size = found.st_size;
    file->file = gzopen(path, "re");
    if (!file->file)
        return error_set(error, errno ? -errno : -ENOMEM, "%s: %s", path, strerror(errno ? errno : ENOMEM));
    gzbuffer(file->file, READ_BYTES);
    return 0;
}

static int read_all(struct moving_file *file, struct error *error) {
    const char *path = file->options->path;
    int code = first_byte(file->file) == '<' ? moving_xml(file, error) : moving_lines(file, error);
    struct error failure = {.text = ""};
    if (read_failure(file, &failure)) return error_set(error, -EBADMSG, "%s: %s", path, failure.text);
    if (code && file->line) return error_prefix(error, code, "%s:%ld", path, file->line);
    return code ? error_prefix(error, code, "%s", path) : 0;
}

int moving_file_owner(const struct moving_file *file, const char *login, int64_t *owner, struct error *error) {
    *owner = moving_user(file->moving, &(struct moving_author){.login = login});
    if (*owner < 0) *owner = file->options->owner;
    return *owner < 0 ? error_set(error, -EINVAL, "the article's author \"%.64s\" is not listed: give --owner", login)
                      : 0;
}

int moving_file_read(const struct moving_file_options *options, struct moving *moving, struct error *error) {
    struct moving_file file = {.options = options, .moving = moving, .bytes_line = 1, .subjects = text_map_new()};
    int code = options->subjects ? listed_read(options->subjects, "WHAT,SUBJECT", take_subject, &file, error) : 0;
    if (!code) code = open_file(&file, error);
    if (!code) code = read_all(&file, error);
    if (file.file) gzclose(file.file);
    text_map_free(file.subjects);
    for (size_t i = 0; i < file.name_count; i++) free(file.names[i]);
    free(file.names);
    buffer_free(&file.text);
    return code;
}

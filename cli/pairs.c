#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/pairs.h"

enum { LINE_MAX_BYTES = 512, READ_BYTES = 1 << 17, LOOK_EVERY = 1 << 12 };

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '\n'; }

/* An id at *at, which moves behind it and behind the blanks that follow. */
static bool take_id(const char **at, int64_t *id) {
    const char *digit = *at;
    int64_t value = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (value > (INT64_MAX - (*digit - '0')) / 10) return false;
        value = value * 10 + (*digit - '0');
    }
    if (digit == *at || (*digit && *digit != '#' && !is_blank(*digit))) return false;
    while (is_blank(*digit)) digit++;
    *at = digit;
    *id = value;
    return true;
}

int pairs_parse_line(const char *line, int64_t *a, int64_t *b) {
    while (is_blank(*line)) line++;
    if (!*line || *line == '#') return 0;
    return take_id(&line, a) && take_id(&line, b) && (!*line || *line == '#') ? 1 : -EINVAL;
}

/* Why gzgets gave nothing: 0 the end, else a negative errno with the reason. */
static int read_failure(gzFile file, const char *path, struct error *error) {
    int number = Z_OK;
    const char *text = gzerror(file, &number);
    if (number == Z_ERRNO) return error_set(error, -EIO, "%s: %s", path, strerror(errno));
    // A file that stops within its compressed data.
    if (number == Z_BUF_ERROR) return error_set(error, -EBADMSG, "%s: the file is cut short", path);
    return number == Z_OK || number == Z_STREAM_END ? 0 : error_set(error, -EBADMSG, "%s: %s", path, text);
}

static int64_t size_of(const char *path) {
    struct stat found;
    return stat(path, &found) || !S_ISREG(found.st_mode) ? 0 : found.st_size;
}

int cli_read_pairs(const char *path, int (*pair)(void *context, int64_t a, int64_t b), void *context,
                   struct error *error) {
    double share;
    return pairs_read(path, &share, pair, context, error);
}

int pairs_read(const char *path, double *share, int (*pair)(void *context, int64_t a, int64_t b), void *context,
               struct error *error) {
    int64_t size = size_of(path);
    *share = 0;
    errno = 0;
    gzFile file = gzopen(path, "re");
    if (!file) return error_set(error, errno ? -errno : -ENOMEM, "%s: %s", path, strerror(errno ? errno : ENOMEM));
    gzbuffer(file, READ_BYTES);
    char line[LINE_MAX_BYTES];
    int code = 0;
    int64_t number = 0;
    while (!code && gzgets(file, line, sizeof line)) {
        char *text = number ? line : text_after_mark(line);
        // The place in the file itself, compressed or not: little is read ahead.
        if (number++ % LOOK_EVERY == 0 && size) *share = (double)gzoffset(file) / (double)size;
        int64_t a, b;
        size_t length = strlen(line);
        // Two ids fit into a line many times over; a longer one is a comment, or another kind of file.
        bool cut = length == sizeof line - 1 && line[length - 1] != '\n';
        bool comment = strchr(text, '#') != NULL;
        int found = pairs_parse_line(text, &a, &b);
        for (int c = 0; cut && comment && c != '\n' && c != -1;) c = gzgetc(file);
        if ((cut && !comment) || found < 0) {
            code = error_set(error, -EINVAL, "%s:%" PRId64 ": not two ids", path, number);
        } else if (found) {
            code = pair(context, a, b);
        }
    }
    if (!code) code = read_failure(file, path, error);
    gzclose(file);
    return code;
}

struct pairs_out {
    gzFile file;
    char *path;
};

int pairs_out_new(const char *path, struct pairs_out **out, struct error *error) {
    size_t length = strlen(path);
    bool compress = length >= 3 && !strcmp(path + length - 3, ".gz");
    errno = 0;
    // T: as it is, without compression.
    gzFile file;
    if (!strcmp(path, "-")) {
        int fd = dup(STDOUT_FILENO);
        file = fd < 0 ? NULL : gzdopen(fd, "wT");
        if (!file && fd >= 0) close(fd);
    } else {
        file = gzopen(path, compress ? "we6" : "weT");
    }
    if (!file) return error_set(error, errno ? -errno : -ENOMEM, "%s: %s", path, strerror(errno ? errno : ENOMEM));
    gzbuffer(file, READ_BYTES);
    *out = mem_alloc(sizeof **out);
    **out = (struct pairs_out){.file = file, .path = mem_string(path)};
    return 0;
}

int pairs_out_put(struct pairs_out *out, int64_t a, int64_t b, struct error *error) {
    char line[64];
    int length = snprintf(line, sizeof line, "%" PRId64 " %" PRId64 "\n", a, b);
    return pairs_out_write(out, line, (size_t)length, error);
}

int pairs_out_write(struct pairs_out *out, const void *bytes, size_t size, struct error *error) {
    if (gzwrite(out->file, bytes, (unsigned)size) == (int)size) return 0;
    int number;
    const char *text = gzerror(out->file, &number);
    return error_set(error, -EIO, "%s: %s", out->path, number == Z_ERRNO ? strerror(errno) : text);
}

int pairs_out_close(struct pairs_out *out, struct error *error) {
    if (!out) return 0;
    errno = 0;
    int code = gzclose(out->file);
    if (code) code = error_set(error, -EIO, "%s: %s", out->path, errno ? strerror(errno) : "cannot be written");
    free(out->path);
    free(out);
    return code;
}

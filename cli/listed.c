#include "cli/listed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LINE_MAX_BYTES = 4096 };

static bool take_line(char *line, bool (*take)(void *context, char *name, const char *value), void *context) {
    line[strcspn(line, "\r\n")] = 0;
    char *comma = strrchr(line, ',');
    if (!*line || *line == '#') return true;
    if (!comma || comma == line) return false;
    *comma = 0;
    return take(context, line, comma + 1);
}

int listed_read(const char *path, const char *wanted, bool (*take)(void *context, char *name, const char *value),
                void *context, struct error *error) {
    char line[LINE_MAX_BYTES];
    int code = 0, number = 0;
    FILE *file = fopen(path, "re");
    if (!file) return error_set(error, -errno, "%s: %s", path, strerror(errno));
    while (!code && fgets(line, sizeof line, file)) {
        char *text = number++ ? line : text_after_mark(line);
        if (!take_line(text, take, context))
            code = error_set(error, -EINVAL, "%s:%d: must be %s", path, number, wanted);
    }
    if (!code && ferror(file)) code = error_set(error, -EIO, "%s: cannot be read", path);
    fclose(file);
    return code;
}

#include "base/file.h"

#include <errno.h>
#include <stdio.h>

enum { AT_ONCE = 4096 };

int file_read(const char *path, struct buffer *out) {
    FILE *stream = fopen(path, "re");
    if (!stream) return -errno;
    size_t got;
    do {
        got = fread(buffer_reserve(out, AT_ONCE), 1, AT_ONCE, stream);
        buffer_commit(out, got);
    } while (got);
    int code = ferror(stream) ? -errno : 0;
    fclose(stream);
    return code;
}

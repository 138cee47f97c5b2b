#include "base/folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

int folders_make(const char *path, struct error *error) {
    char *copy = mem_string(path);
    int code = 0;
    for (char *at = *copy ? copy + 1 : copy; !code; at++) {
        if (*at && *at != '/') continue;
        char kept = *at;
        *at = 0;
        if (mkdir(copy, 0700) && errno != EEXIST) code = error_set(error, -errno, "%s: %s", copy, strerror(errno));
        *at = kept;
        if (!kept) break;
    }
    free(copy);
    return code;
}

int folders_make_above(const char *path, struct error *error) {
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return 0;
    char *above = mem_stringn(path, (size_t)(slash - path));
    int code = folders_make(above, error);
    free(above);
    return code;
}

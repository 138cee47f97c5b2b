#include "service/http_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "service/http_connection.h"
#include "service/http_reply.h"
#include "service/http_tag.h"

static const char *content_type(const char *path) {
    static const struct {
        const char *ending, *type;
    } TYPES[] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".json", "application/json"},
        {".map", "application/json"},
        {".webmanifest", "application/manifest+json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".ico", "image/x-icon"},
        {".woff2", "font/woff2"},
        {".txt", "text/plain; charset=utf-8"},
        {".md", "text/plain; charset=utf-8"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof TYPES / sizeof *TYPES; i++)
        if (!strcmp(dot, TYPES[i].ending)) return TYPES[i].type;
    return "application/octet-stream";
}

/* No segment is hidden: neither "..", nor ".git". */
static bool path_is_plain(const char *path) {
    for (const char *at = path; at; at = strchr(at + 1, '/'))
        if (at[*at == '/'] == '.') return false;
    return true;
}

/* Opens the regular file of the path below root, wherever symbolic links lead, but never outside; -1: there is none. */
static int open_below(const char *root, const char *path, struct stat *info) {
    char real_root[PATH_MAX], real_file[PATH_MAX];
    int fd = -1;
    char *joined = mem_format("%s/%s", root, path + strspn(path, "/"));
    if (!realpath(root, real_root) || !realpath(joined, real_file)) goto finish;
    size_t length = strlen(real_root);
    // The root "/" already ends with the separator.
    length -= real_root[length - 1] == '/';
    if (strncmp(real_file, real_root, length) || real_file[length] != '/') goto finish;
    // O_NONBLOCK: opening a FIFO that somebody put there must not stop the loop.
    fd = open(real_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, info) || !S_ISREG(info->st_mode))) {
        close(fd);
        fd = -1;
    }
finish:
    free(joined);
    return fd;
}

void http_reply_file(struct http_request *request, const char *root, const char *path) {
    bool head = !strcmp(http_method(request), "HEAD");
    if (!head && strcmp(http_method(request), "GET")) {
        http_bad_method(request, "GET, HEAD, OPTIONS");
        return;
    }
    if (!*path || !strcmp(path, "/")) path = "/index.html";
    struct stat info;
    int fd = path_is_plain(path) ? open_below(root, path, &info) : -1;
    if (fd < 0) {
        http_problem(request, 404, "no_such_path", "there is no such page", 0);
        return;
    }

    char tag[80];
    snprintf(tag, sizeof tag, "\"%jx-%jx-%lx\"", (uintmax_t)info.st_size, (uintmax_t)info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec);
    bool unchanged = http_tag_matches(http_header(request, "If-None-Match"), tag);
    struct MHD_Response *response;
    if (unchanged) {
        close(fd);
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    } else
        response = MHD_create_response_from_fd64((uint64_t)info.st_size, fd); // which closes it in the end
    if (!response) abort(); // out of memory, which base/mem.h cannot see here
    MHD_add_response_header(response, "ETag", tag);
    // Kept, but asked for again each time: a new version of the page is seen at the next load.
    MHD_add_response_header(response, "Cache-Control", "no-cache");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (!unchanged) MHD_add_response_header(response, "Content-Type", content_type(path));
    http_answer(request, unchanged ? 304 : 200, response);
}

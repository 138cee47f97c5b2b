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
#include "service/http_incoming.h"
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
        {".geojson", "application/geo+json"},
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

/* Closes the file. One that is cut at this moment is sent as far as it goes. */
static struct MHD_Response *packed_file(struct http_gzip *gzip, int fd, size_t size) {
    char *bytes = mem_alloc(size + 1);
    size_t have = 0;
    ssize_t got = 1;
    for (; have < size && got > 0; have += got > 0 ? (size_t)got : 0) got = read(fd, bytes + have, size - have);
    close(fd);
    struct MHD_Response *response = http_gzip_response(gzip, bytes, have);
    free(bytes);
    return response;
}

void http_reply_file(struct http_request *request, const char *root, const char *path, const struct http_field *field) {
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

    struct http_gzip *gzip = http_connection_gzip(http_request_connection(request));
    bool varies = info.st_size <= HTTP_GZIP_STEP && http_gzip_varies(gzip, content_type(path), (size_t)info.st_size);
    char tag[80];
    // A strong tag would stand for the same bytes.
    snprintf(tag, sizeof tag, "%s\"%jx-%jx-%lx\"", varies ? "W/" : "", (uintmax_t)info.st_size,
             (uintmax_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    bool unchanged = http_tag_matches(http_header(request, "If-None-Match"), tag);
    struct MHD_Response *response;
    if (unchanged) {
        close(fd);
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    } else if (varies && http_gzip_accepted(http_header(request, "Accept-Encoding")))
        response = packed_file(gzip, fd, (size_t)info.st_size);
    else
        response = MHD_create_response_from_fd64((uint64_t)info.st_size, fd); // which closes it in the end
    if (!response) abort(); // out of memory, which base/mem.h cannot see here
    if (varies) MHD_add_response_header(response, "Vary", "Accept-Encoding");
    MHD_add_response_header(response, "ETag", tag);
    // Kept, but asked for again each time: a new version of the page is seen at the next load.
    MHD_add_response_header(response, "Cache-Control", "no-cache");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (field) MHD_add_response_header(response, field->name, field->value);
    if (!unchanged) MHD_add_response_header(response, "Content-Type", content_type(path));
    http_answer(request, unchanged ? 304 : 200, response);
}

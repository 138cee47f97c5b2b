#include "service/http_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/mem.h"
#include "service/http_connection.h"
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

/* Opens the regular file of the path below root, wherever symbolic links lead, but never outside; -1: no such file. */
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

/* A file as it is sent. */
struct variant {
    struct stat info;
    int fd;
    const char *coding; // of the file beside it that was packed when the page was built; NULL: as it is
};

/* The file that was packed beside it, if there is one that is no older and the client takes it. */
static void find_packed(const struct http_request *request, const char *root, const char *path, struct variant *file,
                        bool *varies) {
    static const struct { const char *coding, *ending; } CODINGS[] = {{"br", ".br"}, {"gzip", ".gz"}};
    const char *accept = http_header(request, "Accept-Encoding");
    for (size_t i = 0; i < ARRAY_SIZE(CODINGS) && !file->coding; i++) {
        struct stat info;
        char *beside = mem_format("%s%s", path, CODINGS[i].ending);
        int fd = open_below(root, beside, &info);
        bool current = fd >= 0 && info.st_mtim.tv_sec >= file->info.st_mtim.tv_sec;
        *varies |= current;
        if (current && http_coding_accepted(accept, CODINGS[i].coding)) {
            close(file->fd);
            file->fd = fd;
            file->coding = CODINGS[i].coding;
            file->info.st_size = info.st_size;
        } else if (fd >= 0)
            close(fd);
        free(beside);
    }
}

/* Closes the file in the end. */
static struct http_body body_of(const struct variant *file, bool pack, struct buffer *fields) {
    uint64_t size = (uint64_t)file->info.st_size;
    const char *coding = pack ? "gzip" : file->coding;
    if (coding) http_put_field(fields, "Content-Encoding", coding);
    return pack ? http_gzip_file(file->fd, size) : (struct http_body){.file = true, .fd = file->fd, .left = size};
}

static bool wants_html(const struct http_request *request) {
    const char *accept = http_header(request, "Accept");
    return accept && strstr(accept, "text/html");
}

void http_reply_file(struct http_request *request, const char *root, const char *path,
                     const struct http_file_how *how) {
    unsigned status = 200;
    if (strcmp(http_method(request), "GET") && strcmp(http_method(request), "HEAD")) {
        http_bad_method(request, "GET, HEAD, OPTIONS");
        return;
    }
    if (!*path || !strcmp(path, "/")) path = "/index.html";
    struct variant file = {.fd = -1};
    if (path_is_plain(path)) file.fd = open_below(root, path, &file.info);
    if (file.fd < 0 && how->absent && wants_html(request)) {
        path = how->absent;
        status = 404;
        file.fd = open_below(root, path, &file.info);
    }
    if (file.fd < 0) {
        http_problem(request, 404, "no_such_path", "there is no such page", 0);
        return;
    }

    struct http_gzip *gzip = http_connection_gzip(request->connection);
    bool packs = http_gzip_varies(gzip, content_type(path), (size_t)file.info.st_size), varies = packs;
    char tag[80];
    size_t whole = (size_t)file.info.st_size;
    if (packs) find_packed(request, root, path, &file, &varies);
    // A strong tag would stand for the same bytes.
    snprintf(tag, sizeof tag, "%s\"%zx-%jx-%lx\"", varies ? "W/" : "", whole, (uintmax_t)file.info.st_mtim.tv_sec,
             file.info.st_mtim.tv_nsec);
    bool unchanged = status == 200 && http_tag_matches(http_header(request, "If-None-Match"), tag);
    bool pack =
        packs && !file.coding && whole <= HTTP_GZIP_STEP && http_gzip_accepted(http_header(request, "Accept-Encoding"));
    struct buffer *fields = http_connection_fields(request->connection);
    struct http_body body = {.bytes = NULL};
    if (unchanged)
        close(file.fd);
    else
        body = body_of(&file, pack, fields);
    if (varies) http_put_field(fields, "Vary", "Accept-Encoding");
    http_put_field(fields, "ETag", tag);
    // Kept, but asked for again each time: a new version of the page is seen at the next load.
    http_put_field(fields, "Cache-Control", how->immutable ? "public, max-age=31536000, immutable" : "no-cache");
    http_put_field(fields, "X-Content-Type-Options", "nosniff");
    if (how->field) http_put_field(fields, how->field->name, how->field->value);
    if (!unchanged) http_put_field(fields, "Content-Type", content_type(path));
    http_answer(request, unchanged ? 304 : status, body);
}

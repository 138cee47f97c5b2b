/* A local directory. A hidden file is .NAME-RANDOM.tmp beside its place; link(2), which replaces nothing, gives it its name. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/mem.h"
#include "storage/kind.h"

enum { ATTEMPTS = 100 };

struct local {
    struct storage storage;
    char *root;
};

struct local_writer {
    struct storage_writer writer;
    const struct local *local;
    char *path, *hidden; /* path: below the root; hidden: whole */
    int fd;
};

struct local_reader {
    struct storage_reader reader;
    char *path; /* whole */
    int fd;
};

static int failed(struct error *error, const char *path) {
    int code = -errno;
    return error_set(error, code, "%s: %s", path, strerror(-code));
}

static char *whole_path(const struct local *local, const char *path) {
    return *path ? mem_format("%s/%s", local->root, path) : mem_string(local->root);
}

/* Takes the last name off a path below the root; false: none is left. */
static bool cut(char *path) {
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = 0;
    return *path != 0;
}

static void local_close(struct storage *storage) {
    struct local *local = (struct local *)storage;
    free(local->root);
    free(local);
}

/* ---- folders ---- */

/* Calls `each` for all names in a folder. */
static int walk(const char *path, bool must, void (*each)(void *context, int folder, const char *name), void *context,
                struct error *error) {
    DIR *folder = opendir(path);
    if (!folder) return errno == ENOENT && !must ? 0 : failed(error, path);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(context, dirfd(folder), entry->d_name);
    }
    int code = errno ? failed(error, path) : 0;
    closedir(folder);
    return code;
}

struct listing {
    storage_found *found;
    void *context;
};

static void list_one(void *context, int folder, const char *name) {
    const struct listing *listing = context;
    struct stat status;
    // It may be gone by now.
    if (name[0] == '.' || fstatat(folder, name, &status, 0)) return;
    listing->found(listing->context, &(struct storage_entry){.name = name,
                                                             .changed_ms = (int64_t)status.st_mtim.tv_sec * 1000 +
                                                                           status.st_mtim.tv_nsec / 1000000});
}

static int local_list(struct storage *storage, const char *folder, storage_found *found, void *context,
                      struct error *error) {
    char *path = whole_path((const struct local *)storage, folder);
    int code = walk(path, !*folder, list_one, &(struct listing){.found = found, .context = context}, error);
    free(path);
    return code;
}

struct sweeping {
    bool (*ours)(void *context, const char *name);
    void *context;
};

static void sweep_one(void *context, int folder, const char *name) {
    const struct sweeping *sweeping = context;
    size_t size = strlen(name);
    const char *dash = strrchr(name, '-');
    if (name[0] != '.' || size < 5 || strcmp(name + size - 4, ".tmp") != 0 || !dash) return;
    char *file = mem_stringn(name + 1, (size_t)(dash - name) - 1);
    // A file that cannot be removed does no harm, as nobody sees it.
    if (sweeping->ours(sweeping->context, file)) unlinkat(folder, name, 0);
    free(file);
}

static int local_sweep(struct storage *storage, const char *folder, bool (*ours)(void *context, const char *name),
                       void *context, struct error *error) {
    char *path = whole_path((const struct local *)storage, folder);
    int code = walk(path, false, sweep_one, &(struct sweeping){.ours = ours, .context = context}, error);
    free(path);
    return code;
}

static int local_remove(struct storage *storage, const char *path, struct error *error) {
    const struct local *local = (const struct local *)storage;
    char *below = mem_string(path), *whole = whole_path(local, path);
    int code = unlink(whole) && errno != ENOENT ? failed(error, whole) : 0;
    free(whole);
    // Another process may be about to write into the folder: it makes it anew (local_create).
    for (bool empty = code == 0; empty && cut(below);) {
        whole = whole_path(local, below);
        empty = rmdir(whole) == 0;
        free(whole);
    }
    free(below);
    return code;
}

/* ---- writing ---- */

static void writer_free(struct local_writer *writer) {
    if (writer->fd >= 0) close(writer->fd);
    free(writer->path);
    free(writer->hidden);
    free(writer);
}

static char *hidden_path(const struct local *local, const char *path) {
    uint64_t unique;
    if (getrandom(&unique, sizeof unique, 0) != sizeof unique) abort(); // never short for eight bytes
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return mem_format("%s/%.*s.%s-%016" PRIx64 ".tmp", local->root, (int)(name - path), path, name, unique);
}

static int local_create(struct storage *storage, const char *path, struct storage_writer **out, struct error *error) {
    const struct local *local = (const struct local *)storage;
    struct stat status;
    int code = 0;
    // The root is never made: it may be a disk that is not mounted.
    if (stat(local->root, &status)) return failed(error, local->root);
    struct local_writer *writer = MEM_NEW(&(struct local_writer){
        .writer = {.kind = storage->kind, .written = 0},
        .local = local,
        .path = mem_string(path),
        .hidden = hidden_path(local, path),
        .fd = -1,
    });
    for (int i = 0; i < ATTEMPTS && writer->fd < 0 && code == 0; i++) {
        code = folders_make_above(writer->hidden, error);
        if (code == 0) writer->fd = open(writer->hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        // The folder may have been removed again, as it was empty.
        if (code == 0 && writer->fd < 0 && (errno != ENOENT || i + 1 == ATTEMPTS)) code = failed(error, writer->hidden);
        if (code == -ENOENT && i + 1 < ATTEMPTS) code = 0;
    }
    if (code) {
        writer_free(writer);
        return code;
    }
    *out = &writer->writer;
    return 0;
}

static int local_write(struct storage_writer *storage_writer, const void *bytes, size_t size, struct error *error) {
    const struct local_writer *writer = (const struct local_writer *)storage_writer;
    const uint8_t *at = bytes;
    while (size > 0) {
        ssize_t written = write(writer->fd, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return failed(error, writer->hidden);
        at += written;
        size -= (size_t)written;
    }
    return 0;
}

static void local_abandon(struct storage_writer *storage_writer) {
    struct local_writer *writer = (struct local_writer *)storage_writer;
    unlink(writer->hidden);
    writer_free(writer);
}

static int sync_folder(const char *path, struct error *error) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;
    if (fd < 0) return failed(error, path);
    if (fsync(fd)) code = failed(error, path);
    close(fd);
    return code;
}

/* The names on the way to a file are on disk: its folders may be new themselves. A folder may be gone again, with the file, when
 * somebody else has removed that. */
static int sync_folders(const struct local *local, const char *path, struct error *error) {
    char *below = mem_string(path);
    int code = 0;
    for (bool more = true; code == 0 && more;) {
        more = cut(below);
        char *whole = whole_path(local, below);
        code = sync_folder(whole, error);
        if (code == -ENOENT && more) code = 0;
        free(whole);
    }
    free(below);
    return code;
}

/* NFS may answer EEXIST to a link that it made: a lost reply makes it ask twice. */
static bool is_linked(const struct local_writer *writer) {
    struct stat status;
    return fstat(writer->fd, &status) == 0 && status.st_nlink == 2;
}

static int name_file(const struct local_writer *writer, bool replace, struct error *error) {
    char *path = whole_path(writer->local, writer->path);
    int code = 0;
    if (replace ? rename(writer->hidden, path) : link(writer->hidden, path)) {
        code = replace || !is_linked(writer) ? failed(error, path) : 0;
        // The process that takes the file over has swept ours away.
        if (code == -ENOENT) code = error_set(error, -EEXIST, "%s is gone", writer->hidden);
    }
    free(path);
    return code;
}

static int local_finish(struct storage_writer *storage_writer, bool replace, struct error *error) {
    struct local_writer *writer = (struct local_writer *)storage_writer;
    int code = fsync(writer->fd) ? failed(error, writer->hidden) : 0;
    if (code == 0) code = name_file(writer, replace, error);
    unlink(writer->hidden);
    if (code == 0) code = sync_folders(writer->local, writer->path, error);
    writer_free(writer);
    return code;
}

/* ---- reading ---- */

static int local_read_open(struct storage *storage, const char *path, struct storage_reader **out,
                           struct error *error) {
    char *whole = whole_path((const struct local *)storage, path);
    int fd = open(whole, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int code = failed(error, whole);
        free(whole);
        return code;
    }
    struct local_reader *reader =
        MEM_NEW(&(struct local_reader){.reader = {.kind = storage->kind}, .path = whole, .fd = fd});
    *out = &reader->reader;
    return 0;
}

static ssize_t local_read(struct storage_reader *storage_reader, void *bytes, size_t size, struct error *error) {
    const struct local_reader *reader = (const struct local_reader *)storage_reader;
    ssize_t count;
    do {
        count = read(reader->fd, bytes, size);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? failed(error, reader->path) : count;
}

static void local_read_close(struct storage_reader *storage_reader) {
    struct local_reader *reader = (struct local_reader *)storage_reader;
    close(reader->fd);
    free(reader->path);
    free(reader);
}

static const struct storage_kind LOCAL = {
    .close = local_close,
    .list = local_list,
    .remove = local_remove,
    .sweep = local_sweep,
    .create = local_create,
    .write = local_write,
    .finish = local_finish,
    .abandon = local_abandon,
    .read_open = local_read_open,
    .read = local_read,
    .read_close = local_read_close,
};

int storage_local_open(const struct storage_options *options, struct storage **storage, struct error *error) {
    if (!*options->place) return error_set(error, -EINVAL, "no directory is given");
    struct local *local = MEM_NEW(&(struct local){.storage = {.kind = &LOCAL}, .root = mem_string(options->place)});
    *storage = &local->storage;
    return 0;
}

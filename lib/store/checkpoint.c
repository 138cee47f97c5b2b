#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/mem.h"
#include "store/private.h"

static int failed(const char *path, struct error *error) {
    return error_set(error, -errno, "%s: %s", path, strerror(errno));
}

/* Makes the folders above path. */
int store_checkpoint(struct store *store, const char *path, struct error *error) {
    int code = folders_make_above(path, error);
    if (code) return code;
    char *failure = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(store->db, &failure);
    code = store_failed(failure, path, error);
    if (code) return code;
    failure = NULL;
    rocksdb_checkpoint_create(checkpoint, path, 0, &failure); // 0: memtables are written out, so that the log is short
    rocksdb_checkpoint_object_destroy(checkpoint);
    return store_failed(failure, path, error);
}

bool store_exists(const char *path) {
    char *current = mem_format("%s/CURRENT", path);
    bool exists = access(current, F_OK) == 0;
    free(current);
    return exists;
}

/* Calls fn for each file of a folder, until one fails. */
static int each_file(const char *folder, int (*fn)(const char *folder, const char *name, void *context, struct error *),
                     void *context, struct error *error) {
    DIR *dir = opendir(folder);
    int code = dir ? 0 : failed(folder, error);
    for (struct dirent *entry; !code && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) code = fn(folder, entry->d_name, context, error);
    if (dir) closedir(dir);
    return code;
}

static int remove_file(const char *folder, const char *name, void *context, struct error *error) {
    char *path = mem_format("%s/%s", folder, name);
    int code = unlink(path) && errno != ENOENT ? failed(path, error) : 0;
    free(path);
    return code;
}

static int remove_folder(const char *path, struct error *error) {
    if (access(path, F_OK)) return 0;
    int code = each_file(path, remove_file, NULL, error);
    return !code && rmdir(path) ? failed(path, error) : code;
}

int store_remove(const char *path, struct error *error) {
    char *gone = mem_format("%s.gone", path);
    int code = remove_folder(gone, error);
    // By another name first: what is half removed must not be taken for a store.
    if (!code && rename(path, gone) && errno != ENOENT) code = failed(path, error);
    if (!code) code = remove_folder(gone, error);
    free(gone);
    return code;
}

struct cloning {
    const char *to; /* the folder */
    struct store_progress *progress;
};

static int copy_bytes(int in, int out, struct store_progress *progress) {
    char bytes[65536];
    ssize_t got;
    while ((got = read(in, bytes, sizeof bytes)) != 0) {
        if (progress->cancelled) return -ECANCELED;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -errno;
        progress->bytes += (uint64_t)got;
        for (ssize_t put = 0; put < got;) {
            ssize_t written = write(out, bytes + put, (size_t)(got - put));
            if (written < 0 && errno != EINTR) return -errno;
            if (written > 0) put += written;
        }
    }
    return fsync(out) ? -errno : 0;
}

static int copy_file(const char *from, const char *to, struct store_progress *progress, struct error *error) {
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, code = in < 0 ? -errno : 0;
    if (!code) out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!code && out < 0) code = -errno;
    if (!code) code = copy_bytes(in, out, progress);
    if (in >= 0) close(in);
    if (out >= 0 && close(out) && !code) code = -errno;
    return code ? error_set(error, code, "%s to %s: %s", from, to, strerror(-code)) : 0;
}

static uint64_t size_of(const char *path) {
    struct stat status;
    return stat(path, &status) || status.st_size < 0 ? 0 : (uint64_t)status.st_size;
}

static bool is_left_out(const char *name) { return !strcmp(name, "LOCK") || !strncmp(name, "LOG", 3); }

static int count_file(const char *folder, const char *name, void *context, struct error *error) {
    struct store_progress *progress = context;
    char *path = mem_format("%s/%s", folder, name);
    if (!is_left_out(name)) progress->total += size_of(path);
    free(path);
    return 0;
}

/* Tables never change and can be shared; everything else is written on. */
static int clone_file(const char *folder, const char *name, void *context, struct error *error) {
    const struct cloning *cloning = context;
    const char *dot = strrchr(name, '.');
    if (is_left_out(name)) return 0;
    char *from = mem_format("%s/%s", folder, name), *to = mem_format("%s/%s", cloning->to, name);
    bool table = dot && !strcmp(dot, ".sst");
    int code = 0;
    if (table && link(from, to) == 0)
        cloning->progress->bytes += size_of(to);
    else
        code = copy_file(from, to, cloning->progress, error);
    free(from);
    free(to);
    return code;
}

static int sync_folder(const char *path, struct error *error) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = folder < 0 || fsync(folder) ? failed(path, error) : 0;
    if (folder >= 0) close(folder);
    return code;
}

int store_clone(const char *from, const char *path, struct store_progress *progress, struct error *error) {
    struct store_progress unseen = {.bytes = 0, .total = 0, .cancelled = false};
    char *part = mem_format("%s.part", path);
    int code =
        store_exists(from) ? folders_make_above(path, error) : error_set(error, -ENOENT, "%s: not a store", from);
    if (!code) code = remove_folder(part, error);
    if (!code && mkdir(part, 0700)) code = failed(part, error);
    struct cloning cloning = {.to = part, .progress = progress ? progress : &unseen};
    if (!code) code = each_file(from, count_file, cloning.progress, error);
    if (!code) code = each_file(from, clone_file, &cloning, error);
    if (!code) code = sync_folder(part, error);
    if (!code && rename(part, path)) code = failed(path, error);
    if (code) remove_folder(part, NULL);
    free(part);
    return code;
}

#include "unit/lib/store/small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static void tell_kernel(const char *path, char *text) {
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, text, strlen(text)) < 0) print_message("%s: %s\n", path, strerror(errno));
    if (file >= 0) close(file);
    free(text);
}

/* A namespace of our own, so that the mount goes when this process ends. Once, before RocksDB starts threads: those that run stay
 * where they are. */
static bool may_mount(void) {
    const unsigned user = getuid(), group = getgid();
    if (unshare(CLONE_NEWNS)) {
        // Anybody else is root of a namespace of users.
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return false;
        tell_kernel("/proc/self/setgroups", mem_string("deny"));
        tell_kernel("/proc/self/uid_map", mem_format("0 %u 1", user));
        tell_kernel("/proc/self/gid_map", mem_format("0 %u 1", group));
    }
    return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int small_disk_new(void **state) {
    struct small_disk *disk = mem_alloc(sizeof *disk);
    *disk = (struct small_disk){.folder = "/tmp/test-disk-XXXXXX"};
    *state = NULL;
    if (!mkdtemp(disk->folder)) return -1;
    if (!may_mount() || mount("none", disk->folder, "tmpfs", 0, "size=40m")) {
        print_message("skipped: only root, or whoever may make user namespaces, can mount a small disk\n");
        rmdir(disk->folder);
        free(disk);
        return 0;
    }
    disk->path = mem_format("%s/store", disk->folder);
    disk->filler = mem_format("%s/filler", disk->folder);
    disk->aside = mem_format("%s/aside", disk->folder);
    *state = disk;
    return 0;
}

int small_disk_free(void **state) {
    struct small_disk *disk = *state;
    if (!disk) return 0;
    int code = umount(disk->folder) || rmdir(disk->folder);
    free(disk->path);
    free(disk->filler);
    free(disk->aside);
    free(disk);
    return code;
}

void small_disk_make_room(const struct small_disk *disk) { unlink(disk->filler); }

void small_disk_fill(const struct small_disk *disk, long room) {
    static const char BYTES[4096];
    int file = open(disk->filler, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    long size = 0;
    assert_true(file >= 0);
    for (ssize_t written; (written = write(file, BYTES, sizeof BYTES)) > 0;) size += written;
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(ftruncate(file, size > room ? size - room : 0), 0);
    close(file);
}

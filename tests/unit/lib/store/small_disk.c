#include "unit/lib/store/small_disk.h"

#include "unit/kit/kit.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

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

static void small_disk_free(void *it) {
    FREED struct small_disk *disk = it;
    assert_int_equal(umount(disk->folder), 0);
    free(disk->path);
    free(disk->filler);
    free(disk->aside);
}

struct small_disk *small_disk_new(void) {
    char *folder = kit_folder();
    if (!may_mount() || mount("none", folder, "tmpfs", 0, "size=40m")) {
        print_message("skipped: only root, or whoever may make user namespaces, can mount a small disk\n");
        return NULL;
    }
    struct small_disk *disk = MEM_NEW(&(struct small_disk){.folder = folder});
    disk->path = mem_format("%s/store", disk->folder);
    disk->filler = mem_format("%s/filler", disk->folder);
    disk->aside = mem_format("%s/aside", disk->folder);
    kit_after(small_disk_free, disk);
    return disk;
}

void small_disk_make_room(const struct small_disk *disk) { unlink(disk->filler); }

void small_disk_fill(const struct small_disk *disk, long room) {
    static const char BYTES[4096];
    FREED_BY(kit_close) int file = open(disk->filler, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    long size = 0;
    assert_true(file >= 0);
    for (ssize_t written; (written = write(file, BYTES, sizeof BYTES)) > 0;) size += written;
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(ftruncate(file, size > room ? size - room : 0), 0);
}

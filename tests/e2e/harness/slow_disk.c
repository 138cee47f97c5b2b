/* Preloaded into a daemon: a file system that takes its time. fsync of what is named *SLOW_SYNC and opendir of SLOW_FOLDER wait for
 * SLOW_MS first. A line in the daemon's log says that opendir begins to wait. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_a_while(void) { usleep((useconds_t)atoi(getenv("SLOW_MS")) * 1000); }

int fsync(int fd) {
    char name[64], path[4096];
    const char *slow = getenv("SLOW_SYNC");
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(name, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    size_t tail = slow ? strlen(slow) : 0;
    if (tail && size >= (ssize_t)tail && !strcmp(path + size - tail, slow)) wait_a_while();
    return (int)syscall(SYS_fsync, fd);
}

DIR *opendir(const char *path) {
    DIR *(*real)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    const char *slow = getenv("SLOW_FOLDER");
    if (slow && !strcmp(path, slow)) {
        dprintf(STDERR_FILENO, "opendir waits\n");
        wait_a_while();
    }
    return real(path);
}

#include "decider/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/mem.h"

enum { NAME_SIZE = 32 }; /* hexadecimal digits */

static int failed(struct error *error, const char *file) {
    int code = -errno;
    return error_set(error, code, "%s: %s", file, strerror(-code));
}

/* 1: read, 0: there is no such file, or not a whole name in it. */
static int read_name(const char *file, char name[NAME_SIZE + 1], struct error *error) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : failed(error, file);
    ssize_t got = read(fd, name, NAME_SIZE);
    int code = got < 0 ? failed(error, file) : 0;
    close(fd);
    if (code) return code;
    name[got] = '\0';
    return strspn(name, "0123456789abcdef") == NAME_SIZE;
}

/* A full disk writes as much as there is room for, without an error; the error comes with the next write. */
static int write_whole(int fd, const char *name, const char *file, struct error *error) {
    for (size_t written = 0; written < NAME_SIZE;) {
        ssize_t took = write(fd, name + written, NAME_SIZE - written);
        if (took < 0 && errno == EINTR) continue;
        if (took < 0) return failed(error, file);
        if (took == 0) return error_set(error, -ENOSPC, "%s: nothing can be written", file);
        written += (size_t)took;
    }
    return fsync(fd) ? failed(error, file) : 0;
}

/* Written aside and renamed: a name that was used must not be read back as another. */
static int write_name(const char *file, const char *name, struct error *error) {
    char *aside = mem_format("%s.new", file);
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int code = fd < 0 ? failed(error, aside) : write_whole(fd, name, aside, error);
    if (fd >= 0) close(fd);
    if (!code && rename(aside, file)) code = failed(error, file);
    free(aside);
    return code;
}

int identity_load(const char *instance, const char *file, char **name, struct error *error) {
    char text[NAME_SIZE + 1];
    if (instance && *instance) {
        *name = mem_string(instance);
        return 0;
    }
    int code = folders_make_above(file, error);
    if (!code) code = read_name(file, text, error);
    if (code < 0) return code;
    if (!code) {
        uint64_t random[2];
        if (getrandom(random, sizeof random, 0) != sizeof random) return failed(error, "random numbers");
        snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
        code = write_name(file, text, error);
        if (code) return code;
    }
    *name = mem_string(text);
    return 0;
}

int identity_transactional(const char *prefix, const char *group, const char *instance, const char *folder, char **id,
                           struct error *error) {
    char *file = mem_format("%s/identity", folder), *name = NULL;
    int code = identity_load(instance, file, &name, error);
    if (!code) *id = mem_format("%s%s-%s", prefix, group, name);
    free(file);
    free(name);
    return code;
}

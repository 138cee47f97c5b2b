/* Preloaded into a process: its wall clock differs from the machine's by the nanoseconds that the file JUMPING_CLOCK holds (8 bytes, the
 * machine's order), which may change at any time. As on a machine whose clock is set, the monotonic clock goes on, and whoever waits until a
 * time of the wall clock waits until the new clock shows it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100, WALL_AFTER_S = 1000000000 }; /* no machine runs for 30 years: later times are of the wall clock */
#define SECOND INT64_C(1000000000)

static _Atomic int64_t none;
static _Atomic int64_t *offset = &none;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("JUMPING_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (mapped == MAP_FAILED) abort();
    offset = mapped;
}

static int64_t ns_of(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec of_ns(int64_t ns) { return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND}; }

static int64_t real_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return ns_of(&now);
}

static int64_t wall_ns(void) { return real_ns() + atomic_load(offset); }

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, now);
    *now = of_ns(wall_ns());
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    int64_t ns = wall_ns();
    *now = (struct timeval){.tv_sec = ns / SECOND, .tv_usec = ns % SECOND / 1000};
    return 0;
}

time_t time(time_t *now) {
    time_t seconds = wall_ns() / SECOND;
    if (now) *now = seconds;
    return seconds;
}

int timespec_get(struct timespec *now, int base) {
    if (base != TIME_UTC) return 0;
    *now = of_ns(wall_ns());
    return base;
}

/* Waits by slices of the machine's clock until the jumping one shows that time. */
#define WAIT(wait, cond, mutex, until, timed_out)                                                                      \
    do {                                                                                                               \
        if ((until)->tv_sec < WALL_AFTER_S) return wait(cond, mutex, until);                                           \
        for (;;) {                                                                                                     \
            int64_t now = real_ns(), end = ns_of(until) - atomic_load(offset);                                         \
            int64_t slice = now + LOOK_MS * INT64_C(1000000);                                                          \
            struct timespec stop = of_ns(end < slice ? end : slice);                                                   \
            int code = wait(cond, mutex, &stop);                                                                       \
            if (code != (timed_out) || wall_ns() >= ns_of(until)) return code;                                         \
        }                                                                                                              \
    } while (0)

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    WAIT(real, cond, mutex, until, ETIMEDOUT);
}

int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict until) {
    int (*real)(cnd_t *, mtx_t *, const struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "cnd_timedwait");
    WAIT(real, cond, mutex, until, thrd_timedout);
}

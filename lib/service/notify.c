#include "service/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

enum { AGAIN_MS = 1000 };

struct notify {
    int socket; /* -1: nobody wants to be told */
    struct sockaddr_un address;
    socklen_t address_size;
    uint64_t watchdog_ms; /* 0: nobody watches */
    struct loop_timer *timer;
    char *untold; /* the last state, where the manager had no room for it */
};

/* A path, or a name of Linux's own with '@' in front. False: neither. */
static bool read_address(struct notify *notify, const char *name) {
    size_t length = name ? strlen(name) : 0;
    if (length < 2 || length >= sizeof notify->address.sun_path || (*name != '/' && *name != '@')) return false;
    notify->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(notify->address.sun_path, name, length);
    if (*name == '@') notify->address.sun_path[0] = '\0';
    notify->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

/* The watchdog's period, if it is this process that the manager watches. */
static uint64_t read_watchdog_ms(void) {
    const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (!period || (pid && strtoll(pid, NULL, 10) != getpid())) return 0;
    return strtoull(period, NULL, 10) / 1000;
}

struct notify *notify_new(void) {
    struct notify *notify = MEM_NEW(&(struct notify){.socket = -1, .watchdog_ms = read_watchdog_ms()});
    if (read_address(notify, getenv("NOTIFY_SOCKET"))) notify->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return notify;
}

void notify_free(struct notify *notify) {
    if (!notify) return;
    notify_rest(notify);
    if (notify->socket >= 0) close(notify->socket);
    free(notify->untold);
    free(notify);
}

/* False: the manager's queue is full. It does not wait: a manager that stands still must not make the daemon do so. */
static bool send_lines(const struct notify *notify, const char *lines) {
    ssize_t sent = sendto(notify->socket, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
                          (const struct sockaddr *)&notify->address, notify->address_size);
    return sent >= 0 || errno != EAGAIN;
}

void notify_tell(struct notify *notify, const char *lines) {
    if (notify->socket < 0) return;
    char *untold = send_lines(notify, lines) ? NULL : mem_string(lines);
    free(notify->untold); /* a newer state takes its place */
    notify->untold = untold;
}

static void turned(void *context) {
    struct notify *notify = context;
    if (notify->untold && send_lines(notify, notify->untold)) {
        free(notify->untold);
        notify->untold = NULL;
    }
    if (notify->watchdog_ms) send_lines(notify, "WATCHDOG=1");
}

void notify_watch(struct notify *notify, uv_loop_t *loop) {
    if (notify->socket < 0) return;
    uint64_t every_ms = notify->watchdog_ms ? notify->watchdog_ms / 2 + 1 : AGAIN_MS;
    notify->timer = loop_timer_new(loop, every_ms, every_ms, turned, notify);
}

void notify_rest(struct notify *notify) {
    loop_timer_free(notify->timer);
    notify->timer = NULL;
}

#include "service/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

struct notify {
    int socket; /* -1: nobody wants to be told */
    struct sockaddr_un address;
    socklen_t address_size;
    uint64_t watchdog_ms; /* 0: there is none */
    struct loop_timer *watchdog;
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
    struct notify *notify = mem_alloc(sizeof *notify);
    *notify = (struct notify){.socket = -1, .watchdog_ms = read_watchdog_ms()};
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
    free(notify);
}

void notify_tell(const struct notify *notify, const char *lines) {
    if (notify->socket < 0) return;
    /* It waits when the manager's queue is full, as libsystemd does: a READY=1 that is lost leaves the manager waiting for ever. */
    sendto(notify->socket, lines, strlen(lines), MSG_NOSIGNAL, (const struct sockaddr *)&notify->address,
           notify->address_size);
}

static void turned(void *context) { notify_tell(context, "WATCHDOG=1"); }

void notify_watch(struct notify *notify, uv_loop_t *loop) {
    if (notify->socket < 0 || !notify->watchdog_ms) return;
    uint64_t half_ms = notify->watchdog_ms / 2 + 1; /* a period of 0 would be a timer that fires once */
    notify->watchdog = loop_timer_new(loop, half_ms, half_ms, turned, notify);
}

void notify_rest(struct notify *notify) {
    loop_timer_free(notify->watchdog);
    notify->watchdog = NULL;
}

/* Tells a service manager about this process in systemd's protocol (sd_notify(3)): one datagram of KEY=VALUE lines to the socket that
 * NOTIFY_SOCKET names. Does nothing where NOTIFY_SOCKET is not set. A manager that does not listen is no failure. Loop's thread.
 * libsystemd would be one more library in every daemon, for one line of text, and its function waits when the manager's queue is full. */
#pragma once

#include "base/loop.h"

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment: they are not for processes that this
 * one starts. Call it while there is one thread. */
struct notify *notify_new(void);
void notify_free(struct notify *notify); /* NULL is fine */

/* Tells the lines of a state, for example "READY=1\nSTATUS=ready". It never waits. */
void notify_tell(struct notify *notify, const char *lines);

/* While the loop turns, it tells the watchdog so, twice in each period that the manager asked for, and tells a state again that the manager
 * had no room for. notify_rest ends it: before the loop is closed. */
void notify_watch(struct notify *notify, uv_loop_t *loop);
void notify_rest(struct notify *notify);

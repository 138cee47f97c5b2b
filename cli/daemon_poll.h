/* Asks daemons for /readyz and /metrics on their ops addresses. Loop's thread. */
#pragma once

#include "base/error.h"
#include "base/loop.h"
#include "cli/daemon_view.h"

struct daemon_poll;

struct daemon_poll_options {
    uv_loop_t *loop;
    const char *const *lists; /* addresses: host:port, several separated by commas or blanks */
    size_t list_count;
    void *context;
    void (*answered)(void *context); /* nobody owes an answer any more: each has given it, or is away */
};

/* -EINVAL: an address is wrong, or the list is empty. */
int daemon_poll_new(const struct daemon_poll_options *options, struct daemon_poll **made, struct error *error);

/* Asks all who owe no answer; within two seconds each has answered or counts as away. */
void daemon_poll_ask(struct daemon_poll *poll);
size_t daemon_poll_awaited(const struct daemon_poll *poll); /* who owe an answer */

/* Their last answers; valid as long as the poll. */
const struct daemon_view *const *daemon_poll_views(const struct daemon_poll *poll, size_t *count);

/* Before the loop ends: nobody is asked any more. Then `answered` is not called. */
void daemon_poll_close(struct daemon_poll *poll);
void daemon_poll_free(struct daemon_poll *poll); /* closes it if need be; NULL is fine */

/* One reading, with a loop of its own. Blocking; the poll is closed, and the caller frees it. Errors as daemon_poll_new. */
int daemon_poll_once(const char *list, struct daemon_poll **made, struct error *error);

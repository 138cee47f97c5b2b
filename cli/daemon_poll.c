#include "cli/daemon_poll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "service/http_client.h"
#include "service/listen.h"

enum { ANSWER_MS = 2000 };

/* One daemon. A reading asks for /readyz, then for /metrics. */
struct polled_daemon {
    struct daemon_poll *poll;
    char *address;
    struct daemon_view view;
    bool asked; /* an answer is awaited */
};

struct daemon_poll {
    struct daemon_poll_options options;
    struct http_client *client; /* NULL: closed */
    struct polled_daemon *daemons;
    const struct daemon_view **views;
    size_t count, awaited;
};

static void answered(struct polled_daemon *daemon) {
    struct daemon_poll *poll = daemon->poll;
    daemon->asked = false;
    if (!--poll->awaited) poll->options.answered(poll->options.context);
}

static void fetch(struct polled_daemon *daemon, const char *path,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size)) {
    char *url = mem_format("http://%s%s", daemon->address, path);
    http_fetch(daemon->poll->client, "GET", url, NULL, NULL, ANSWER_MS, done, daemon);
    free(url);
}

static const char *reason_of(int code) {
    switch (code) {
    case -ETIMEDOUT: return "no answer";
    case -ECONNREFUSED: return "no connection";
    default: return "the connection broke";
    }
}

static void on_metrics(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct polled_daemon *daemon = context;
    if (!daemon->poll->client) return;
    if (code)
        daemon_view_away(&daemon->view, reason_of(code));
    else if (status == 200)
        daemon_view_numbers(&daemon->view, reply, (double)clock_monotonic_us() / 1e6);
    answered(daemon);
}

static void on_readiness(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct polled_daemon *daemon = context;
    if (!daemon->poll->client) return;
    if (code) daemon_view_away(&daemon->view, reason_of(code));
    if (!code && daemon_view_readiness(&daemon->view, status, reply, size))
        fetch(daemon, "/metrics", on_metrics);
    else
        answered(daemon);
}

void daemon_poll_ask(struct daemon_poll *poll) {
    for (size_t i = 0; i < poll->count && poll->client; i++) {
        struct polled_daemon *daemon = &poll->daemons[i];
        if (daemon->asked) continue;
        daemon->asked = true;
        poll->awaited++;
        fetch(daemon, "/readyz", on_readiness);
    }
}

size_t daemon_poll_awaited(const struct daemon_poll *poll) { return poll->awaited; }

const struct daemon_view *const *daemon_poll_views(const struct daemon_poll *poll, size_t *count) {
    *count = poll->count;
    return poll->views;
}

static int add_daemon(struct daemon_poll *poll, const char *text, size_t size, struct error *error) {
    struct address address;
    char *copy = mem_stringn(text, size);
    int code = address_parse(copy, &address, error);
    if (code) {
        free(copy);
        return -EINVAL;
    }
    poll->daemons = mem_resize(poll->daemons, poll->count + 1, sizeof *poll->daemons);
    poll->daemons[poll->count++] = (struct polled_daemon){.poll = poll, .address = copy};
    return 0;
}

static int add_daemons(struct daemon_poll *poll, const char *list, struct error *error) {
    int code = 0;
    while (!code && *(list += strspn(list, ", "))) {
        size_t size = strcspn(list, ", ");
        code = add_daemon(poll, list, size, error);
        list += size;
    }
    return code;
}

int daemon_poll_new(const struct daemon_poll_options *options, struct daemon_poll **made, struct error *error) {
    struct daemon_poll *poll = MEM_NEW(&(struct daemon_poll){.options = *options});
    int code = 0;
    for (size_t i = 0; !code && i < options->list_count; i++) code = add_daemons(poll, options->lists[i], error);
    if (!code && !poll->count) code = error_set(error, -EINVAL, "no daemon's address is given");
    if (code) {
        daemon_poll_free(poll);
        return code;
    }
    poll->views = mem_alloc(poll->count * sizeof *poll->views);
    for (size_t i = 0; i < poll->count; i++) {
        daemon_view_init(&poll->daemons[i].view, poll->daemons[i].address);
        poll->views[i] = &poll->daemons[i].view;
    }
    poll->client = http_client_new(options->loop);
    *made = poll;
    return 0;
}

void daemon_poll_close(struct daemon_poll *poll) {
    struct http_client *client = poll->client;
    poll->client = NULL; // before the pending answers come
    http_client_free(client);
}

void daemon_poll_free(struct daemon_poll *poll) {
    if (!poll) return;
    daemon_poll_close(poll);
    for (size_t i = 0; i < poll->count; i++) free(poll->daemons[i].address);
    free(poll->daemons);
    free(poll->views);
    free(poll);
}

static void stop(void *context) { uv_stop(context); }

int daemon_poll_once(const char *list, struct daemon_poll **made, struct error *error) {
    uv_loop_t loop;
    struct daemon_poll *poll = NULL;
    if (uv_loop_init(&loop)) return error_set(error, -EMFILE, "no event loop can be made");
    int code = daemon_poll_new(
        &(struct daemon_poll_options){
            .loop = &loop, .lists = &list, .list_count = 1, .context = &loop, .answered = stop},
        &poll, error);
    if (!code) {
        daemon_poll_ask(poll);
        uv_run(&loop, UV_RUN_DEFAULT);
        daemon_poll_close(poll);
        *made = poll;
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return code;
}

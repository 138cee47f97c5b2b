#include "unit/lib/service/world.h"

#include "unit/kit/kit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* METHOD|path|query a|X-Test|body: all that a handler sees. */
static void reply_seen(struct http_request *request) {
    FREED_BUFFER text = {.size = 0};
    size_t size;
    const char *body = http_body(request, &size), *query = http_query(request, "a"),
               *header = http_header(request, "x-test");
    buffer_format(&text, "%s|%s|%s|%s|", http_method(request), http_path(request), query ? query : "(none)",
                  header ? header : "(none)");
    buffer_append(&text, body ? body : "", size);
    http_reply(request, 200, "text/plain", text.data, text.size, NULL, 0);
}

static void reply_bearer(struct http_request *request) {
    size_t size = 0;
    const char *token = http_bearer(request, &size);
    if (token)
        http_reply(request, 200, "text/plain", token, size, NULL, 0);
    else
        http_problem(request, 401, "unauthorized", "say \"who\" you are", 0);
}

static void reply_tagged(struct http_request *request) {
    FREED_BUFFER body = {.size = 0};
    buffer_format(&body, "{\"a\":\"%s\"}", http_query(request, "a"));
    http_reply_tagged(request, &body);
}

static void reply_huge(struct http_request *request) {
    size_t size = 17 * 1024 * 1024;
    FREED char *body = mem_zero(1, size);
    http_reply(request, 200, "application/octet-stream", body, size, NULL, 0);
}

static void handle(void *context, struct http_request *request) {
    struct world *world = context;
    const char *path = http_path(request);
    world->handled++;
    if (!strcmp(path, "/hold")) {
        assert_true(world->held_count < WORLD_HELD);
        http_set_context(request, world);
        world->held[world->held_count++] = request;
    } else if (!strcmp(path, "/bearer"))
        reply_bearer(request);
    else if (!strcmp(path, "/huge"))
        reply_huge(request);
    else if (!strncmp(path, "/files", 6))
        http_reply_file(request, world->root, path + 6, &(struct http_file_how){.absent = "/none.html"});
    else if (!strcmp(path, "/tagged"))
        reply_tagged(request);
    else if (!strcmp(http_method(request), "OPTIONS"))
        http_reply_options(request, "GET, PUT, OPTIONS");
    else if (!strcmp(path, "/busy"))
        http_problem(request, 503, "queue-full", "the queue is full", 7);
    else
        reply_seen(request);
}

struct world *world_new(struct http_server_options options) {
    struct world *world = mem_zero(1, sizeof *world);
    uv_loop_init(&world->loop);
    options.loop = &world->loop;
    options.context = world;
    options.handle = handle;
    if (!options.listen) options.listen = "127.0.0.1:0";
    if (http_server_new(&options, &world->server, &failure)) fail_msg("%s", failure.text);
    world->client = http_client_new(&world->loop);
    kit_after(world_free, world);
    return world;
}

void world_free(void *it) {
    FREED struct world *world = it;
    kit_forget(world);
    http_client_free(world->client);
    http_server_free(world->server);
    kit_loop_end(&world->loop);
}

void world_turn(struct world *world) {
    if (!uv_run(&world->loop, UV_RUN_NOWAIT) || !uv_backend_timeout(&world->loop)) return;
    usleep(200);
}

void answer_take(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct answer *answer = context;
    answer->count++;
    answer->code = code;
    answer->status = status;
    snprintf(answer->text, sizeof answer->text, "%.*s", (int)size, reply ? reply : "");
}

char *world_url(const struct world *world, const char *path) {
    return mem_format("http://127.0.0.1:%d%s", http_server_port(world->server), path);
}

struct answer world_fetch(struct world *world, const char *method, const char *path, const struct buffer *body) {
    struct answer answer = {.count = 0};
    FREED char *url = world_url(world, path);
    http_fetch(world->client, method, url, NULL, body, 5000, answer_take, &answer);
    world_until(world, answer.count);
    return answer;
}

int raw_connect(const struct world *world) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)http_server_port(world->server)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) {
        close(fd);
        return -errno;
    }
    return fd;
}

void raw_send(struct world *world, int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    int64_t started_us = clock_monotonic_us();
    while (size) {
        ssize_t sent = send(fd, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return; // the server has closed; what it said is there to be read
        if (clock_monotonic_us() - started_us > 10000000) fail_msg("the server does not read");
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
        }
        world_turn(world);
    }
}

void raw_text(struct world *world, int fd, const char *text) { raw_send(world, fd, text, strlen(text)); }

char *raw_read(struct world *world, int fd, const char *end) {
    FREED_BUFFER text = {.size = 0};
    int64_t started_us = clock_monotonic_us();
    for (;;) {
        ssize_t got = recv(fd, buffer_reserve(&text, 65536), 65536, MSG_DONTWAIT);
        if (got > 0) buffer_commit(&text, (size_t)got);
        const char *seen = buffer_cstring(&text);
        if (end && strstr(seen, end)) break;
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            if (end) fail_msg("closed before \"%s\": %s", end, seen);
            break;
        }
        if (clock_monotonic_us() - started_us > 10000000) fail_msg("still no \"%s\": %s", end ? end : "end", seen);
        world_turn(world);
    }
    return mem_string(buffer_cstring(&text));
}

char *raw_say(struct world *world, const char *method, const char *path, const char *fields) {
    FREED char *request = mem_format("%s %s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n", method, path, fields);
    int fd = raw_connect(world);
    raw_text(world, fd, request);
    char *reply = raw_read(world, fd, NULL);
    close(fd);
    return reply;
}

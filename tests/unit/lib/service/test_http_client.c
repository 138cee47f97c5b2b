/* The HTTP client: what it sends, and what it says when there is no answer. */
#include <curl/curl.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

SET_UP() { return world_new((struct http_server_options){.max_body = 1024 * 1024}); }

static struct answer fetch(struct world *world, const char *url, const char *token, int timeout_ms) {
    struct answer answer = {.count = 0};
    http_fetch(world->client, "GET", url, token, NULL, timeout_ms, answer_take, &answer);
    assert_int_equal(answer.count, 0); // never from within
    world_until(world, answer.count);
    return answer;
}

TEST(method_body_and_token_are_sent, struct world *world) {
    FREED_BUFFER body = {.size = 0};
    buffer_string(&body, "{\"a\":1}");
    static const char *const METHODS[] = {"POST", "PUT", "DELETE", "GET"};
    for (size_t i = 0; i < 4; i++) {
        struct answer answer = world_fetch(world, METHODS[i], "/x?a=1", &body);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%s|/x|1|(none)|{\"a\":1}", METHODS[i]);
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.text, wanted);
        assert_string_equal(world_fetch(world, METHODS[i], "/y", NULL).status == 200 ? "ok" : "", "ok");
    }
    FREED char *url = world_url(world, "/bearer");
    assert_string_equal(fetch(world, url, "the-token", 5000).text, "the-token");
    struct answer refused = fetch(world, url, NULL, 5000);
    assert_int_equal(refused.code, 0);
    assert_int_equal(refused.status, 401);
}

/* A large body must not wait for "100 Continue". */
TEST(large_body_is_sent_at_once, struct world *world) {
    FREED_BUFFER body = {.size = 0};
    size_t size = 1000 * 1024;
    memset(buffer_reserve(&body, size), 'x', size);
    buffer_commit(&body, size);
    int64_t started_us = clock_monotonic_us();
    assert_int_equal(world_fetch(world, "POST", "/", &body).status, 200);
    assert_true(clock_monotonic_us() - started_us < 900000);
}

TEST(silent_server_times_out, struct world *world) {
    FREED char *url = world_url(world, "/hold");
    int64_t started_us = clock_monotonic_us();
    struct answer answer = fetch(world, url, NULL, 80);
    int64_t took_ms = (clock_monotonic_us() - started_us) / 1000;
    assert_int_equal(answer.code, -ETIMEDOUT);
    assert_int_equal(answer.status, 0);
    assert_true(took_ms >= 75 && took_ms < 2000);
    // The server does not mind, and the client goes on.
    assert_int_equal(world->held_count, 1);
    http_reply(world->held[0], 200, "text/plain", "late", 4, NULL, 0);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
    assert_int_equal(answer.count, 1);
}

/* A bound port that nobody listens on, or that only accepts (listening). */
static int local_socket(bool listening, char *url, size_t size) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    if (listening) assert_int_equal(listen(fd, 5), 0);
    getsockname(fd, (struct sockaddr *)&address, &length);
    snprintf(url, size, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    return fd;
}

TEST(nobody_there_is_refused, struct world *world) {
    char url[64];
    FREED_BY(kit_close) int fd = local_socket(false, url, sizeof url);
    assert_int_equal(fetch(world, url, NULL, 5000).code, -ECONNREFUSED);
    assert_int_equal(fetch(world, "http://host.invalid/", NULL, 5000).code, -ECONNREFUSED);
}

TEST(broken_answers_are_errors, struct world *world) {
    assert_int_equal(fetch(world, "no url at all", NULL, 5000).code, -EIO);
    assert_int_equal(fetch(world, "file:///etc/passwd", NULL, 5000).code, -EIO);
    FREED char *url = world_url(world, "/huge");
    assert_int_equal(fetch(world, url, NULL, 9000).code, -EIO);

    static const char *const REPLIES[] = {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "garbage\r\n\r\n"};
    for (size_t i = 0; i < sizeof REPLIES / sizeof *REPLIES; i++) {
        char raw_url[64];
        struct answer answer = {.count = 0};
        int listener = local_socket(true, raw_url, sizeof raw_url), fd;
        http_fetch(world->client, "GET", raw_url, NULL, NULL, 5000, answer_take, &answer);
        world_until(world, (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0);
        char request[4096];
        world_until(world, recv(fd, request, sizeof request, 0) > 0);
        assert_int_equal(send(fd, REPLIES[i], strlen(REPLIES[i]), 0), strlen(REPLIES[i]));
        close(fd);
        world_until(world, answer.count);
        assert_int_equal(answer.code, -EIO);
        close(listener);
    }
}

/* Posts to a listener; the request as it has come. */
static void post_signed(struct world *world, const char *key, char request[4096]) {
    char url[64];
    struct answer answer = {.count = 0};
    FREED_BUFFER body = {0};
    buffer_string(&body, "The quick brown fox jumps over the lazy dog");
    int listener = local_socket(true, url, sizeof url), fd;
    ssize_t size = 0;
    http_post_signed(world->client, url, key, &body, 5000, answer_take, &answer);
    world_until(world, (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0);
    do {
        ssize_t more;
        world_until(world, (more = recv(fd, request + size, 4095 - (size_t)size, 0)) > 0);
        size += more;
        request[size] = '\0';
    } while (!strstr(request, "lazy dog"));
    const char *reply = "HTTP/1.1 204 No Content\r\n\r\n";
    assert_int_equal(send(fd, reply, strlen(reply), 0), strlen(reply));
    world_until(world, answer.count);
    assert_true(answer.code == 0 && answer.status == 204);
    close(fd);
    close(listener);
}

TEST(a_post_is_signed_where_there_is_a_key, struct world *world) {
    char request[4096];
    post_signed(world, "key", request);
    assert_contains(request, "POST / HTTP/1.1\r\n");
    assert_contains(request, "\r\nContent-Type: application/json\r\n");
    assert_contains(request, "\r\nStarling-Signature: "
                             "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8\r\n");
    post_signed(world, "", request);
    assert_null(strstr(request, "Signature"));
}

/* The environment's proxies are for the world outside, not for peers. */
TEST(proxies_are_not_used, struct world *world) {
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
    unsetenv("http_proxy");
}

TEST(freed_client_cancels, struct world *world) {
    struct answer answers[3] = {{.count = 0}};
    FREED char *url = world_url(world, "/hold");
    for (int i = 0; i < 3; i++) http_fetch(world->client, "GET", url, NULL, NULL, 5000, answer_take, &answers[i]);
    world_until(world, world->held_count == 3);
    http_client_free(world->client);
    world->client = NULL;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(answers[i].count, 1);
        assert_int_equal(answers[i].code, -ECANCELED);
        http_reply(world->held[i], 200, "text/plain", "x", 1, NULL, 0);
    }
}

/* Stands in front of the C library's: a name server that does not answer, for one name. */
static atomic_int looked_up;

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (node && strcmp(node, "unanswered.test") == 0) {
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
        atomic_fetch_add(&looked_up, 1);
        return EAI_AGAIN;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(node, service, hints, found);
}

/* Neither a question that is given up meanwhile waits for it, nor a client that is freed. */
TEST(silent_name_server_holds_up_nothing, struct world *world) {
    struct answer last = {.count = 0};
    int64_t started_us = clock_monotonic_us();
    assert_int_equal(fetch(world, "http://unanswered.test/", NULL, 100).code, -ETIMEDOUT);
    http_fetch(world->client, "GET", "http://unanswered.test/", NULL, NULL, 5000, answer_take, &last);
    uv_run(&world->loop, UV_RUN_NOWAIT);
    assert_int_equal(world_fetch(world, "GET", "/", NULL).status, 200);
    http_client_free(world->client);
    world->client = NULL;
    assert_int_equal(last.code, -ECANCELED);
    assert_true(clock_monotonic_us() - started_us < 1500000);
    while (atomic_load(&looked_up) < 2) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

struct chain {
    struct world *world;
    char *url;
    int left, canceled;
    bool free_client;
};

static void next_of_chain(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct chain *chain = context;
    chain->canceled += code == -ECANCELED;
    if (chain->free_client) {
        chain->free_client = false;
        http_client_free(chain->world->client);
        // A question to a client that is going away is answered, too.
        http_fetch(chain->world->client, "GET", chain->url, NULL, NULL, 5000, next_of_chain, chain);
        chain->world->client = NULL;
    } else if (code == 0 && --chain->left > 0)
        http_fetch(chain->world->client, "GET", chain->url, NULL, NULL, 5000, next_of_chain, chain);
}

TEST(done_may_fetch_again, struct world *world) {
    struct chain chain = {.world = world, .url = world_url(world, "/"), .left = 20};
    http_fetch(world->client, "GET", chain.url, NULL, NULL, 5000, next_of_chain, &chain);
    world_until(world, chain.left == 0);
    assert_int_equal(world->handled, 20);
    free(chain.url);
}

TEST(done_may_free_the_client, struct world *world) {
    struct answer answer = {.count = 0};
    struct chain chain = {.world = world, .url = world_url(world, "/"), .free_client = true};
    FREED char *hold = world_url(world, "/hold");
    http_fetch(world->client, "GET", hold, NULL, NULL, 5000, answer_take, &answer);
    world_until(world, world->held_count == 1);
    http_fetch(world->client, "GET", chain.url, NULL, NULL, 5000, next_of_chain, &chain);
    world_until(world, answer.count);
    assert_int_equal(answer.code, -ECANCELED);
    assert_int_equal(chain.canceled, 1);
    http_reply(world->held[0], 200, "text/plain", "x", 1, NULL, 0);
    free(chain.url);
}

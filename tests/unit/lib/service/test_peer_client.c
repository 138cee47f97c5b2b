/* Tests peer_client.c and peer_answer.c. The client for questions between processes: that connections are used again, and what it says
 * when there is no answer. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/chance.h"
#include "service/peer_answer.h"
#include "service/listen.h"
#include "service/peer_client.h"
#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

struct peers_world {
    struct world *world;
    struct peer_client *client;
    char address[32];
};

SET_UP() {
    struct peers_world *w = kit_zero(sizeof *w);
    w->world = world_new((struct http_server_options){.max_body = 1024});
    w->client = peer_client_new(&w->world->loop, "the-token");
    snprintf(w->address, sizeof w->address, "127.0.0.1:%d", http_server_port(w->world->server));
    return w;
}

TEAR_DOWN(struct peers_world *w) { peer_client_free(w->client); }

static struct answer get(struct peers_world *w, const char *address, const char *path, int timeout_ms) {
    struct answer answer = {.count = 0};
    peer_client_get(w->client, address, path, timeout_ms, answer_take, &answer);
    assert_int_equal(answer.count, 0); // never from within
    world_until(w->world, answer.count);
    return answer;
}

TEST(one_connection_asks_again_and_again, struct peers_world *w) {
    for (int i = 0; i < 20; i++) {
        struct answer answer = get(w, w->address, "/x?a=1", 5000);
        assert_int_equal(answer.code, 0);
        assert_int_equal(answer.status, 200);
        assert_string_equal(answer.text, "GET|/x|1|(none)|");
        assert_int_equal(http_server_connections(w->world->server), 1);
    }
    assert_string_equal(get(w, w->address, "/bearer", 5000).text, "the-token");
    assert_int_equal(get(w, w->address, "/huge", 9000).code, -EIO);
}

TEST(a_shared_port_is_noticed) {
    char text[32];
    int first, second, third, port, same;
    assert_int_equal(listen_open("127.0.0.1:0", true, &first, &port, &failure), 0);
    snprintf(text, sizeof text, "127.0.0.1:%d", port);
    assert_true(listen_is_taken(text));
    assert_int_equal(listen_open(text, true, &second, &same, &failure), 0);
    assert_int_equal(listen_open(text, false, &third, &same, &failure), -EADDRINUSE);
    close(second);
    assert_true(listen_is_taken(text));
    close(first);
    assert_false(listen_is_taken(text));
    assert_false(listen_is_taken("nonsense"));
}

TEST(a_peer_may_have_an_ipv6_address, struct peers_world *w) {
    int fd, port;
    if (listen_open("[::1]:0", false, &fd, &port, &failure)) return; // a machine may be without
    close(fd);
    struct world *world = world_new((struct http_server_options){.listen = "[::1]:0"});
    char address[32];
    snprintf(address, sizeof address, "[::1]:%d", http_server_port(world->server));
    struct answer answer = {.count = 0};
    struct peer_client *client = peer_client_new(&world->loop, "the-token");
    peer_client_get(client, address, "/x", 5000, answer_take, &answer);
    world_until(world, answer.count);
    assert_int_equal(answer.status, 200);
    peer_client_free(client);
    world_free(world);
    assert_int_equal(get(w, address, "/x", 5000).code, -ECONNREFUSED);
}

TEST(questions_at_once_have_a_connection_each, struct peers_world *w) {
    enum { COUNT = 40 };
    struct answer answers[COUNT] = {{.count = 0}};
    for (int i = 0; i < COUNT; i++) peer_client_get(w->client, w->address, "/hold", 5000, answer_take, &answers[i]);
    world_until(w->world, w->world->held_count == COUNT);
    assert_int_equal(get(w, w->address, "/x", 5000).status, 200); // nobody waits for those that take long
    for (int i = COUNT; i--;) http_reply(w->world->held[i], 404, NULL, NULL, 0, NULL, 0);
    for (int i = 0; i < COUNT; i++) {
        world_until(w->world, answers[i].count);
        assert_int_equal(answers[i].status, 404);
    }
}

TEST(a_silent_peer_times_out, struct peers_world *w) {
    int64_t started_us = clock_monotonic_us();
    assert_int_equal(get(w, w->address, "/hold", 80).code, -ETIMEDOUT);
    int64_t took_ms = (clock_monotonic_us() - started_us) / 1000;
    assert_true(took_ms >= 75 && took_ms < 2000);
    http_reply(w->world->held[0], 200, "text/plain", "late", 4, NULL, 0);
    assert_string_equal(get(w, w->address, "/x", 5000).text, "GET|/x|(none)|(none)|");
}

/* A bound port that nobody listens on, or that only accepts (listening). */
static int local_socket(bool listening, char *address, size_t size) {
    struct sockaddr_in bound = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof bound;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&bound, sizeof bound), 0);
    if (listening) assert_int_equal(listen(fd, 5), 0);
    getsockname(fd, (struct sockaddr *)&bound, &length);
    snprintf(address, size, "127.0.0.1:%d", ntohs(bound.sin_port));
    return fd;
}

TEST(nobody_there_is_refused, struct peers_world *w) {
    char address[64];
    FREED_BY(kit_close) int fd = local_socket(false, address, sizeof address);
    assert_int_equal(get(w, address, "/", 5000).code, -ECONNREFUSED);
    assert_int_equal(get(w, "host.invalid:1", "/", 9000).code, -ECONNREFUSED);
    assert_int_equal(get(w, "no address", "/", 9000).code, -ECONNREFUSED);
    assert_int_equal(get(w, "h\xf6st:9000", "/", 9000).code, -ECONNREFUSED); // no UTF-8: libuv looks up no such name
    assert_int_equal(get(w, "255.255.255.255:9", "/", 9000).code, -ECONNREFUSED);
}

/* A peer that the test plays. */
struct raw_peer {
    int listener, fd;
    char address[64];
};

static void raw_accept(struct peers_world *w, struct raw_peer *peer) {
    world_until(w->world, (peer->fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0);
}

static void raw_request(struct peers_world *w, const struct raw_peer *peer) {
    char request[4096];
    world_until(w->world, recv(peer->fd, request, sizeof request, 0) > 0);
}

static void peer_say(const struct raw_peer *peer, const char *text, size_t size) {
    assert_int_equal(send(peer->fd, text, size, MSG_NOSIGNAL), size);
}

TEST(broken_answers_are_errors, struct peers_world *w) {
    static const char *const REPLIES[] = {"",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
                                          "garbage\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\na",
                                          "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\na",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"};
    for (size_t i = 0; i < sizeof REPLIES / sizeof *REPLIES; i++) {
        struct raw_peer peer;
        struct answer answer = {.count = 0};
        peer.listener = local_socket(true, peer.address, sizeof peer.address);
        peer_client_get(w->client, peer.address, "/", 5000, answer_take, &answer);
        raw_accept(w, &peer);
        raw_request(w, &peer);
        peer_say(&peer, REPLIES[i], strlen(REPLIES[i]));
        close(peer.fd);
        world_until(w->world, answer.count);
        assert_int_equal(answer.code, -EIO);
        close(peer.listener);
    }
}

static const char GOOD[] = "HTTP/1.1 200 OK\r\nDate: today\r\ncontent-length:   5\r\n\r\nhello";

/* A peer closes connections that are idle for long, perhaps just when the next question comes. */
TEST(a_connection_that_was_closed_is_made_again, struct peers_world *w) {
    struct raw_peer peer;
    peer.listener = local_socket(true, peer.address, sizeof peer.address);
    for (int round = 0; round < 3; round++) {
        struct answer answer = {.count = 0};
        peer_client_get(w->client, peer.address, "/", 5000, answer_take, &answer);
        if (round) {
            raw_request(w, &peer);
            close(peer.fd); // without an answer: another connection is tried
        }
        raw_accept(w, &peer);
        raw_request(w, &peer);
        peer_say(&peer, GOOD, strlen(GOOD));
        world_until(w->world, answer.count);
        assert_string_equal(answer.text, "hello");
    }
    close(peer.fd);
    for (int i = 0; i < 5; i++) world_turn(w->world); // while it is idle
    struct answer answer = {.count = 0};
    peer_client_get(w->client, peer.address, "/", 5000, answer_take, &answer);
    raw_accept(w, &peer);
    raw_request(w, &peer);
    static const char LAST[] = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    peer_say(&peer, LAST, strlen(LAST));
    world_until(w->world, answer.count);
    assert_int_equal(answer.status, 204);
    char byte;
    world_until(w->world, recv(peer.fd, &byte, 1, 0) == 0); // the client closes it, too
    close(peer.fd);
    close(peer.listener);
}

TEST(an_answer_may_come_in_any_pieces, struct peers_world *w) {
    struct chance chance = {.state = 7};
    struct raw_peer peer;
    peer.listener = local_socket(true, peer.address, sizeof peer.address);
    for (int round = 0; round < 50; round++) {
        struct answer answer = {.count = 0};
        peer_client_get(w->client, peer.address, "/", 5000, answer_take, &answer);
        if (!round) raw_accept(w, &peer);
        raw_request(w, &peer);
        for (size_t at = 0, size; at < strlen(GOOD); at += size) {
            size = 1 + chance_next(&chance) % (strlen(GOOD) - at);
            assert_int_equal(answer.count, 0);
            peer_say(&peer, GOOD + at, size);
            world_turn(w->world);
        }
        world_until(w->world, answer.count);
        assert_string_equal(answer.text, "hello");
    }
    close(peer.fd);
    close(peer.listener);
}

TEST(heads_are_read_or_refused) {
    for (size_t size = 0; size <= strlen(GOOD); size++) {
        struct peer_answer answer = {.head = 0};
        assert_int_equal(peer_answer_read(&answer, GOOD, size), size == strlen(GOOD));
    }
    FREED char *endless = mem_alloc(20000);
    memset(endless, 'a', 20000);
    struct peer_answer answer = {.head = 0};
    assert_int_equal(peer_answer_read(&answer, endless, 20000), -EIO);
}

TEST(a_freed_client_cancels, struct peers_world *w) {
    struct answer answers[3] = {{.count = 0}};
    get(w, w->address, "/x", 5000);
    for (int i = 0; i < 2; i++) peer_client_get(w->client, w->address, "/hold", 5000, answer_take, &answers[i]);
    world_until(w->world, w->world->held_count == 2);
    peer_client_get(w->client, "localhost:1", "/", 5000, answer_take, &answers[2]); // looks the address up
    peer_client_free(w->client);
    w->client = NULL;
    for (int i = 0; i < 3; i++) assert_int_equal(answers[i].count, 1);
    for (int i = 0; i < 3; i++) assert_int_equal(answers[i].code, -ECANCELED);
    for (int i = 0; i < 2; i++) http_reply(w->world->held[i], 200, NULL, NULL, 0, NULL, 0);
}

static void free_within(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct peers_world *w = context;
    (void)code, (void)status, (void)reply, (void)size;
    peer_client_free(w->client);
    w->client = NULL;
}

TEST(a_callback_may_free_the_client, struct peers_world *w) {
    struct answer other = {.count = 0};
    peer_client_get(w->client, w->address, "/hold", 5000, answer_take, &other);
    peer_client_get(w->client, w->address, "/x", 5000, free_within, w);
    world_until(w->world, !w->client);
    assert_int_equal(other.code, -ECANCELED);
    if (w->world->held_count) http_reply(w->world->held[0], 200, NULL, NULL, 0, NULL, 0);
}

/* Tests clients.c, connection.c, hub.c, server.c and stream.c. Server and clients of lib/ws on one loop. */
#include "unit/kit/kit.h"
#include "unit/lib/ws/world.h"

static void fill(struct buffer *frame, size_t size) {
    ws_frame_start(frame);
    for (size_t i = 0; i < size; i++) buffer_byte(frame, (uint8_t)('a' + i % 23));
}

TEST(echoes_messages_of_all_sizes) {
    static const size_t sizes[] = {0, 1, 125, 126, 127, 128, 129, 255, 256, 1000, 4096, 60000, 65535, 65536};
    struct ws_world *world = ws_world_new(NULL, NULL);
    FREED_BUFFER frame = {.size = 0};
    ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.opened, 1);
    assert_int_equal(ws_server_connections(world->server), 1);
    for (size_t n = 0; n < sizeof(sizes) / sizeof(*sizes); n++) {
        fill(&frame, sizes[n]);
        assert_int_equal(ws_send(world->at_client.connection, &frame), 0);
        ws_world_until(world, &world->at_client.messages, (int)n + 1);
        fill(&frame, sizes[n]); /* a client's send masks the text in place */
        assert_int_equal(world->at_client.message.size, sizes[n]);
        if (sizes[n]) assert_memory_equal(world->at_client.message.data, frame.data + WS_HEADROOM, sizes[n]);
    }
}

static void count_in_context(struct ws_world *world, struct ws_connection *connection, const char *text, size_t size) {
    if (!ws_context(connection)) ws_set_context(connection, mem_string("mine"));
    ws_world_say(connection, ws_context(connection));
}

static void free_context(struct ws_world *world, struct ws_connection *connection) { free(ws_context(connection)); }

TEST(serves_500_connections_and_closes_them_at_shutdown) {
    enum { MANY = 500 };
    struct ws_connection *connections[MANY];
    struct ws_world *world = ws_world_new(NULL, NULL);
    world->when_message = count_in_context;
    world->when_closed = free_context;
    for (int i = 0; i < MANY; i++) {
        ws_world_connect(world, &connections[i]);
        ws_world_until(world, &world->at_client.opened, i + 1);
        connections[i] = world->at_client.connection;
        assert_ptr_equal(ws_context(connections[i]), &connections[i]);
    }
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < MANY; i++) assert_int_equal(ws_world_say(connections[i], "hello"), 0);
        ws_world_until(world, &world->at_client.messages, round * MANY);
    }
    assert_int_equal(ws_server_connections(world->server), MANY);
    ws_world_shutdown_server(world, WS_ENDED);
    assert_int_equal(world->at_server.closed, MANY);
    ws_world_until(world, &world->at_client.closed, MANY);
    assert_int_equal(world->at_client.code, WS_ENDED);
}

TEST(close_codes_travel_both_ways) {
    static const int codes[] = {WS_NORMAL, 1001, WS_POLICY, WS_TOO_BIG, WS_ENDED, WS_TOO_SLOW, WS_EXPIRED};
    struct ws_world *world = ws_world_new(NULL, NULL);
    int closed = 0;
    for (size_t n = 0; n < sizeof(codes) / sizeof(*codes); n++) {
        for (int from_server = 0; from_server < 2; from_server++) {
            ws_world_connect(world, NULL);
            ws_world_until(world, &world->at_client.opened, closed + 1);
            ws_world_until(world, &world->at_server.opened, closed + 1);
            struct ws_connection *one = (from_server ? &world->at_server : &world->at_client)->connection;
            ws_close(one, codes[n], "because");
            assert_int_equal(ws_world_say(one, "too late"), -EPIPE);
            ws_close(one, WS_NORMAL, "twice is once");
            closed++;
            ws_world_until(world, &world->at_client.closed, closed);
            ws_world_until(world, &world->at_server.closed, closed);
            assert_int_equal(world->at_client.code, codes[n]);
            assert_int_equal(world->at_server.code, codes[n]);
        }
    }
    assert_int_equal(world->at_client.messages + world->at_server.messages, 0);
    assert_int_equal(ws_server_connections(world->server), 0);
}

static void close_at_once(struct ws_world *world, struct ws_connection *connection) {
    ws_close(connection, WS_ENDED, NULL);
}

static void close_twice(struct ws_world *world, struct ws_connection *connection, const char *text, size_t size) {
    ws_close(connection, WS_TOO_SLOW, "first");
    ws_close(connection, WS_EXPIRED, NULL);
}

static void use_after_close(struct ws_world *world, struct ws_connection *connection) {
    ws_close(connection, WS_NORMAL, "nothing happens");
    assert_int_equal(ws_world_say(connection, "late"), -EPIPE);
}

TEST(closing_inside_callbacks_is_safe) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    world->when_opened = close_at_once;
    world->when_closed = use_after_close;
    ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.closed, 1);
    assert_int_equal(world->at_client.code, WS_ENDED);
    world->when_opened = NULL;
    world->when_message = close_twice;
    ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.opened, 2);
    for (int i = 0; i < 5; i++) ws_world_say(world->at_client.connection, "close me");
    ws_world_until(world, &world->at_client.closed, 2);
    ws_world_until(world, &world->at_server.closed, 2);
    assert_int_equal(world->at_server.messages, 1); /* none after the close */
    assert_int_equal(world->at_client.code, WS_TOO_SLOW);
}

TEST(failed_attempts_are_told_later) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    assert_fails(ws_connect(world->clients, "http://127.0.0.1:1/", NULL, &failure), -EINVAL, "http://127.0.0.1:1/");
    assert_int_equal(ws_connect(world->clients, "ws://", NULL, &failure), -EINVAL);
    assert_int_equal(ws_server_accept(world->server, false), 0); /* nobody listens there any more */
    for (int i = 0; i < 3; i++) ws_world_connect(world, NULL);
    assert_int_equal(world->at_client.closed, 0);
    ws_world_until(world, &world->at_client.closed, 3);
    assert_int_equal(world->at_client.code, 1006);
    assert_int_equal(world->at_client.opened, 0);
    ws_world_connect(world, NULL); /* shut down with one on the way */
}

TEST(accepting_can_be_switched_off_and_on) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    int port = world->port;
    for (int round = 1; round <= 3; round++) {
        ws_world_connect(world, NULL);
        ws_world_until(world, &world->at_client.opened, round);
        assert_int_equal(ws_server_accept(world->server, false), 0);
        ws_world_connect(world, NULL);
        ws_world_until(world, &world->at_client.closed, round);
        assert_int_equal(ws_server_accept(world->server, true), 0);
        assert_int_equal(ws_server_port(world->server), port);
    }
    assert_int_equal(ws_server_connections(world->server), 3); /* those that were there stayed */
}

TEST(waits_at_the_connection_limit) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.max_connections = 2;
    struct ws_world *world = ws_world_new(&options, NULL);
    for (int i = 0; i < 3; i++) ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.opened, 2);
    ws_world_run(world, 300);
    assert_int_equal(world->at_client.opened, 2);
    ws_close(world->at_client.connection, WS_NORMAL, NULL);
    ws_world_until(world, &world->at_client.opened, 3);
}

/* Those who say nothing wait at most until somebody needs the place. */
TEST(the_silent_make_room) {
    enum { ROOM = 20 };
    struct ws_server_options options = ws_world_server_options(NULL);
    options.max_connections = ROOM;
    options.handshake_s = 300;
    struct ws_world *world = ws_world_new(&options, NULL);
    int silent[3 * ROOM];
    for (int i = 0; i < 3 * ROOM; i++) silent[i] = wire_connect(world, 0);
    for (int i = 0; i < 3; i++) ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.opened, 3);
    assert_true(ws_server_counts(world->server)->evicted >= 2 * ROOM + 3);
    for (int i = 0; i < 3 * ROOM; i++) close(silent[i]);
    ws_world_run(world, 300);
    assert_int_equal(world->at_client.closed, 0);
}

static bool say_origin(void *context, const struct sockaddr *peer, const char *forwarded, uint64_t *number) {
    assert_int_equal(peer->sa_family, AF_INET);
    *number = forwarded ? strtoull(forwarded, NULL, 10) : 0;
    return *number < 100;
}

TEST(the_origin_is_what_the_caller_makes_of_it) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.origin = say_origin;
    struct ws_world *world = ws_world_new(&options, NULL);
    int fd = wire_connect(world, 0);
    wire_request(world, fd,
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL
                 "\r\nX-Forwarded-For: 42\r\nX-Forwarded-For: 7\r\n");
    assert_non_null(strstr(wire_response(world, fd), " 101 "));
    assert_int_equal(ws_origin(world->at_server.connection), 42);
    close(fd);
    fd = wire_connect(world, 0);
    wire_request(world, fd,
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL
                 "\r\nX-Forwarded-For: 100\r\n");
    assert_string_equal(wire_response(world, fd), "");
    assert_int_equal(world->at_server.opened, 1);
    close(fd);
}

static bool take_one(void *context, const struct sockaddr *peer, const char *forwarded, uint64_t *number) {
    static int came;
    return forwarded || !came++;
}

TEST(sockets_that_are_not_taken_are_closed_at_once) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.origin = take_one;
    struct ws_world *world = ws_world_new(&options, NULL);
    FREED_BY(kit_close) int taken = wire_open(world, 0), other = wire_connect(world, 0);
    assert_string_equal(wire_response(world, other), "");
    assert_int_equal(ws_server_connections(world->server), 1);
}

TEST(two_servers_share_a_port) {
    enum { MANY = 60 };
    struct ws_world *world = ws_world_new(NULL, NULL), second = {.port = world->port};
    FREED char *address = mem_format("127.0.0.1:%d", world->port);
    struct ws_server_options options = ws_world_server_options(&second);
    options.loop = &world->loop;
    options.listen = address;
    assert_int_equal(ws_server_new(&options, &second.server, &failure), 0);
    assert_int_equal(ws_server_port(second.server), world->port);
    for (int i = 0; i < MANY; i++) ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.opened, MANY);
    assert_int_equal(world->at_server.opened + second.at_server.opened, MANY);
    assert_true(world->at_server.opened > MANY / 6);
    assert_true(second.at_server.opened > MANY / 6);
    int before = second.at_server.opened;
    assert_int_equal(ws_server_accept(world->server, false), 0); /* its share goes to the other */
    for (int i = 0; i < 10; i++) ws_world_connect(world, NULL);
    ws_world_until(world, &second.at_server.opened, before + 10);
    ws_world_shutdown_server(world, WS_NORMAL);
    world->server = second.server;
    ws_world_free(world); /* while there is a second */
}

TEST(a_live_peer_is_kept_by_pings) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.ping_s = 1;
    struct ws_world *world = ws_world_new(&options, NULL);
    ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.opened, 1);
    ws_world_run(world, 3500);
    assert_int_equal(world->at_server.closed + world->at_client.closed, 0);
    assert_int_equal(ws_world_say(world->at_client.connection, "still here"), 0);
    ws_world_until(world, &world->at_client.messages, 1);
}

static void count_shut(void *context) { ((struct ws_world *)context)->shut++; }

static void shut_down_at_once(struct ws_world *world, struct ws_connection *connection) {
    world->when_closed = NULL; /* the others close by the shutdown */
    ws_server_shutdown(world->server, WS_RESTART, count_shut, world);
}

TEST(shutting_down_inside_on_close_ends) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    ws_world_connect(world, NULL);
    ws_world_connect(world, NULL);
    ws_world_until(world, &world->at_client.opened, 2);
    ws_world_until(world, &world->at_server.opened, 2);
    world->when_closed = shut_down_at_once;
    ws_close(world->at_client.connection, WS_NORMAL, NULL);
    ws_world_until(world, &world->shut, 1);
    assert_int_equal(world->at_server.closed, 2);
    ws_server_free(world->server);
    world->server = NULL;
}

TEST(starting_fails_with_a_reason) {
    static const char *const bad[] = {"8081", "127.0.0.1:", "192.0.2.1:0", "no host of that name.invalid:1",
                                      "127.0.0.1:http"};
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct ws_server_options options = ws_world_server_options(world);
    struct ws_server *untouched = NULL;
    options.loop = &world->loop;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct error error = {{0}};
        options.listen = bad[i];
        assert_true(ws_server_new(&options, &untouched, &error) < 0);
        assert_non_null(strstr(error.text, bad[i]));
    }
    struct error error = {{0}};
    options.listen = "127.0.0.1:0";
    options.tls_certificate = options.tls_key = "/dev/null";
    assert_int_equal(ws_server_new(&options, &untouched, &error), -EINVAL);
    assert_non_null(strstr(error.text, "/dev/null"));
    assert_null(untouched);
    ws_server_free(NULL);
    ws_clients_free(NULL);
}

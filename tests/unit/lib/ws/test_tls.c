/* wss:// with a certificate of our own. The server is a process of its own, as a daemon's is. */
#include "unit/kit/kit.h"
#include "unit/lib/ws/world.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* For localhost, by itself, until 2126; secures nothing but this test. */
static const char certificate[] = "-----BEGIN CERTIFICATE-----\n"
                                  "MIIBmzCCAUGgAwIBAgIUeey2gRtF3PilggCV4jN4gBIJ0xYwCgYIKoZIzj0EAwIw\n"
                                  "FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA1MTcxNVoYDzIxMjYxMDI4\n"
                                  "MDUxNzE1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO\n"
                                  "PQMBBwNCAAS9Voy7GVOQHXQb969euIUXAE35/gRDOUkhu/OwboUZ56wBtn08IeZQ\n"
                                  "ZwIp714GZs8VnGZCBR7RfMxGzsnDFkabo28wbTAdBgNVHQ4EFgQUJC6yFEFUk9XH\n"
                                  "JxroI+IN8a/MtV0wHwYDVR0jBBgwFoAUJC6yFEFUk9XHJxroI+IN8a/MtV0wDwYD\n"
                                  "VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI\n"
                                  "zj0EAwIDSAAwRQIhAP1DO0qERlnAKyMWfMQgmzcxi3qew6ZQEGyH192qdEhvAiBb\n"
                                  "TWqDRs6AL7ucWjQNyeRZTPSw3RxCCakPZCxO2d+KEw==\n"
                                  "-----END CERTIFICATE-----\n";
static const char key[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKqFYkwMskMqXkLGj\n"
                          "JdIQkwGaQroEg0DwajQn7gX1jsOhRANCAAS9Voy7GVOQHXQb969euIUXAE35/gRD\n"
                          "OUkhu/OwboUZ56wBtn08IeZQZwIp714GZs8VnGZCBR7RfMxGzsnDFkab\n"
                          "-----END PRIVATE KEY-----\n";

static char *file_with(const char *text) {
    char *path = mem_format("%s/pem", kit_folder());
    kit_write(path, text);
    return path;
}

static void serve(int report, const char *certificate_file, const char *key_file) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.tls_certificate = certificate_file;
    options.tls_key = key_file;
    struct ws_world *world = ws_world_new(&options, NULL);
    if (write(report, &world->port, sizeof(world->port)) != sizeof(world->port)) abort();
    ws_world_until(world, &world->at_server.closed, 1);
    int failed = world->at_server.code != WS_EXPIRED || world->at_server.opened != 1;
    ws_world_free(world);
    exit(failed);
}

TEST(speaks_tls) {
    char *files[2] = {file_with(certificate), file_with(key)}, url[64];
    int report[2], status, port;
    assert_int_equal(pipe(report), 0);
    fflush(NULL);
    pid_t server = fork();
    if (server == 0) serve(report[1], files[0], files[1]);
    assert_int_equal(read(report[0], &port, sizeof(port)), sizeof(port));
    struct ws_world *world = ws_world_new(NULL, files[0]);
    FREED_BUFFER frame = {.size = 0};
    snprintf(url, sizeof(url), "ws://localhost:%d/", port); /* not without TLS */
    assert_int_equal(ws_connect(world->clients, url, NULL, &failure), 0);
    ws_world_until(world, &world->at_client.closed, 1);
    snprintf(url, sizeof(url), "wss://127.0.0.2:%d/", port); /* not under another name */
    assert_int_equal(ws_connect(world->clients, url, NULL, &failure), 0);
    ws_world_until(world, &world->at_client.closed, 2);
    snprintf(url, sizeof(url), "wss://localhost:%d/", port);
    assert_int_equal(ws_connect(world->clients, url, NULL, &failure), 0);
    ws_world_until(world, &world->at_client.opened, 1);
    for (size_t size = 1, n = 1; size < 65536; size *= 3, n++) {
        ws_frame_start(&frame);
        for (size_t i = 0; i < size; i++) buffer_byte(&frame, (uint8_t)('a' + i % 23));
        assert_int_equal(ws_send(world->at_client.connection, &frame), 0);
        ws_world_until(world, &world->at_client.messages, (int)n);
        assert_int_equal(world->at_client.message.size, size);
        assert_int_equal(world->at_client.message.data[size - 1], 'a' + (size - 1) % 23);
    }
    ws_close(world->at_client.connection, WS_EXPIRED, NULL);
    ws_world_until(world, &world->at_client.closed, 3);
    assert_int_equal(world->at_client.code, WS_EXPIRED);
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_int_equal(status, 0);
    ws_world_free(world);
    for (int i = 0; i < 2; i++) {
        close(report[i]);
        unlink(files[i]);
        free(files[i]);
    }
}

/* ---- a slow reader, by OpenSSL alone ---- */

enum { PAGES = 200, PAGE_SIZE = 50000 };
static int waits_to = -1; /* the server's process writes a byte there whenever a page does not go */

static void page_write(struct buffer *page, int number) {
    for (int i = 0; i < PAGE_SIZE; i++) buffer_byte(page, (uint8_t)('a' + (i * 7 + i / 26 + number) % 26));
}

/* The next pages, until one does not go; how many have gone is the connection's context. */
static void pages_send(struct ws_world *world, struct ws_connection *connection) {
    for (intptr_t sent = (intptr_t)ws_context(connection); sent < PAGES; sent++) {
        FREED_BUFFER frame = {.size = 0};
        ws_frame_start(&frame);
        page_write(&frame, (int)sent);
        int result = ws_send(connection, &frame);
        if (result) {
            if (write(waits_to, "w", 1) != 1) abort();
            return;
        }
        ws_set_context(connection, (void *)(sent + 1));
    }
    ws_close(connection, WS_RESTART, NULL);
}

static void say_nothing(struct ws_world *world, struct ws_connection *connection, const char *text, size_t size) {}

static void pages_serve(int report, const char *certificate_file, const char *key_file) {
    struct ws_server_options options = ws_world_server_options(NULL);
    options.tls_certificate = certificate_file;
    options.tls_key = key_file;
    struct ws_world *world = ws_world_new(&options, NULL);
    world->when_opened = world->when_writable = pages_send;
    world->when_message = say_nothing;
    waits_to = report;
    if (write(report, &world->port, sizeof(world->port)) != sizeof(world->port)) abort();
    ws_world_until(world, &world->at_server.closed, 1);
    /* The server went on after each wait, and has heard the answer to its close frame. */
    int failed = world->at_server.writable < 2 || world->at_server.messages != 1 || world->at_server.code != WS_RESTART;
    ws_world_free(world);
    exit(failed);
}

static void tls_read(SSL *ssl, void *bytes, size_t size) {
    for (size_t done = 0, some; done < size; done += some)
        if (SSL_read_ex(ssl, (char *)bytes + done, size - done, &some) != 1)
            fail_msg("%zu of %zu bytes came", done, size);
}

TEST(a_slow_reader_gets_an_intact_stream) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Protocol: " WS_TEST_SUBPROTOCOL "\r\n\r\n";
    char *files[2] = {file_with(certificate), file_with(key)}, last[4] = "";
    int report[2], status, port, small = 4096;
    assert_int_equal(pipe(report), 0);
    fflush(NULL);
    pid_t server = fork();
    if (server == 0) pages_serve(report[1], files[0], files[1]);
    assert_int_equal(read(report[0], &port, sizeof(port)), sizeof(port));
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    assert_int_equal(SSL_connect(ssl), 1);
    assert_int_equal(SSL_write(ssl, request, sizeof(request) - 1), sizeof(request) - 1);
    while (memcmp(last, "\r\n\r\n", 4)) { /* the answer */
        memmove(last, last + 1, 3);
        tls_read(ssl, last + 3, 1);
    }
    assert_int_equal(SSL_write(ssl, "\x81\x82\0\0\0\0hi", 8), 8); /* is read while the pages wait */
    for (int number = 0; number < PAGES; number++) {
        FREED_BUFFER page = {.size = 0};
        uint8_t head[4];
        char *came = mem_alloc(PAGE_SIZE), waits;
        page_write(&page, number);
        /* The client reads nothing until the server waits, twice: a server may be slower than any reader that only rests. */
        if (number % (PAGES / 2) == 0) assert_int_equal(read(report[0], &waits, 1), 1);
        tls_read(ssl, head, sizeof(head));
        assert_memory_equal(head, "\x81\x7e\xc3\x50", sizeof(head)); /* 50,000 */
        tls_read(ssl, came, PAGE_SIZE);
        assert_memory_equal(came, page.data, PAGE_SIZE);
        free(came);
    }
    tls_read(ssl, last, 4);
    assert_memory_equal(last, "\x88\x02\x03\xf4", 4);
    assert_int_equal(SSL_write(ssl, "\x88\x82\0\0\0\0\x03\xf4", 8), 8);
    assert_int_equal(SSL_read(ssl, last, 1), 0);
    assert_int_equal(SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN); /* ended, not broken off */
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++) {
        close(report[i]);
        unlink(files[i]);
        free(files[i]);
    }
}

/* What a client says first. */
static size_t client_hello(uint8_t *bytes, size_t room) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    BIO *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
    assert_int_equal(SSL_connect(ssl), -1);
    int size = BIO_read(out, bytes, (int)room);
    assert_true(size > 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
    return (size_t)size;
}

TEST(many_handshakes_leave_others_their_turn) {
    enum { MANY = 200 };
    char *files[2] = {file_with(certificate), file_with(key)};
    struct ws_server_options options = ws_world_server_options(NULL);
    options.tls_certificate = files[0];
    options.tls_key = files[1];
    struct ws_world *world = ws_world_new(&options, NULL);
    uint8_t hello[2048], answer;
    size_t size = client_hello(hello, sizeof hello);
    int clients[MANY], turns = 0;
    for (int i = 0; i < MANY; i++) clients[i] = wire_connect(world, 0);
    ws_world_run(world, 100);
    for (int i = 0; i < MANY; i++) wire_write(world, clients[i], hello, size);
    for (int i = 0; i < MANY; i++)
        for (; recv(clients[i], &answer, 1, MSG_PEEK) != 1; turns++) uv_run(&world->loop, UV_RUN_ONCE);
    assert_true(turns >= 3); /* all of them take tens of ms */
    for (int i = 0; i < MANY; i++) close(clients[i]);
    ws_world_free(world);
    for (int i = 0; i < 2; i++) {
        unlink(files[i]);
        free(files[i]);
    }
}

TEST(without_authorities_there_is_no_wss) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    assert_fails(ws_connect(world->clients, "wss://localhost:1/", NULL, &failure), -ENOTSUP, "wss://localhost:1/");
}

TEST(a_certificate_is_checked_with_its_key) {
    char *good[2] = {file_with(certificate), file_with(key)}, *bad = file_with("no PEM");
    FREED char *absent = mem_format("%s/absent", kit_folder());
    assert_int_equal(ws_certificate_check(good[0], good[1], &failure), 0);
    assert_fails(ws_certificate_check(good[0], bad, &failure), -EINVAL, bad);
    assert_fails(ws_certificate_check(bad, good[1], &failure), -EINVAL, bad);
    assert_fails(ws_certificate_check(absent, good[1], &failure), -EINVAL, absent);
    assert_fails(ws_certificate_check(good[1], good[0], &failure), -EINVAL, good[1]); // the wrong way round
    free(bad);
    for (int i = 0; i < 2; i++) free(good[i]);
}

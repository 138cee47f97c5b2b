/* wss:// with a certificate of our own. The server is a process of its own, as libwebsockets leaks one of two TLS
 * contexts in one process: it keeps the index of OpenSSL's ex_data in a global that the second overwrites.
 */
#include "ws_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

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
    char *path = mem_string("/tmp/test_ws_tls-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
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

static void speaks_tls(void **state) {
    char *files[2] = {file_with(certificate), file_with(key)}, url[64];
    int report[2], status, port;
    assert_int_equal(pipe(report), 0);
    fflush(NULL);
    pid_t server = fork();
    if (server == 0) serve(report[1], files[0], files[1]);
    assert_int_equal(read(report[0], &port, sizeof(port)), sizeof(port));
    struct ws_world *world = ws_world_new(NULL, files[0]);
    struct error error;
    struct buffer frame = {0};
    snprintf(url, sizeof(url), "ws://localhost:%d/", port); /* not without TLS */
    assert_int_equal(ws_connect(world->clients, url, NULL, &error), 0);
    ws_world_until(world, &world->at_client.closed, 1);
    snprintf(url, sizeof(url), "wss://127.0.0.2:%d/", port); /* not under another name */
    assert_int_equal(ws_connect(world->clients, url, NULL, &error), 0);
    ws_world_until(world, &world->at_client.closed, 2);
    snprintf(url, sizeof(url), "wss://localhost:%d/", port);
    assert_int_equal(ws_connect(world->clients, url, NULL, &error), 0);
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
    buffer_free(&frame);
    for (int i = 0; i < 2; i++) {
        close(report[i]);
        unlink(files[i]);
        free(files[i]);
    }
}

static void without_authorities_there_is_no_wss(void **state) {
    struct ws_world *world = ws_world_new(NULL, NULL);
    struct error error;
    assert_int_equal(ws_connect(world->clients, "wss://localhost:1/", NULL, &error), -ENOTSUP);
    assert_non_null(strstr(error.text, "wss://localhost:1/"));
    ws_world_free(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speaks_tls),
        cmocka_unit_test(without_authorities_there_is_no_wss),
    };
    return cmocka_run_group_tests_name("ws over TLS", tests, NULL, NULL);
}

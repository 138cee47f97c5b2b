/* A WebSocket server that sends back what it is told, for suites that look at how lib/ws speaks the protocol.
 *
 *     test-echo    prints its port, and serves until its stdin ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "ws/ws.h"

enum { MAX_MESSAGE = 1 << 20 };

struct echo {
    uv_loop_t loop;
    struct ws_server *server;
    struct loop_watch *watch;
};

struct waiting { /* messages that could not be sent yet; the context of their connection */
    struct waiting *next;
    size_t size;
    char text[];
};

static int send_back(struct ws_connection *connection, const char *text, size_t size) {
    struct buffer frame = {0};
    ws_frame_start(&frame);
    buffer_append(&frame, text, size);
    int result = ws_send(connection, &frame);
    buffer_free(&frame);
    return result;
}

static void on_open(void *context, struct ws_connection *connection) {}

static void on_message(void *context, struct ws_connection *connection, const char *text, size_t size) {
    struct waiting *first = ws_context(connection), *last = first;
    if (!first && !send_back(connection, text, size)) return;
    struct waiting *message = mem_alloc(sizeof *message + size);
    message->next = NULL;
    message->size = size;
    memcpy(message->text, text, size);
    while (last && last->next) last = last->next;
    if (last)
        last->next = message;
    else
        ws_set_context(connection, message);
}

static void on_writable(void *context, struct ws_connection *connection) {
    for (struct waiting *first; (first = ws_context(connection));) {
        if (send_back(connection, first->text, first->size)) return;
        ws_set_context(connection, first->next);
        free(first);
    }
}

static void on_close(void *context, struct ws_connection *connection, int code) {
    for (struct waiting *message = ws_context(connection), *next; message; message = next) {
        next = message->next;
        free(message);
    }
}

static void closed(void *context) {}

static void stdin_ended(void *context) {
    struct echo *echo = context;
    loop_watch_free(echo->watch);
    ws_server_shutdown(echo->server, WS_NORMAL, closed, NULL);
}

int main(void) {
    struct echo echo = {.server = NULL};
    struct error error;
    uv_loop_init(&echo.loop);
    struct ws_server_options options = {
        .loop = &echo.loop,
        .listen = "127.0.0.1:0",
        .subprotocol = "starling.v1",
        .max_message = MAX_MESSAGE,
        .max_connections = 1000,
        .callbacks = {.on_open = on_open, .on_message = on_message, .on_writable = on_writable, .on_close = on_close},
    };
    if (ws_server_new(&options, &echo.server, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    echo.watch = loop_watch_new(&echo.loop, STDIN_FILENO, stdin_ended, &echo);
    if (!echo.watch) return 1;
    printf("%d\n", ws_server_port(echo.server));
    fflush(stdout);
    uv_run(&echo.loop, UV_RUN_DEFAULT);
    ws_server_free(echo.server);
    return uv_loop_close(&echo.loop) != 0;
}

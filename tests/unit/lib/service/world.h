/* A loop with an HTTP server and a client on it, and sockets that speak to the server byte by byte: for test_service_*.c. */
#pragma once

#include "service/http.h"

enum { WORLD_HELD = 256 };

struct world {
    uv_loop_t loop;
    struct http_server *server;
    struct http_client *client;
    struct http_request *held[WORLD_HELD]; /* requests of /hold, in order of arrival: the test answers them */
    size_t held_count;
    size_t handled;          /* all requests handed over */
    char root[256];          /* of /files/... */
    struct buffer *answered; /* the test's own, for its options.answered */
};

/* options: loop, context and handle are filled in; listen too, when NULL. */
struct world *world_new(struct http_server_options options);
void world_free(void *world); /* the end of a test does; everything still open on the loop fails it */

/* The answer to a fetch. */
struct answer {
    int count; /* how often done was called */
    int code;
    unsigned status;
    char text[4096];
};
void answer_take(void *context, int code, unsigned status, const char *reply, size_t size);
char *world_url(const struct world *world, const char *path); /* caller frees */
/* Sends, and turns the loop until it is answered. */
struct answer world_fetch(struct world *world, const char *method, const char *path, const struct buffer *body);

/* Turns the loop until the condition holds; after 10 s the test fails. */
void world_turn(struct world *world);
#define world_until(world, condition) KIT_UNTIL(world_turn(world), condition)

/* A plain socket to the server. Reading turns the loop. */
int raw_connect(const struct world *world);
void raw_send(struct world *world, int fd, const void *bytes, size_t size);
void raw_text(struct world *world, int fd, const char *text);
/* Everything that comes until `end` was seen, or until the server closes when end is NULL; caller frees. Fails after 10 s. */
char *raw_read(struct world *world, int fd, const char *end);
/* Sends GET or OPTIONS with those fields; what comes until the server closes. The caller frees. */
char *raw_say(struct world *world, const char *method, const char *path, const char *fields);

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        if (!strstr(text, part)) fail_msg("no \"%s\" in: %s", part, text);                                             \
    } while (0)

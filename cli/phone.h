/* The socket of a phone, for commands that are one more device of a user: opened again whenever it is lost, until there is no hope (within
 * 10 s, if no edge has welcomed it yet), until the caller finishes, or SIGINT or SIGTERM comes. One thread. */
#pragma once

#include "base/buffer.h"
#include "base/loop.h"
#include "cli/cli.h"
#include "json/json.h"

struct phone_socket;

struct phone_options {
    const struct cli *cli;
    int64_t user;
    const char *url, *token, *authorities; /* of the edge; NULL: signed here; PEM file, NULL: the system's */
    bool errors_end; /* a frame of the type "error" does, and not only the close that may follow it */
    void *context;
    /* Before the first connection: begins what the caller does besides. end: ends that, once, also if start failed. */
    int (*start)(void *context, struct phone_socket *phone, uv_loop_t *loop, struct error *error);
    void (*end)(void *context);
    void (*hello)(void *context, struct buffer *frame, const char *token); /* writes it, for a new connection */
    /* A frame, once the phone has taken from it what it needs itself. Not 0: it cannot be understood. */
    int (*take)(void *context, const char *type, const json_t *frame);
    void (*lost)(void *context);   /* a connection that was welcomed; NULL: nothing */
    void (*second)(void *context); /* has passed; NULL: nothing */
};

/* Returns 0 when the user has ended it; else why not. */
int phone_run(const struct phone_options *options, struct error *error);

bool phone_welcomed(const struct phone_socket *phone);
void phone_send(struct phone_socket *phone, struct buffer *frame); /* one that cannot be sent is as good as lost */
/* Ends everything, outside of the callback in which that was decided: a connection may just be closing in it. code: for phone_run, whose
 * error is set where it is not 0. */
void phone_finish(struct phone_socket *phone, int code);

/* The answering side: finds the question of a path, reads it, refuses what is not served here, and calls the question's function. Loop's
 * thread.
 *
 *     405 method, 404 not-found    no question is asked like that        400 bad-query    a value is missing or out of range
 *     421 not-the-owner            another process owns the key          503 restoring    its state is not whole yet, or is damaged
 *     413 too-large                what a command would change is too large for its topic
 */
#pragma once

#include "base/error.h"
#include "rpc/questions.h"
#include "service/http.h"
#include "subjects/subject.h"

/* What a process is asked. */
struct rpc_asked {
    const struct rpc_question *question;
    int32_t partition;             /* INT32_MAX: there is no such one; -1: any process knows */
    char subject[SUBJECT_MAX + 1]; /* "TYPE:ID" of the path */
    int64_t numbers[RPC_ARGS];     /* those that are absent as the question says */
    const char *texts[RPC_ARGS];   /* NULL: absent. They are the request's */
};

struct rpc_server {
    const struct rpc_handler {
        const struct rpc_question *question;
        void (*answer)(void *context, struct http_request *request, const struct rpc_asked *asked);
        bool early; /* it answers while the partition is being restored, too */
    } * handlers;
    size_t count;
    int (*serves)(const void *context, int32_t partition); /* as owner_serves */
};

/* partitions: of the topic whose keys the questions are about. */
void rpc_serve(const struct rpc_server *server, void *context, int32_t partitions, struct http_request *request);

/* Reads a request alone. 0; -ENOENT: the path begins otherwise; -EDOM: its parts are none of this question's; -EINVAL: an argument is missing,
 * out of range or too long. */
int rpc_read(const struct rpc_question *question, const struct http_request *request, int32_t partitions,
             struct rpc_asked *asked);

/* False: the code is 0. Else the request is answered: -ESTALE and -ECANCELED: 421; -EMSGSIZE: 413; any other: 503. */
bool rpc_refused(struct http_request *request, int code);
void rpc_bad_query(struct http_request *request);
void rpc_later(struct http_request *request); /* 202: the command is not decided in time */
/* A store has failed: 503 if it is damaged (-EBADMSG), and read anew; else 500. */
void rpc_failed(struct http_request *request, int code, const struct error *error);

/* Shared by the peers in Redis: a pipelined connection, binary keys, and the server's CPU. A failure ends the program. Header-only. */
#pragma once

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "bench/machine.h"

enum { REDIS_KEY = 9 }; /* bytes: what it is, and an id */

/* Waits a while for a server that has just been started. */
static inline redisContext *redis_connect(const char *socket) {
    redisContext *context = redisConnectUnix(socket);
    for (int tries = 0; context && context->err && tries < 100; tries++) {
        redisFree(context);
        usleep(50000);
        context = redisConnectUnix(socket);
    }
    if (!context || context->err) bench_fail("Redis does not answer");
    return context;
}

static inline void redis_key(char key[REDIS_KEY], char what, int64_t id) {
    key[0] = what;
    memcpy(key + 1, &id, sizeof id);
}

/* The next reply of the pipeline; the caller frees it. */
static inline redisReply *redis_reply(redisContext *context) {
    void *reply;
    if (redisGetReply(context, &reply) || ((redisReply *)reply)->type == REDIS_REPLY_ERROR) bench_fail("Redis failed");
    return reply;
}

static inline void redis_skip(redisContext *context, size_t replies) {
    while (replies--) freeReplyObject(redis_reply(context));
}

/* CPU seconds of the process with that number so far. */
static inline double redis_server_s(const char *server) {
    char path[64], line[1024];
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", server);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) bench_fail(path);
    fclose(file);
    sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

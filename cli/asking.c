#include "cli/asking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/reader.h"
#include "rpc/ask.h"

enum { FETCH_MS = 8000, AGAIN_MS = 500 };

struct asking {
    struct asking_options options;
    int partitions;
    uv_loop_t loop;
    struct peers *peers;
    struct loop_timer *again; /* while an owner is not ready to answer */
    /* The question. */
    int32_t partition;
    const char *path, *what;
    int64_t until_us; /* it is asked again */
    bool done;
    int code;
    struct buffer *reply;
    struct error *error;
};

static int refusal(const struct asking *asking, int code, unsigned status) {
    const struct asking_options *options = &asking->options;
    if (code == -EHOSTUNREACH || status == 421) {
        return error_set(asking->error, -EHOSTUNREACH, "no %s (group %s) has %s now: does one run?", options->who,
                         options->group, asking->what);
    }
    if (code == -EACCES || status == 401 || status == 403) {
        return error_set(asking->error, -EACCES, "the %s refuses peer.token", options->who);
    }
    if (status == 503) {
        return error_set(asking->error, -EAGAIN, "the %s is still reading %s: try again soon", options->who,
                         asking->what);
    }
    if (code) return error_set(asking->error, code, "asking the %s: %s", options->who, strerror(-code));
    return error_set(asking->error, -EIO, "the %s answers %u", options->who, status);
}

static void on_reply(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct asking *asking = context;
    // A process that has just taken the partition over, or is about to, will answer in a moment.
    bool passing = status == 503 || status == 421 || code == -EHOSTUNREACH || code == -ECONNREFUSED;
    if (passing && clock_monotonic_us() < asking->until_us) {
        loop_timer_again(asking->again, AGAIN_MS, 0);
        return;
    }
    asking->code = !code && status == 200 ? 0 : refusal(asking, code, status);
    if (!asking->code) buffer_append(asking->reply, reply, size);
    asking->done = true;
}

static void ask(void *context) {
    struct asking *asking = context;
    peers_fetch(asking->peers, asking->partition, asking->path, FETCH_MS, on_reply, asking);
}

int asking_get(struct asking *asking, int32_t partition, const char *path, int patience_ms, const char *what,
               struct buffer *reply, struct error *error) {
    buffer_clear(reply);
    asking->partition = partition;
    asking->path = path;
    asking->what = what;
    asking->until_us = clock_monotonic_us() + patience_ms * 1000LL;
    asking->done = false;
    asking->reply = reply;
    asking->error = error;
    ask(asking);
    while (!asking->done) uv_run(&asking->loop, UV_RUN_ONCE);
    return asking->code;
}

int32_t asking_partitions(const struct asking *asking) { return asking->partitions; }

int32_t asking_of_user(const struct asking *asking, int64_t user) { return peers_of_user(asking->peers, user); }

int asking_ask(struct asking *asking, const struct rpc_question *question, const struct rpc_value *values,
               int patience_ms, const char *what, struct buffer *reply, struct error *error) {
    char *path = rpc_path(question, values);
    int32_t partition = rpc_partition(asking->peers, question, values);
    int code = asking_get(asking, partition, path, patience_ms, what, reply, error);
    free(path);
    return code;
}

int asking_new(const struct asking_options *options, struct asking **out, struct error *error) {
    const struct cli *cli = options->cli;
    struct topics_shape shape;
    int code = reader_shape(cli, &shape, error);
    if (code) return code;
    struct asking *asking =
        MEM_NEW(&(struct asking){.options = *options, .partitions = shape.partitions[options->topic->space]});
    if (uv_loop_init(&asking->loop)) {
        free(asking);
        return error_set(error, -EMFILE, "no event loop can be made: too few descriptors");
    }
    code = peers_new(
        &(struct peers_options){
            .loop = &asking->loop,
            .settings = &cli->kafka,
            .group = options->group,
            .topic = options->topic,
            .partitions = asking->partitions,
            .token = *cli->settings.peer_token ? cli->settings.peer_token : NULL,
        },
        &asking->peers, error);
    if (code) {
        asking_free(asking);
        return code;
    }
    asking->again = loop_timer_new(&asking->loop, 0, 0, ask, asking);
    loop_timer_stop(asking->again);
    *out = asking;
    return 0;
}

void asking_free(struct asking *asking) {
    if (!asking) return;
    loop_timer_free(asking->again);
    peers_free(asking->peers);
    uv_run(&asking->loop, UV_RUN_DEFAULT);
    uv_loop_close(&asking->loop);
    free(asking);
}

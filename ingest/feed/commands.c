#include "ingest/feed/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SPARE_MS = 500 }; /* the owner's answer may take that much longer than it waits */

/* A command from its record to its answer. */
struct feed_written {
    struct feed_gateway *gateway;
    struct feed_write write;
    char *question;
};

static void written_free(struct feed_written *written) {
    free(written->write.context);
    free(written->question);
    free(written);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct feed_written *written = context;
    const struct feed_write *write = &written->write;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    bool known = json_is_object(reply) || (code == 0 && status == 404);
    write->answer(write->context, write->request, known ? status : 0, reply);
    json_decref(reply);
    written_free(written);
}

static void acknowledged(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct feed_written *written = context;
    struct feed_gateway *gateway = written->gateway;
    if (code) {
        write_problem(request, code);
        written_free(written);
        return;
    }
    gateway->commands->value++;
    char *path = mem_format("%s%soffset=%" PRId64 "&wait_ms=%" PRId64, written->question,
                            strchr(written->question, '?') ? "&" : "?", offset, gateway->outcome_wait_ms);
    peers_fetch(gateway->owners, partition, path, (int)gateway->outcome_wait_ms + SPARE_MS, answered, written);
    free(path);
}

void feed_write_start(struct feed_gateway *gateway, const struct feed_write *write) {
    struct feed_written *written = mem_alloc(sizeof *written);
    *written = (struct feed_written){.gateway = gateway, .write = *write, .question = mem_string(write->question)};
    struct write *started = write_new(gateway->writer, write->request, acknowledged, written);
    write_user(started, write->topic, write->user, write->record);
    write_end(started);
}

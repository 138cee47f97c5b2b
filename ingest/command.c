#include "ingest/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SPARE_MS = 500 }; /* the owner's answer may take that much longer than it waits */

/* A command from its record to its answer. */
struct sent_command {
    const struct command_sender *sender;
    struct command_write write;
};

static void sent_free(struct sent_command *sent) {
    free(sent->write.context);
    free(sent->write.question);
    free(sent);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct sent_command *sent = context;
    const struct command_write *write = &sent->write;
    if (code == 0 && status == 413) {
        write_problem(write->request, -EINVAL);
        sent_free(sent);
        return;
    }
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    bool known = json_is_object(reply) || (code == 0 && status == 404);
    write->answer(write->context, write->request, known ? status : 0, reply, (struct json_bytes){text, size});
    json_decref(reply);
    sent_free(sent);
}

static void acknowledged(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct sent_command *sent = context;
    const struct command_sender *sender = sent->sender;
    if (code) {
        write_problem(request, code);
        sent_free(sent);
        return;
    }
    sender->written->value++;
    if (sent->write.offset) *sent->write.offset = offset;
    char *path = rpc_path_waiting(sent->write.question, offset, sender->wait_ms);
    peers_fetch(sender->owners, partition, path, (int)sender->wait_ms + SPARE_MS, answered, sent);
    free(path);
}

void command_send(const struct command_sender *sender, const struct command_write *write) {
    struct sent_command *sent = mem_alloc(sizeof *sent);
    *sent = (struct sent_command){.sender = sender, .write = *write};
    struct write *started = write_new(sender->writer, write->request, acknowledged, sent);
    if (write->subject)
        write_keyed(started, write->topic, write->subject, strlen(write->subject), write->record);
    else
        write_user(started, write->topic, write->user, write->record);
    write_end(started);
}

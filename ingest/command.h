/* Commands: a record on Kafka, then a question to the owner of its key about what it led to. Loop's thread.
 *
 *     request --> record, keyed --acknowledged--> GET QUESTION, with offset= and wait_ms= --> answer
 */
#ifndef INGEST_COMMAND_H
#define INGEST_COMMAND_H

#include "ingest/write.h"
#include "json/json.h"
#include "json/scan.h"
#include "rpc/ask.h"

/* The sender of a product's commands; the product's own. */
struct command_sender {
    struct writer *writer;
    struct peers *owners;
    int64_t wait_ms;        /* for the outcome */
    struct metric *written; /* counts commands that Kafka acknowledged */
};

struct command_write {
    struct http_request *request;
    const struct topic *topic;
    const char *subject; /* the record's key; NULL: the key is the user */
    int64_t user;
    const struct buffer *record; /* copied */
    char *question;              /* its path (rpc_path), freed after the answer */
    /* Answers the request, if Kafka took the record. status: 200 with the owner's reply, 404; or 0: the command is safe, and its
     * outcome is not known. text: the bytes of the reply. */
    void (*answer)(void *context, struct http_request *request, unsigned status, const json_t *reply,
                   struct json_bytes text);
    void *context;   /* freed after the answer */
    int64_t *offset; /* becomes the record's offset before the answer; NULL: not wanted */
};

/* The sender must live until the answer. */
void command_send(const struct command_sender *sender, const struct command_write *write);

#endif

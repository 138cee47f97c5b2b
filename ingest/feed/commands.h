/* Commands of the feed: a record on Kafka, then a question to the user's owner about what it led to. Loop's thread.
 *
 *     request --> record to the user's partition --acknowledged--> GET QUESTION, with offset= and wait_ms= --> answer
 */
#ifndef INGEST_FEED_COMMANDS_H
#define INGEST_FEED_COMMANDS_H

#include "ingest/feed/parts.h"
#include "json/json.h"

struct feed_write {
    struct http_request *request;
    const struct topic *topic;
    int64_t user; /* the record's key */
    const struct buffer *record;
    const char *question; /* its path. Copied, as the record is */
    /* Answers the request, if Kafka took the record. status: 200 with the owner's reply, 404; or 0: the command is safe, and its
     * outcome is not known. */
    void (*answer)(void *context, struct http_request *request, unsigned status, const json_t *reply);
    void *context; /* freed after the answer */
};

void feed_write_start(struct feed_gateway *gateway, const struct feed_write *write);

#endif

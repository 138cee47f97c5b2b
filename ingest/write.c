#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "ingest/gateway.h"

enum { RETRY_AFTER_S = 5 };

struct write {
    struct gateway *gateway;
    struct http_request *request;
    void *context;
    void (*done)(struct gateway *gateway, struct http_request *request, void *context, int code, int32_t partition,
                 int64_t offset);
    size_t waiting; /* records without an acknowledgement, and one for the writer itself until write_end */
    int code;
    int32_t partition;
    int64_t offset;
};

struct write *write_new(struct gateway *gateway, struct http_request *request, void *context,
                        void (*done)(struct gateway *gateway, struct http_request *request, void *context, int code,
                                     int32_t partition, int64_t offset)) {
    struct write *write = mem_alloc(sizeof *write);
    *write = (struct write){.gateway = gateway, .request = request, .context = context, .done = done, .waiting = 1};
    return write;
}

static void settle(struct write *write) {
    if (--write->waiting) return;
    write->done(write->gateway, write->request, write->context, write->code, write->partition, write->offset);
    free(write);
}

void write_send(struct write *write, const struct topic *topic, int64_t key_user) {
    struct gateway *gateway = write->gateway;
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)key_user);
    int code = kafka_producer_up(gateway->producer)
                   ? kafka_producer_send(gateway->producer, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key,
                                         gateway->record.data, gateway->record.size, write)
                   : -EHOSTDOWN;
    if (code == 0)
        write->waiting++;
    else if (write->code == 0)
        write->code = code;
}

void write_end(struct write *write) { settle(write); }

void write_delivered(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                     int64_t offset) {
    struct write *write = opaque;
    (void)context;
    (void)topic;
    if (!write) return; /* a dead letter */
    if (code && write->code == 0) write->code = code;
    write->partition = partition;
    write->offset = offset;
    settle(write);
}

void write_problem(struct http_request *request, int code) {
    if (code == -EINVAL)
        http_problem(request, 500, "write_refused", "Kafka refused the record", 0);
    else
        http_problem(request, 503, "kafka_unavailable",
                     "Kafka does not take writes just now; nothing is lost by trying again", RETRY_AFTER_S);
}

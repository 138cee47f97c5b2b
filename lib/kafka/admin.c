#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kafka/admin_private.h"

/* From this version of librdkafka on, Kafka 4 takes its nonces. */
enum { SCRAM_VERSION = 0x02060100 };

enum {
    LATE_MS = 500, /* librdkafka answers a request that timed out by itself, a little after the time */
    COORDINATOR_TIMEOUT_MS = 3600 * 1000 /* the longest that librdkafka takes */
};

int kafka_admin_failed(struct error *error, rd_kafka_resp_err_t err, const char *doing) {
    int code = kafka_failed(error, err, doing);
    return code == -ETIMEDOUT ? -EHOSTDOWN : code;
}

/* Logs what librdkafka says about its connections; librdkafka goes on trying. Called from rd_kafka_poll. */
static void client_error(rd_kafka_t *client, int err, const char *reason, void *opaque) {
    struct kafka_admin *admin = ((struct kafka_opaque *)opaque)->owner;
    bool refused = err == RD_KAFKA_RESP_ERR__AUTHENTICATION || err == RD_KAFKA_RESP_ERR__SSL;
    // That all brokers are down follows from it, and says less.
    if (admin->refused && !refused) return;
    admin->refused = refused;
    snprintf(admin->trouble, sizeof admin->trouble, "%s", reason);
}

int kafka_admin_unreachable(struct kafka_admin *admin, rd_kafka_resp_err_t err, const char *doing,
                            struct error *error) {
    rd_kafka_poll(admin->client, 0);
    int code = kafka_admin_failed(error, err, doing);
    if (code != -EHOSTDOWN || !admin->trouble[0]) return code;
    bool cannot = strstr(admin->trouble, "SCRAM") && rd_kafka_version() < SCRAM_VERSION;
    return error_set(error, admin->refused ? -EACCES : code, "%s: %s%s", doing, admin->trouble,
                     cannot ? " (librdkafka before 2.6.1 cannot do SCRAM with Kafka 4: see docs/OPERATIONS.md)" : "");
}

void kafka_admin_reached(struct kafka_admin *admin) {
    rd_kafka_poll(admin->client, 0);
    admin->refused = false;
    admin->trouble[0] = '\0';
}

int kafka_admin_open(struct kafka_admin *admin, struct error *error) {
    static const struct kafka_property NONE[] = {{NULL, NULL}};
    if (admin->client) return 0;
    rd_kafka_conf_t *conf = NULL;
    int code = kafka_conf_new(admin->settings, NONE, NONE, &admin->opaque, &conf, error);
    if (!code) rd_kafka_conf_set_error_cb(conf, client_error);
    // A consumer without a group: it may ask for offsets, too, and joins nothing.
    return code ? code : kafka_client_new(RD_KAFKA_CONSUMER, conf, &admin->client, error);
}

int kafka_admin_new(const struct kafka_settings *settings, struct kafka_admin **out, struct error *error) {
    struct kafka_admin *admin = mem_alloc(sizeof *admin);
    *admin = (struct kafka_admin){
        .settings = settings,
        .opaque = {.log = settings->log, .owner = admin},
    };
    int code = kafka_admin_open(admin, error);
    if (code) {
        kafka_admin_free(admin);
        return code;
    }
    *out = admin;
    return 0;
}

static void admin_close(struct kafka_admin *admin) {
    if (admin->client) rd_kafka_destroy(admin->client);
    admin->client = NULL;
}

void kafka_admin_free(struct kafka_admin *admin) {
    if (!admin) return;
    admin_close(admin);
    free(admin);
}

static struct kafka_request request_new(struct kafka_admin *admin, rd_kafka_admin_op_t op, int timeout_ms) {
    struct kafka_request request = {
        .queue = rd_kafka_queue_new(admin->client),
        .options = rd_kafka_AdminOptions_new(admin->client, op),
    };
    char unused[64];
    rd_kafka_AdminOptions_set_request_timeout(request.options, timeout_ms, unused, sizeof unused);
    return request;
}

static void request_free(struct kafka_request *request) {
    rd_kafka_AdminOptions_destroy(request->options);
    rd_kafka_queue_destroy(request->queue);
}

static rd_kafka_event_t *answer_of(rd_kafka_event_t *event, const char *doing, int *code, struct error *error) {
    rd_kafka_resp_err_t err = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!err) return event;
    *code = kafka_admin_failed(error, err, doing);
    if (event) rd_kafka_event_destroy(event);
    return NULL;
}

struct kafka_request kafka_request_new(struct kafka_admin *admin, rd_kafka_admin_op_t op, int64_t deadline_us) {
    int left = kafka_remaining_ms(deadline_us);
    return request_new(admin, op, left ? left : 1);
}

rd_kafka_event_t *kafka_request_finish(struct kafka_request *request, int64_t deadline_us, const char *doing, int *code,
                                       struct error *error) {
    rd_kafka_event_t *event = rd_kafka_queue_poll(request->queue, kafka_remaining_ms(deadline_us) + LATE_MS);
    request_free(request);
    return answer_of(event, doing, code, error);
}

struct kafka_request kafka_coordinator_request_new(struct kafka_admin *admin, rd_kafka_admin_op_t op) {
    return request_new(admin, op, COORDINATOR_TIMEOUT_MS);
}

rd_kafka_event_t *kafka_coordinator_request_finish(struct kafka_admin *admin, struct kafka_request *request,
                                                   int64_t deadline_us, const char *doing, int *code,
                                                   struct error *error) {
    rd_kafka_event_t *event = rd_kafka_queue_poll(request->queue, kafka_remaining_ms(deadline_us));
    request_free(request);
    if (!event) admin_close(admin);
    return answer_of(event, doing, code, error);
}

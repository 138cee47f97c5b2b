#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kafka/private.h"

/* The code relies on these, whoever sets them. */
static const char *const RESERVED[] = {
    "client.id",
    "group.id",
    "group.instance.id",
    "transactional.id",
    "enable.auto.commit",
    "enable.partition.eof",
    "enable.auto.offset.store",
    NULL,
};

static const struct kafka_property NO_PROPERTIES[] = {{NULL, NULL}};

static void log_line(const rd_kafka_t *client, int level, const char *facility, const char *text) {
    const struct kafka_opaque *opaque = rd_kafka_opaque(client);
    log_debug(opaque->log, "librdkafka", LOG_TEXT("facility", facility), LOG_TEXT("text", text));
}

static int set(rd_kafka_conf_t *conf, const char *name, const char *value, struct error *error) {
    char reason[256];
    rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, name, value, reason, sizeof reason);
    if (result == RD_KAFKA_CONF_OK) return 0;
    if (result == RD_KAFKA_CONF_UNKNOWN)
        return error_set(error, -EINVAL, "kafka.%s: no such property of librdkafka", name);
    // librdkafka repeats a value that it cannot use.
    if (config_kafka_secret(name)) return error_set(error, -EINVAL, "kafka.%s: librdkafka cannot use the value", name);
    return error_set(error, -EINVAL, "kafka.%s=%s: %s", name, value, reason);
}

static int set_extra(rd_kafka_conf_t *conf, const struct config_pair *pair, struct error *error) {
    for (const char *const *name = RESERVED; *name; name++) {
        if (!strcmp(pair->key, *name)) return error_set(error, -EINVAL, "kafka.%s: set by starling itself", pair->key);
    }
    // Reading partitions beyond the assigned ones needs an eager protocol.
    if (!strcmp(pair->key, "partition.assignment.strategy") && strstr(pair->value, "cooperative")) {
        return error_set(error, -EINVAL, "kafka.%s=%s: only eager strategies (range, roundrobin)", pair->key,
                         pair->value);
    }
    return set(conf, pair->key, pair->value, error);
}

/* While no broker answers, librdkafka connects again at once, in spite of its backoff, whenever anything waits for a broker: a question to
 * the controller takes a seventh of a core then, for nothing, and from the broker that is just starting. Each broker has a thread of its own
 * that connects, and here it waits if it has connected too often. */
static int open_socket(int domain, int type, int protocol, void *opaque) {
    enum { APART_US = 100000, AT_ONCE = 5, SILENT_MS = 5000 };
    static _Thread_local int64_t next_us; // when connecting would be no more often than that
    int64_t now = clock_monotonic_us(), early_us = next_us - now - (AT_ONCE - 1) * APART_US;
    if (early_us > 0) nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = (long)early_us * 1000}, NULL);
    next_us = (next_us > now ? next_us : now) + APART_US;
    int fd = socket(domain, type | SOCK_CLOEXEC, protocol), silent_ms = SILENT_MS;
    // After a cut TCP tries again as late as it has waited before. A new connection is there at once.
    if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof silent_ms);
    return fd;
}

int kafka_conf_new(const struct kafka_settings *settings, const struct kafka_property *ours,
                   const struct kafka_property *fixed, struct kafka_opaque *opaque, rd_kafka_conf_t **out,
                   struct error *error) {
    const struct kafka_property common[] = {
        {"bootstrap.servers", settings->bootstrap},
        {"client.id", settings->client_id},
        {"socket.nagle.disable", "true"},
        // librdkafka's own 10 s would keep a daemon away from a broker long after it is back.
        {"reconnect.backoff.max.ms", "1000"},
        {NULL, NULL},
    };
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    int code = 0;
    for (const struct kafka_property *p = common; !code && p->name; p++)
        if (p->value) code = set(conf, p->name, p->value, error);
    for (const struct kafka_property *p = ours; !code && p->name; p++)
        if (p->value) code = set(conf, p->name, p->value, error);
    for (size_t i = 0; !code && i < settings->extra_count; i++) code = set_extra(conf, &settings->extra[i], error);
    for (const struct kafka_property *p = fixed; !code && p->name; p++)
        if (p->value) code = set(conf, p->name, p->value, error);
    if (code) {
        rd_kafka_conf_destroy(conf);
        return code;
    }
    rd_kafka_conf_set_opaque(conf, opaque);
    rd_kafka_conf_set_log_cb(conf, log_line);
    rd_kafka_conf_set_socket_cb(conf, open_socket);
    *out = conf;
    return 0;
}

int kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, rd_kafka_t **out, struct error *error) {
    char reason[256];
    rd_kafka_t *client = rd_kafka_new(type, conf, reason, sizeof reason);
    if (!client) {
        rd_kafka_conf_destroy(conf);
        return error_set(error, -EINVAL, "Kafka client: %s", reason);
    }
    *out = client;
    return 0;
}

int kafka_settings_check(const struct config_pair *pairs, size_t count, struct error *error) {
    /* Some values are looked at only by a client that begins, such as files of keys. Without brokers it connects to none. */
    const struct kafka_settings settings = {.extra = pairs, .extra_count = count};
    struct kafka_opaque opaque = {.log = NULL};
    rd_kafka_conf_t *conf;
    rd_kafka_t *client = NULL;
    int code = kafka_conf_new(&settings, NO_PROPERTIES, NO_PROPERTIES, &opaque, &conf, error);
    if (code) return code;
    rd_kafka_conf_set_log_cb(conf, NULL);
    code = kafka_client_new(RD_KAFKA_CONSUMER, conf, &client, error);
    if (client) rd_kafka_destroy(client);
    return code ? error_prefix(error, code, "kafka.*") : 0;
}

int kafka_code(rd_kafka_resp_err_t err) {
    switch (err) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: return 0;
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT: return -ETIMEDOUT;
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD: return -EHOSTDOWN;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: return -ENOENT;
    case RD_KAFKA_RESP_ERR__QUEUE_FULL: return -EAGAIN;
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE: return -EINVAL;
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: return -ECANCELED;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED: return -EACCES;
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED: return -ESTALE;
    default: return -EIO;
    }
}

int kafka_failed(struct error *error, rd_kafka_resp_err_t err, const char *doing) {
    return error_set(error, kafka_code(err), "%s: %s", doing, rd_kafka_err2str(err));
}

const struct topic *kafka_topic_of(const struct kafka_settings *settings, const char *name) {
    size_t prefix = strlen(settings->prefix);
    if (!settings->topics || strncmp(name, settings->prefix, prefix) != 0) return NULL;
    return topic_find(settings->topics, name + prefix, strlen(name + prefix));
}

void kafka_list_add(rd_kafka_topic_partition_list_t *list, const struct kafka_settings *settings,
                    const struct kafka_position *position) {
    char *name = topic_full_name(settings, position->topic, false);
    rd_kafka_topic_partition_t *entry = rd_kafka_topic_partition_list_add(list, name, position->partition);
    entry->offset = position->offset == KAFKA_OFFSET_BEGINNING ? RD_KAFKA_OFFSET_BEGINNING
                    : position->offset == KAFKA_OFFSET_END     ? RD_KAFKA_OFFSET_END
                    : position->offset < 0                     ? RD_KAFKA_OFFSET_INVALID
                                                               : position->offset;
    free(name);
}

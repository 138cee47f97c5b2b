#include "base/config.h"
#include "base/config_value.h"

/* Text inside a cell: a bar would end it, a line's end the table. */
static void cell(FILE *stream, const char *text) {
    for (; *text; text++) {
        if (*text == '|')
            fputs("\\|", stream);
        else
            fputc(*text == '\n' ? ' ' : *text, stream);
    }
}

static void document_default(FILE *stream, const char *fallback) {
    if (!fallback) {
        fputs("**must be given**", stream);
    } else if (!*fallback) {
        fputs("(empty)", stream);
    } else {
        fputc('`', stream);
        cell(stream, fallback);
        fputc('`', stream);
    }
}

static void document_property(FILE *stream, const struct config_property *property) {
    struct buffer allowed = {0};
    config_value_allowed(&allowed, property);
    fprintf(stream, "| `%s` | ", property->name);
    document_default(stream, property->fallback);
    fputs(" | ", stream);
    cell(stream, allowed.size ? buffer_cstring(&allowed) : "text");
    fputs(" | ", stream);
    cell(stream, property->doc);
    if (property->secret) fprintf(stream, " `%s.file` may name a file that holds it.", property->name);
    fputs(" |\n", stream);
    buffer_free(&allowed);
}

void config_document(const struct config_section *sections, size_t count, FILE *stream) {
    fputs(
        "# Configuration\n"
        "\n"
        "<!-- Generated from the tables of properties in the code: change them, not this page. -->\n"
        "\n"
        "Every program reads its settings from, later ones winning: the defaults below; `.properties` files\n"
        "(`--config FILE`, repeatable); the environment (`flush.window.ms` is `STARLING_FLUSH_WINDOW_MS`); `--set key=value`\n"
        "(repeatable). A key that starts with `kafka.` and is not listed goes to librdkafka without that prefix. An unknown\n"
        "key or a malformed value stops the start.\n"
        "\n"
        "A secret may stand in a file of its own: `peer.token.file=/run/secrets/peer-token` sets `peer.token` to what the file\n"
        "holds, without the newline at its end. `kafka.sasl.password.file` and librdkafka's other secrets\n"
        "(`kafka.ssl.key.password`, `kafka.ssl.key.pem`, `kafka.ssl.keystore.password`, `kafka.sasl.oauthbearer.client.secret`,\n"
        "`kafka.sasl.oauthbearer.config`) work in the same way. The file is read once, at the start.\n"
        "\n"
        "Keys behind `kafka.` are those of\n"
        "[librdkafka's list](https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md), with its defaults but for\n"
        "queues, delays of requests, and these. Consumers: `kafka.session.timeout.ms` is 6000 (so long after a process was\n"
        "killed others take its partitions; brokers allow 6000 to 1800000), `kafka.heartbeat.interval.ms` 500,\n"
        "`kafka.isolation.level` read_committed, `kafka.auto.offset.reset` error, `kafka.partition.assignment.strategy` range.\n"
        "Producers: `kafka.acks` is all, `kafka.enable.idempotence` true, `kafka.partitioner` murmur2_random,\n"
        "`kafka.message.max.bytes` 1048000. Both: `kafka.reconnect.backoff.max.ms` is 1000. Starling alone sets, and refuses,\n"
        "`kafka.client.id`, `kafka.group.id`, `kafka.group.instance.id`, `kafka.transactional.id`, `kafka.enable.auto.commit`,\n"
        "`kafka.enable.auto.offset.store` and `kafka.enable.partition.eof`; cooperative strategies are refused, too. To secure\n"
        "connections: `kafka.security.protocol`, `kafka.ssl.ca.location`, `kafka.sasl.mechanisms`, `kafka.sasl.username`, and for\n"
        "certificates of clients `kafka.ssl.certificate.location` and `kafka.ssl.key.location`.\n"
        "[OPERATIONS](OPERATIONS.md#a-secured-cluster) has the steps, and the ACLs.\n",
        stream);
    for (size_t s = 0; s < count; s++) {
        fprintf(stream, "\n## %s\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n", sections[s].title);
        for (size_t p = 0; p < sections[s].count; p++) document_property(stream, &sections[s].properties[p]);
    }
}

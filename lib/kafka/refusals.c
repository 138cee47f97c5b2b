#include <stdarg.h>
#include <stdio.h>

#include "kafka/private.h"

bool kafka_is_refusal(rd_kafka_resp_err_t err) {
    return err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED || err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
           err == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED ||
           err == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
}

__attribute__((format(printf, 2, 3))) static void tell(const struct kafka_settings *settings, const char *format, ...) {
    char reason[512];
    va_list arguments;
    if (!settings->on_refused) return;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    settings->on_refused(settings->refused_context, reason);
}

void kafka_refused(const struct kafka_settings *settings, rd_kafka_resp_err_t err, const char *operation,
                   const char *kind, const char *name) {
    if (kafka_is_refusal(err))
        tell(settings, "no ACL allows %s on %s %s (`starling topics acls` prints those that are needed)", operation,
             kind, name);
}

bool kafka_allows(const struct kafka_settings *settings, const struct topic *topic, unsigned how) {
    if (!settings->uses || topic_used(settings->uses, topic, how)) return true;
    tell(settings, "%s is not among the topics that this program %s: see its table in event/programs.c", topic->name,
         how == TOPIC_READS    ? "reads"
         : how == TOPIC_WRITES ? "writes"
                               : "writes dead letters of");
    return false;
}

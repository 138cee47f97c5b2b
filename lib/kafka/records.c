#include <stdlib.h>

#include "kafka/admin_private.h"

int kafka_records_delete(struct kafka_admin *admin, const struct topic *topic, int32_t partition, int64_t before,
                         int timeout_ms, struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    int code = kafka_admin_open(admin, error);
    if (code) return code;
    char *name = topic_full_name(admin->settings, topic, false);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name, partition)->offset = before;
    rd_kafka_DeleteRecords_t *wanted = rd_kafka_DeleteRecords_new(list);
    rd_kafka_topic_partition_list_destroy(list);
    struct kafka_request request = kafka_request_new(admin, RD_KAFKA_ADMIN_OP_DELETERECORDS, deadline);
    rd_kafka_DeleteRecords(admin->client, &wanted, 1, request.options, request.queue);
    rd_kafka_event_t *event = kafka_request_finish(&request, deadline, "deleting records", &code, error);
    rd_kafka_DeleteRecords_destroy(wanted);
    if (event) {
        const rd_kafka_topic_partition_list_t *done =
            rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
        rd_kafka_resp_err_t err = done->cnt == 1 ? done->elems[0].err : RD_KAFKA_RESP_ERR_UNKNOWN;
        kafka_refused(admin->settings, err, "Delete", "topic", name);
        if (err) code = kafka_admin_failed(error, err, name);
        rd_kafka_event_destroy(event);
    }
    free(name);
    return code;
}

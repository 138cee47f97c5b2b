#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kafka/admin_private.h"

static void member_fill(struct kafka_member *member, const rd_kafka_MemberDescription_t *from,
                        const struct kafka_settings *settings) {
    const rd_kafka_MemberAssignment_t *assignment = rd_kafka_MemberDescription_assignment(from);
    const rd_kafka_topic_partition_list_t *list = assignment ? rd_kafka_MemberAssignment_partitions(assignment) : NULL;
    *member = (struct kafka_member){
        .id = mem_string(rd_kafka_MemberDescription_consumer_id(from)),
        .client_id = mem_string(rd_kafka_MemberDescription_client_id(from)),
        .host = mem_string(rd_kafka_MemberDescription_host(from)),
        .instance_id = mem_string(rd_kafka_MemberDescription_group_instance_id(from)),
        .owned = mem_zero(list && list->cnt ? (size_t)list->cnt : 1, sizeof *member->owned),
    };
    for (int i = 0; list && i < list->cnt; i++) {
        const struct topic *topic = kafka_topic_of(settings, list->elems[i].topic);
        if (!topic) continue;
        member->owned[member->owned_count++] =
            (struct kafka_position){.topic = topic, .partition = list->elems[i].partition, .offset = KAFKA_OFFSET_NONE};
    }
}

static int group_fill(struct kafka_group *out, const rd_kafka_ConsumerGroupDescription_t *from,
                      const struct kafka_settings *settings, struct error *error) {
    rd_kafka_resp_err_t err = rd_kafka_error_code(rd_kafka_ConsumerGroupDescription_error(from));
    // Newer brokers say so of a group that nobody ever joined, older ones call it Dead.
    bool absent = err == RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND;
    if (err && !absent) {
        kafka_refused(settings, err, "Describe", "group", rd_kafka_ConsumerGroupDescription_group_id(from));
        return kafka_admin_failed(error, err, rd_kafka_ConsumerGroupDescription_group_id(from));
    }
    size_t count = absent ? 0 : rd_kafka_ConsumerGroupDescription_member_count(from);
    *out = (struct kafka_group){
        .state = mem_string(absent ? "Dead"
                                   : rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(from))),
        .members = mem_zero(count ? count : 1, sizeof *out->members),
        .count = count,
    };
    for (size_t i = 0; i < count; i++)
        member_fill(&out->members[i], rd_kafka_ConsumerGroupDescription_member(from, i), settings);
    return 0;
}

/* The group's coordinator cannot even be asked for. */
static int tell_refusal(const struct kafka_admin *admin, const char *group, int code) {
    if (code == -EACCES)
        kafka_refused(admin->settings, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, "Describe", "group", group);
    return code;
}

/* One question; *err is what the broker says of the group itself. */
static int describe_once(struct kafka_admin *admin, const char *group, struct kafka_group *out, int64_t deadline,
                         rd_kafka_resp_err_t *err, struct error *error) {
    int code = kafka_admin_open(admin, error);
    if (code) return code;
    struct kafka_request request = kafka_coordinator_request_new(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
    rd_kafka_DescribeConsumerGroups(admin->client, &group, 1, request.options, request.queue);
    rd_kafka_event_t *event =
        kafka_coordinator_request_finish(admin, &request, deadline, "describing a consumer group", &code, error);
    if (!event) return tell_refusal(admin, group, code);
    size_t count = 0;
    const rd_kafka_ConsumerGroupDescription_t **groups =
        rd_kafka_DescribeConsumerGroups_result_groups(rd_kafka_event_DescribeConsumerGroups_result(event), &count);
    if (count == 1) {
        *err = rd_kafka_error_code(rd_kafka_ConsumerGroupDescription_error(groups[0]));
        code = group_fill(out, groups[0], admin->settings, error);
    } else {
        code = error_set(error, -EIO, "the broker described %zu groups, not one", count);
    }
    rd_kafka_event_destroy(event);
    return code;
}

int kafka_group_describe(struct kafka_admin *admin, const char *group, struct kafka_group *out, int timeout_ms,
                         struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    for (;;) {
        rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
        int code = describe_once(admin, group, out, deadline, &err, error);
        if (!kafka_again(err, deadline)) return code;
    }
}

void kafka_group_clear(struct kafka_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        free(group->members[i].id);
        free(group->members[i].client_id);
        free(group->members[i].host);
        free(group->members[i].instance_id);
        free(group->members[i].owned);
    }
    free(group->members);
    free(group->state);
    *group = (struct kafka_group){.state = NULL, .members = NULL, .count = 0};
}

static int committed_offsets(struct kafka_admin *admin, const char *group, const rd_kafka_topic_partition_list_t *list,
                             int64_t *committed, int64_t deadline, struct error *error) {
    struct kafka_request request = kafka_coordinator_request_new(admin, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    rd_kafka_ListConsumerGroupOffsets_t *question = rd_kafka_ListConsumerGroupOffsets_new(group, list);
    rd_kafka_ListConsumerGroupOffsets(admin->client, &question, 1, request.options, request.queue);
    rd_kafka_ListConsumerGroupOffsets_destroy(question);
    int code = 0;
    rd_kafka_event_t *event =
        kafka_coordinator_request_finish(admin, &request, deadline, "offsets of a consumer group", &code, error);
    if (!event) return tell_refusal(admin, group, code);
    size_t count = 0;
    const rd_kafka_group_result_t **groups =
        rd_kafka_ListConsumerGroupOffsets_result_groups(rd_kafka_event_ListConsumerGroupOffsets_result(event), &count);
    const rd_kafka_topic_partition_list_t *found = count == 1 ? rd_kafka_group_result_partitions(groups[0]) : NULL;
    rd_kafka_resp_err_t err = count == 1 ? rd_kafka_error_code(rd_kafka_group_result_error(groups[0])) : 0;
    kafka_refused(admin->settings, err, "Describe", "group", group);
    if (err && err != RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND) code = kafka_admin_failed(error, err, group);
    for (int i = 0; !code && found && i < found->cnt; i++) {
        int32_t partition = found->elems[i].partition;
        if (partition < 0 || partition >= list->cnt) continue;
        committed[partition] = found->elems[i].offset >= 0 ? found->elems[i].offset : KAFKA_OFFSET_NONE;
    }
    rd_kafka_event_destroy(event);
    return code;
}

/* Sets each offset to the partition's end: "by time" -1 asks for that. */
static rd_kafka_resp_err_t ends(struct kafka_admin *admin, rd_kafka_topic_partition_list_t *list, int64_t deadline) {
    rd_kafka_resp_err_t err;
    do {
        for (int i = 0; i < list->cnt; i++) list->elems[i].offset = RD_KAFKA_OFFSET_END;
        err = rd_kafka_offsets_for_times(admin->client, list, kafka_attempt_ms(deadline));
        for (int i = 0; !err && i < list->cnt; i++) err = list->elems[i].err;
    } while (kafka_leaders_again(admin->client, list, err, deadline));
    return err;
}

int kafka_group_offsets(struct kafka_admin *admin, const char *group, const struct topic *topic, int count,
                        int64_t *committed, int64_t *end, int timeout_ms, struct error *error) {
    int64_t deadline = kafka_deadline_us(timeout_ms);
    int code = kafka_admin_open(admin, error);
    if (code) return code;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
    int64_t *found = mem_alloc((size_t)count * sizeof *found + 1);
    for (int i = 0; i < count; i++) {
        struct kafka_position position = {.topic = topic, .partition = i, .offset = KAFKA_OFFSET_END};
        kafka_list_add(list, admin->settings, &position);
        found[i] = KAFKA_OFFSET_NONE;
    }
    if (count) code = committed_offsets(admin, group, list, found, deadline, error);
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (!code && count) err = ends(admin, list, deadline);
    kafka_refused(admin->settings, err, "Describe", "topic", list->cnt ? list->elems[0].topic : "");
    if (err) code = kafka_admin_failed(error, err, "ends of partitions");
    for (int i = 0; !code && i < list->cnt; i++) {
        end[list->elems[i].partition] = list->elems[i].offset;
        committed[list->elems[i].partition] = found[list->elems[i].partition];
    }
    rd_kafka_topic_partition_list_destroy(list);
    free(found);
    return code;
}

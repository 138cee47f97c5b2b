#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/commands_private.h"

static const struct topic *const COMMANDS[] = {&TOPIC_FOLLOW_COMMANDS, &TOPIC_FOLLOWER_COMMANDS,
                                               &TOPIC_POST_COMMANDS,   &TOPIC_NAME_COMMANDS,
                                               &TOPIC_NOTICE_COMMANDS, &TOPIC_DIRECTORY_COMMANDS};
static const struct decider_state STATES[] = {
    {&TOPIC_FOLLOWS, RELATION_KEY_SIZE, sizeof(int64_t)},
    {&TOPIC_POSTS, COMMANDS_CLIENT_KEY_MAX, sizeof(struct pending_post)},
    {&TOPIC_POST_TEXTS, POST_KEY_SIZE, sizeof(int64_t)},
    {&TOPIC_NAMES, NAME_KEY_MAX, sizeof(struct name_of_user)},
    {&TOPIC_FOLLOW_REFUSALS, COMMANDS_REFUSAL_KEY_SIZE, sizeof(int64_t)},
    {&TOPIC_VISIBILITY, VISIBILITY_KEY_SIZE, sizeof(int64_t)},
    {&TOPIC_NOTICE_SETTINGS, NOTICE_SETTINGS_KEY_SIZE, sizeof(struct notice_settings)},
    {&TOPIC_DIRECTORY, DIRECTORY_KEY_SIZE, sizeof(struct directory_row)}};

/* ---- reading ---- */

static int read_follow(struct feed_commands *commands, const struct kafka_record *record, struct command_item *item,
                       struct error *error) {
    int code = event_decode_follow_command(commands->codec, record->value, record->value_size, &item->follow, error);
    if (code) return code;
    const char *reason = follow_command_complaint(&item->follow);
    if (!reason && hash_user_partition(item->follow.user, commands->options.partitions) != record->partition)
        reason = "not in the partition of the user";
    return reason ? error_set(error, -EINVAL, "%s", reason) : 0;
}

static int read_follower(struct feed_commands *commands, const struct kafka_record *record, struct command_item *item,
                         struct error *error) {
    int code =
        event_decode_follower_command(commands->codec, record->value, record->value_size, &item->follower, error);
    if (code) return code;
    const char *reason = follower_command_complaint(&item->follower);
    if (!reason && hash_user_partition(item->follower.author, commands->options.partitions) != record->partition)
        reason = "not in the partition of the author";
    return reason ? error_set(error, -EINVAL, "%s", reason) : 0;
}

static int read_notices(struct feed_commands *commands, const struct kafka_record *record, struct command_item *item,
                        struct error *error) {
    int code = event_decode_notice_command(commands->codec, record->value, record->value_size, &item->notices, error);
    if (code) return code;
    const char *reason = notice_command_complaint(&item->notices);
    if (!reason && hash_user_partition(item->notices.user, commands->options.partitions) != record->partition)
        reason = "not in the partition of the user";
    return reason ? error_set(error, -EINVAL, "%s", reason) : 0;
}

static int read_directory(struct feed_commands *commands, const struct kafka_record *record, struct command_item *item,
                          struct error *error) {
    struct directory_command command;
    int code = event_decode_directory_command(commands->codec, record->value, record->value_size, &command, error);
    if (code) return code;
    const char *reason = directory_complaint(&command);
    if (!reason &&
        hash_user_partition(external_id_base(command.user), commands->options.partitions) != record->partition)
        reason = "not in the partition of the number";
    if (reason) return error_set(error, -EINVAL, "%s", reason);
    item->directory.user = command.user;
    if (command.kind == DIRECTORY_COMMAND_SIGN_IN)
        memcpy(item->directory.external, command.external.data, command.external.size);
    return 0;
}

static int read_post(struct feed_commands *commands, const struct kafka_record *record, struct command_item *item,
                     struct error *error) {
    struct post_command command;
    int code = event_decode_post_command(commands->codec, record->value, record->value_size, &command, error);
    if (code) return code;
    const char *reason = post_command_complaint(&command);
    if (!reason && hash_user_partition(command.user, commands->options.partitions) != record->partition)
        reason = "not in the partition of the author";
    if (reason) return error_set(error, -EINVAL, "%s", reason);
    item->value = mem_alloc(record->value_size);
    item->size = record->value_size;
    memcpy(item->value, record->value, record->value_size);
    return 0;
}

static int read_command(void *context, const struct kafka_record *record, void *out, struct error *error) {
    struct feed_commands *commands = context;
    struct command_item *item = out;
    *item = (struct command_item){.arrived_ms = record->timestamp};
    if (!record->value) return error_set(error, -EBADMSG, "a command needs a value");
    if (record->topic == &TOPIC_NAME_COMMANDS) return name_commands_read(commands->names, record, &item->name, error);
    if (record->topic == &TOPIC_FOLLOWER_COMMANDS) return read_follower(commands, record, item, error);
    if (record->topic == &TOPIC_NOTICE_COMMANDS) return read_notices(commands, record, item, error);
    if (record->topic == &TOPIC_DIRECTORY_COMMANDS) return read_directory(commands, record, item, error);
    return (record->topic == &TOPIC_POST_COMMANDS ? read_post : read_follow)(commands, record, item, error);
}

static void release(void *item) { free(((struct command_item *)item)->value); }

int commands_not_written(int code, struct error *error) {
    return error_set(error, code, "state could not be written: %s", strerror(-code));
}

/* ---- deciding ---- */

static int decide_name(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    return name_commands_decide(commands->names, slot->partition, &((const struct command_item *)slot->item)->name,
                                error);
}

static int decide_one(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    if (slot->topic == &TOPIC_POST_COMMANDS) return commands_decide_post(commands, slot, error);
    if (slot->topic == &TOPIC_FOLLOWER_COMMANDS) return commands_decide_follower(commands, slot, error);
    if (slot->topic == &TOPIC_NOTICE_COMMANDS) return commands_decide_notices(commands, slot, error);
    if (slot->topic == &TOPIC_DIRECTORY_COMMANDS) return commands_decide_directory(commands, slot, error);
    return (slot->topic == &TOPIC_NAME_COMMANDS ? decide_name : commands_decide_follow)(commands, slot, error);
}

static int decide(void *context, struct decider_command *slice, size_t count, struct error *error) {
    const struct feed_commands_options *options = &((struct feed_commands *)context)->options;
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) {
        code = decide_one(context, &slice[i], error);
        if (code) tasks_damaged(options->tasks, slice[i].partition, code, error);
    }
    return code;
}

/* ---- beginning and end ---- */

static void handled(void *context) { tasks_decided(((struct feed_commands *)context)->options.tasks); }

static void reset(void *context) { tasks_commands_lost(((struct feed_commands *)context)->options.tasks); }

struct feed_commands *feed_commands_new(const struct feed_commands_options *options) {
    struct feed_commands *commands =
        MEM_NEW(&(struct feed_commands){.options = *options, .codec = codec_new(), .text_codec = codec_new()});
    commands->decider = decider_new(&(struct decider_options){
        .loop = options->loop,
        .settings = options->kafka,
        .log = options->log,
        .registry = options->metrics,
        .metrics = decider_metrics_of(options->metrics, "starling_feed"),
        .transactional_id = options->transactional_id,
        .partitions = options->partitions,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = STATES,
        .state_count = ARRAY_SIZE(STATES),
        .offsets = &TOPIC_FEED_OFFSETS,
        .batch = options->batch,
        .item_size = sizeof(struct command_item),
        .release = release,
        .context = commands,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    });
    commands->relations = decider_overlay(commands->decider, &TOPIC_FOLLOWS);
    commands->refusals = decider_overlay(commands->decider, &TOPIC_FOLLOW_REFUSALS);
    commands->visibility = decider_overlay(commands->decider, &TOPIC_VISIBILITY);
    commands->notice_settings = decider_overlay(commands->decider, &TOPIC_NOTICE_SETTINGS);
    commands->directory = decider_overlay(commands->decider, &TOPIC_DIRECTORY);
    commands->posts = decider_overlay(commands->decider, &TOPIC_POSTS);
    commands->texts = decider_overlay(commands->decider, &TOPIC_POST_TEXTS);
    commands->names = name_commands_new(commands->decider, options->names, options->partitions);
    return commands;
}

void feed_commands_free(struct feed_commands *commands) {
    if (!commands) return;
    decider_free(commands->decider);
    name_commands_free(commands->names);
    codec_free(commands->codec);
    codec_free(commands->text_codec);
    buffer_free(&commands->value);
    id_list_free(&commands->readers);
    free(commands);
}

struct decider *feed_commands_decider(struct feed_commands *commands) {
    return commands->decider;
}

struct name_commands *feed_commands_names(struct feed_commands *commands) {
    return commands->names;
}

#include "comments/commands.h"

#include <stdlib.h>

#include "base/config.h"
#include "base/mem.h"
#include "event/topics.h"

static const struct topic *const COMMANDS[] = {&TOPIC_COMMENT_COMMANDS};

struct comment_commands {
    struct comment_commands_options options;
    struct decider *decider;
    struct decisions *decisions;
};

static int read_command(void *context, const struct kafka_record *record, void *item, struct error *error) {
    return decisions_read(((struct comment_commands *)context)->decisions, record, item, error);
}

static int decide(void *context, struct decider_command *slice, size_t count, struct error *error) {
    struct comment_commands *commands = context;
    int32_t partition = -1;
    int code = decisions_run(commands->decisions, slice, count, &partition, error);
    tasks_damaged(commands->options.tasks, partition, code, error);
    return code;
}

static int write_record(void *context, const struct topic *topic, int32_t partition, const void *key, size_t key_size,
                        const void *value, size_t value_size) {
    return decider_write(((struct comment_commands *)context)->decider, topic, partition, key, key_size, value,
                         value_size);
}

static bool banned(void *context, int64_t user, int64_t now_ms) {
    return bans_has(((struct comment_commands *)context)->options.bans, user, now_ms);
}

static void handled(void *context) { tasks_decided(((struct comment_commands *)context)->options.tasks); }
static void reset(void *context) { tasks_commands_lost(((struct comment_commands *)context)->options.tasks); }

struct comment_commands *comment_commands_new(const struct comment_commands_options *options) {
    struct comment_commands *commands = MEM_NEW(&(struct comment_commands){.options = *options});
    commands->decider = decider_new(&(struct decider_options){
        .loop = options->loop,
        .settings = options->kafka,
        .log = options->log,
        .registry = options->metrics,
        .metrics = decider_metrics_of(options->metrics, "starling_comments"),
        .transactional_id = options->transactional_id,
        .partitions = options->partitions,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = DECISIONS_STATES,
        .state_count = THREADS_STATES,
        .offsets = &TOPIC_COMMENT_OFFSETS,
        .batch = options->batch,
        .item_size = sizeof(struct comment_item),
        .release = decisions_release,
        .context = commands,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    });
    commands->options.transactional_id = NULL; // the decider has its copy
    struct decisions_options decisions = {
        .threads = options->threads,
        .partitions = options->partitions,
        .user_partitions = options->user_partitions,
        .rate = options->rate,
        .context = commands,
        .write = write_record,
        .banned = banned,
    };
    for (int s = 0; s < THREADS_STATES; s++)
        decisions.overlays[s] = decider_overlay(commands->decider, THREADS_TOPICS[s]);
    commands->decisions = decisions_new(&decisions);
    return commands;
}

void comment_commands_free(struct comment_commands *commands) {
    if (!commands) return;
    decider_free(commands->decider);
    decisions_free(commands->decisions);
    free(commands);
}

struct decider *comment_commands_decider(struct comment_commands *commands) {
    return commands->decider;
}

struct decisions *comment_commands_decisions(struct comment_commands *commands) {
    return commands->decisions;
}

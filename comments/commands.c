#include "comments/commands.h"

#include <stdlib.h>

#include "base/config.h"
#include "base/mem.h"
#include "comments/parts.h"
#include "decider/identity.h"
#include "event/topics.h"

enum { SECOND_MS = 1000 };

static const struct topic *const COMMANDS[] = {&TOPIC_COMMENT_COMMANDS};

struct comment_commands {
    const struct comments *comments;
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
    tasks_damaged(commands->comments->tasks, partition, code, error);
    return code;
}

static int write_record(void *context, const struct topic *topic, int32_t partition, const void *key, size_t key_size,
                        const void *value, size_t value_size) {
    return decider_write(((struct comment_commands *)context)->decider, topic, partition, key, key_size, value,
                         value_size);
}

static bool banned(void *context, int64_t user, int64_t now_ms) {
    return bans_has(((struct comment_commands *)context)->comments->bans, user, now_ms);
}

static struct event_text name_of(void *context, int64_t user) {
    struct profile profile;
    bool found = profiles_find(((struct comment_commands *)context)->comments->profiles, user, &profile);
    return found ? profile.name : (struct event_text){"", 0};
}

static void handled(void *context) { tasks_decided(((struct comment_commands *)context)->comments->tasks); }
static void reset(void *context) { tasks_commands_lost(((struct comment_commands *)context)->comments->tasks); }

int comment_commands_new(const struct comments *comments, struct comment_commands **out, struct error *error) {
    const struct service_settings *common = service_settings(comments->service);
    const struct comments_settings *settings = comments->settings;
    char *id;
    int code = identity_transactional(service_kafka(comments->service)->prefix, settings->group_id,
                                      common->group_instance_id, common->data_dir, &id, error);
    if (code) return code;
    struct comment_commands *commands = MEM_NEW(&(struct comment_commands){.comments = comments});
    commands->decider = decider_new(&(struct decider_options){
        .loop = service_loop(comments->service),
        .settings = service_kafka(comments->service),
        .log = service_log(comments->service),
        .registry = service_metrics(comments->service),
        .metrics = decider_metrics_of(service_metrics(comments->service), "starling_comments"),
        .transactional_id = id,
        .partitions = comments->partitions,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = DECISIONS_STATES,
        .state_count = THREADS_STATES,
        .offsets = &TOPIC_COMMENT_OFFSETS,
        .batch = (size_t)settings->commands_batch,
        .item_size = sizeof(struct comment_item),
        .release = decisions_release,
        .context = commands,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    });
    free(id);
    struct decisions_options decisions = {
        .threads = comments->threads,
        .partitions = comments->partitions,
        .user_partitions = comments->user_partitions,
        .rate = {.interval_ms = settings->user_rate ? SECOND_MS / settings->user_rate : 0,
                 .burst = settings->user_burst},
        .context = commands,
        .write = write_record,
        .banned = banned,
        .name_of = name_of,
    };
    for (int s = 0; s < THREADS_STATES; s++)
        decisions.overlays[s] = decider_overlay(commands->decider, THREADS_TOPICS[s]);
    commands->decisions = decisions_new(&decisions);
    *out = commands;
    return 0;
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

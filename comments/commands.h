/* The commands about comments, as a product of lib/decider: comment-commands are decided by comments/decisions.h, and all that a command
 * writes is in one transaction. Loop's thread. */
#pragma once

#include "comments/bans.h"
#include "comments/decisions.h"
#include "tasks/tasks.h"

struct comment_commands;

struct comment_commands_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    struct log *log;
    struct metrics *metrics;
    struct threads *threads;
    const struct bans *bans;
    const char *transactional_id;
    int32_t partitions, user_partitions;
    struct comment_rate rate;
    size_t batch; /* commands in one transaction at most */
    struct tasks *tasks;
};

struct comment_commands *comment_commands_new(const struct comment_commands_options *options);
void comment_commands_free(struct comment_commands *commands); /* not while the decider is busy; NULL is fine */

struct decider *comment_commands_decider(struct comment_commands *commands);     /* lives as long */
struct decisions *comment_commands_decisions(struct comment_commands *commands); /* lives as long */

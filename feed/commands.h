/* The feed's commands, as a product of lib/decider: an author's followers and who sees the author's posts, mutes against the user's lists,
 * posts against the author's posts, and steps to a handle (feed/name_commands.h).
 *
 *     follow-commands ----+                                   +--> follows: mutes. Wishes to follow go on to follower-commands
 *     follower-commands --+--> decider --> decide (rules.h) --+--> follows: both halves of a follow or a request; visibility
 *     post-commands ------+                                   +--> posts and post-texts, in the author's partition; moderation-log
 *     notice-commands ----+                                   +--> notice-settings
 *     directory-commands -+                                   +--> directory
 *
 * A refused wish to follow leads to a record in follow-refusals. One transaction has all that a command writes, including the notices of a
 * follow or of a post that mentions users. Loop's thread.
 */
#pragma once

#include "decider/decider.h"
#include "feed/blocks.h"
#include "feed/directory.h"
#include "feed/name_commands.h"
#include "feed/notice_settings.h"
#include "feed/posts.h"
#include "feed/refusals.h"
#include "feed/relations.h"
#include "feed/visibility.h"
#include "tasks/tasks.h"
#include "users/bans.h"

struct feed_commands;

struct feed_commands_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    struct log *log;
    struct metrics *metrics;
    struct relation_lists *relations;
    struct posts *posts;
    struct table_store *blocks;
    struct visibility_store *visibility;
    struct notice_settings_store *notice_settings;
    struct directory_store *directory;
    struct names *names;
    const struct bans *bans;
    const char *transactional_id;
    int32_t partitions, subject_partitions; /* subject: of the moderation log */
    size_t batch;                           /* commands in one transaction at most */
    size_t following_max;
    struct tasks *tasks;
};

struct feed_commands *feed_commands_new(const struct feed_commands_options *options);
void feed_commands_free(struct feed_commands *commands); /* not while the decider is busy; NULL is fine */

struct decider *feed_commands_decider(struct feed_commands *commands); /* lives as long */

struct name_commands *feed_commands_names(struct feed_commands *commands); /* lives as long */

/* Whether nothing that was decided about this relation, user, or post of this key or id still waits to be read back. */
bool feed_commands_relation_read(const struct feed_commands *commands, const struct relation_half *half);
bool feed_commands_follower_read(const struct feed_commands *commands, int64_t author, int64_t reader);
bool feed_commands_visibility_read(const struct feed_commands *commands, int64_t author);
bool feed_commands_notices_read(const struct feed_commands *commands, int64_t user); /* their settings */
bool feed_commands_directory_read(const struct feed_commands *commands, int64_t user);
/* Whether that follower command was refused, and the refusal is not read back yet. */
bool feed_commands_refused(const struct feed_commands *commands, int32_t partition, int64_t command,
                           enum follow_refusal_reason *reason);
bool feed_commands_key_read(const struct feed_commands *commands, int64_t author, const void *key, size_t size);
bool feed_commands_post_read(const struct feed_commands *commands, int64_t author, int64_t id);
bool feed_commands_text_read(const struct feed_commands *commands, int64_t author, int64_t id);

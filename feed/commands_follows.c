#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "event/topics.h"
#include "feed/commands_private.h"
#include "feed/notices.h"

enum { COUNT_KEY_SIZE = 9 };

static const int64_t *newest_relation(const struct feed_commands *commands, const struct relation_half *half) {
    uint8_t key[RELATION_KEY_SIZE];
    relation_key_write(key, half);
    return overlay_find(commands->relations, key, sizeof key, NULL);
}

static void count_key(uint8_t key[COUNT_KEY_SIZE], int64_t user) {
    bytes_put_be64(key, (uint64_t)user);
    key[8] = 0;
}

/* The user's relation as the next command finds it. */
static int read_relation_now(struct feed_commands *commands, int32_t partition, const struct relation_half *half,
                             struct relation_now *now, struct error *error) {
    const struct feed_commands_options *options = &commands->options;
    uint8_t key[COUNT_KEY_SIZE];
    *now = (struct relation_now){.set = false};
    int code = relation_lists_since(options->relations, partition, half, &now->set, &now->since, error);
    if (!code)
        code =
            relation_lists_count(options->relations, partition, half->user, RELATION_FOLLOWING, &now->following, error);
    if (!code) code = blocks_has(options->blocks, partition, half->user, half->other, &now->blocked, error);
    if (code) return code;
    const int64_t *since = newest_relation(commands, half);
    if (since) {
        now->set = *since != 0;
        now->since = *since;
    }
    count_key(key, half->user);
    const int64_t *count = overlay_find(commands->relations, key, sizeof key, NULL);
    if (count) now->following = (size_t)*count;
    return 0;
}

/* since 0: a tombstone. */
static int write_half(struct feed_commands *commands, const struct relation_half *half, int64_t since) {
    uint8_t key[RELATION_KEY_SIZE];
    relation_key_write(key, half);
    buffer_clear(&commands->value);
    if (since) event_encode_follow(&commands->value, &(struct follow){.since = since});
    return decider_write(commands->decider, &TOPIC_FOLLOWS,
                         hash_user_partition(half->user, commands->options.partitions), key, sizeof key,
                         since ? commands->value.data : NULL, commands->value.size);
}

static void note_half(struct feed_commands *commands, int32_t partition, const struct relation_half *half, bool set,
                      size_t following) {
    uint8_t key[RELATION_KEY_SIZE], counted[COUNT_KEY_SIZE];
    int64_t since = set ? clock_wall_ms() : 0, count = (int64_t)following;
    relation_key_write(key, half);
    overlay_put(commands->relations, partition, 0, key, sizeof key, &since, sizeof since);
    if (half->relation != RELATION_FOLLOWING) return;
    count_key(counted, half->user);
    overlay_put(commands->relations, partition, 0, counted, sizeof counted, &count, sizeof count);
}

static void refusal_key(uint8_t key[COMMANDS_REFUSAL_KEY_SIZE], int32_t partition, int64_t command) {
    bytes_put_be32(key, (uint32_t)partition);
    bytes_put_be64(key + 4, (uint64_t)command);
}

static int refuse(struct feed_commands *commands, const struct decider_command *slot,
                  enum follow_refusal_reason reason) {
    const struct follow_refusal refusal = {.command = slot->offset, .reason = reason};
    uint8_t key[COMMANDS_REFUSAL_KEY_SIZE], user[8];
    int64_t noted = reason;
    refusal_key(key, slot->partition, slot->offset);
    overlay_put(commands->refusals, slot->partition, 0, key, sizeof key, &noted, sizeof noted);
    bytes_put_be64(user, (uint64_t)((const struct command_item *)slot->item)->follow.user);
    buffer_clear(&commands->value);
    event_encode_follow_refusal(&commands->value, &refusal);
    return decider_write(commands->decider, &TOPIC_FOLLOW_REFUSALS, slot->partition, user, sizeof user,
                         commands->value.data, commands->value.size);
}

static int change_relation(struct feed_commands *commands, const struct decider_command *slot,
                           const struct relation_now *now, bool set) {
    const struct follow_command *command = &((const struct command_item *)slot->item)->follow;
    struct relation_half half = {command->user, command->other, follow_relation(command->kind)};
    struct relation_half mirror = {command->other, command->user, RELATION_FOLLOWER};
    int64_t since = set ? command->time : 0;
    note_half(commands, slot->partition, &half, set, set ? now->following + 1 : now->following - 1);
    int code = write_half(commands, &half, since);
    if (!code && half.relation == RELATION_FOLLOWING) code = write_half(commands, &mirror, since);
    if (!code && set && half.relation == RELATION_FOLLOWING)
        code =
            notices_write_follow(commands->decider, commands->options.partitions, command->other, command->user, since);
    return code;
}

int commands_decide_follow(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct follow_command *command = &((const struct command_item *)slot->item)->follow;
    struct relation_half half = {command->user, command->other, follow_relation(command->kind)};
    struct relation_now now;
    int code = read_relation_now(commands, slot->partition, &half, &now, error);
    if (code) return code;
    switch (follow_decide(command, &now, commands->options.following_max)) {
    case FOLLOW_NOTHING: return 0;
    case FOLLOW_SET: code = change_relation(commands, slot, &now, true); break;
    case FOLLOW_CLEAR: code = change_relation(commands, slot, &now, false); break;
    case FOLLOW_BLOCKED: code = refuse(commands, slot, FOLLOW_REFUSAL_BLOCKED); break;
    case FOLLOW_FULL: code = refuse(commands, slot, FOLLOW_REFUSAL_FULL); break;
    }
    return code ? commands_not_written(code, error) : 0;
}

/* ---- records that are read back ---- */

bool feed_commands_relation_read(const struct feed_commands *commands, const struct relation_half *half) {
    return !newest_relation(commands, half);
}

bool feed_commands_refused(const struct feed_commands *commands, int32_t partition, int64_t command,
                           enum follow_refusal_reason *reason) {
    uint8_t key[COMMANDS_REFUSAL_KEY_SIZE];
    refusal_key(key, partition, command);
    const int64_t *noted = overlay_find(commands->refusals, key, sizeof key, NULL);
    if (noted) *reason = (enum follow_refusal_reason) * noted;
    return noted;
}

/* Mutes, which the user's owner decides, and wishes to follow, which the owner of the followed author does. */
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "event/topics.h"
#include "feed/commands_private.h"

const int64_t *commands_newest_relation(const struct feed_commands *commands, const struct relation_half *half) {
    uint8_t key[RELATION_KEY_SIZE];
    relation_key_write(key, half);
    return overlay_find(commands->relations, key, sizeof key, NULL);
}

/* since 0: a tombstone. */
int commands_write_half(struct feed_commands *commands, const struct relation_half *half, int64_t since) {
    uint8_t key[RELATION_KEY_SIZE];
    relation_key_write(key, half);
    buffer_clear(&commands->value);
    if (since) event_encode_follow(&commands->value, &(struct follow){.since = since});
    return decider_write(commands->decider, &TOPIC_FOLLOWS,
                         hash_user_partition(half->user, commands->options.partitions), key, sizeof key,
                         since ? commands->value.data : NULL, commands->value.size);
}

void commands_note_half(struct feed_commands *commands, int32_t partition, const struct relation_half *half, bool set) {
    uint8_t key[RELATION_KEY_SIZE];
    int64_t since = set ? clock_wall_ms() : 0;
    relation_key_write(key, half);
    overlay_put(commands->relations, partition, (uint64_t)half->user, key, sizeof key, &since, sizeof since);
}

static int decide_mute(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct follow_command *command = &((const struct command_item *)slot->item)->follow;
    const struct relation_half half = {command->user, command->other, RELATION_MUTED};
    const int64_t *newest = commands_newest_relation(commands, &half);
    bool wanted = command->kind == FOLLOW_COMMAND_MUTE, is;
    int code = 0;
    if (newest)
        is = *newest != 0;
    else
        code = relation_lists_has(commands->options.relations, slot->partition, &half, &is, NULL, error);
    if (code || is == wanted) return code;
    commands_note_half(commands, slot->partition, &half, wanted);
    code = commands_write_half(commands, &half, wanted ? command->time : 0);
    return code ? commands_not_written(code, error) : 0;
}

/* Of gateways of the previous release, and of tools: the author's owner decides. */
static int pass_on(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct follow_command *command = &((const struct command_item *)slot->item)->follow;
    struct follower_command passed = {
        .kind = command->kind == FOLLOW_COMMAND_FOLLOW ? FOLLOWER_COMMAND_ASK : FOLLOWER_COMMAND_END,
        .author = command->other,
        .reader = command->user,
        .time = command->time,
        .blocked = command->blocked,
    };
    uint8_t key[8];
    size_t following, requesting;
    int code = relation_lists_count(commands->options.relations, slot->partition, command->user, RELATION_FOLLOWING,
                                    &following, error);
    if (!code)
        code = relation_lists_count(commands->options.relations, slot->partition, command->user, RELATION_REQUESTING,
                                    &requesting, error);
    if (code) return code;
    passed.following = (int64_t)(following + requesting);
    bytes_put_be64(key, (uint64_t)passed.author);
    buffer_clear(&commands->value);
    event_encode_follower_command(&commands->value, &passed);
    code = decider_write(commands->decider, &TOPIC_FOLLOWER_COMMANDS,
                         hash_user_partition(passed.author, commands->options.partitions), key, sizeof key,
                         commands->value.data, commands->value.size);
    return code ? commands_not_written(code, error) : 0;
}

int commands_decide_follow(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    enum follow_command_kind kind = ((const struct command_item *)slot->item)->follow.kind;
    bool mutes = kind == FOLLOW_COMMAND_MUTE || kind == FOLLOW_COMMAND_UNMUTE;
    return (mutes ? decide_mute : pass_on)(commands, slot, error);
}

bool feed_commands_relation_read(const struct feed_commands *commands, const struct relation_half *half) {
    return !commands_newest_relation(commands, half);
}

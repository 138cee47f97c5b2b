/* What users have read of their notices, and how they are told. */
#include "base/hash.h"
#include "event/topics.h"
#include "feed/commands_private.h"
#include "users/notice.h"

static const struct notice_settings *newest_settings(const struct feed_commands *commands, int64_t user) {
    uint8_t key[NOTICE_SETTINGS_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)user);
    return overlay_find(commands->notice_settings, key, sizeof key, NULL);
}

static int32_t mix(int32_t before, int32_t named, int32_t given) { return (before & ~named) | (given & named); }

/* False: they stay as they are. A mark never goes back, whichever device asks last. */
static bool change(struct notice_settings *settings, const struct notice_command *command) {
    const struct notice_settings before = *settings;
    struct notice_key read = {.user = command->user}, mark;
    switch (command->kind) {
    case NOTICE_COMMAND_READ:
        read = (struct notice_key){command->user, command->read_time, (enum notice_kind)command->read_kind,
                                   command->read_number};
        if (notice_mark(settings, &mark) && !notice_is_newer(&read, &mark)) return false;
        settings->read_time = command->read_time;
        settings->read_kind = command->read_kind;
        settings->read_number = command->read_number;
        return true;
    case NOTICE_COMMAND_PREFER:
        settings->not_live = mix(before.not_live, command->named, command->not_live);
        settings->not_push = mix(before.not_push, command->named, command->not_push);
        return settings->not_live != before.not_live || settings->not_push != before.not_push;
    case NOTICE_COMMAND_FORGET:
        *settings = (struct notice_settings){0};
        return before.read_kind || before.not_live || before.not_push;
    }
    return false;
}

int commands_decide_notices(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct notice_command *command = &((const struct command_item *)slot->item)->notices;
    const struct notice_settings *newest = newest_settings(commands, command->user);
    struct notice_settings settings;
    uint8_t key[NOTICE_SETTINGS_KEY_SIZE];
    int code = 0;
    if (newest)
        settings = *newest;
    else
        code = notice_settings_of(commands->options.notice_settings, slot->partition, command->user, &settings, error);
    if (code || !change(&settings, command)) return code;
    bool forgotten = command->kind == NOTICE_COMMAND_FORGET;
    bytes_put_be64(key, (uint64_t)command->user);
    overlay_put(commands->notice_settings, slot->partition, 0, key, sizeof key, &settings, sizeof settings);
    buffer_clear(&commands->value);
    event_encode_notice_settings(&commands->value, &settings);
    code = decider_write(commands->decider, &TOPIC_NOTICE_SETTINGS, slot->partition, key, sizeof key,
                         forgotten ? NULL : commands->value.data, forgotten ? 0 : commands->value.size);
    return code ? commands_not_written(code, error) : 0;
}

bool feed_commands_notices_read(const struct feed_commands *commands, int64_t user) {
    return !newest_settings(commands, user);
}

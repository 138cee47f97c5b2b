#include "feed/name_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"

struct name_commands {
    struct decider *decider;
    struct overlay *overlay; /* under the records' keys: struct name_of_user, struct name_of_handle */
    struct names *names;
    int32_t partitions;
    struct codec *codec;
    struct buffer value;
};

struct name_commands *name_commands_new(struct decider *decider, struct names *names, int32_t partitions) {
    return MEM_NEW(&(struct name_commands){
        .decider = decider,
        .overlay = decider_overlay(decider, &TOPIC_NAMES),
        .names = names,
        .partitions = partitions,
        .codec = codec_new(),
    });
}

void name_commands_free(struct name_commands *commands) {
    if (!commands) return;
    codec_free(commands->codec);
    buffer_free(&commands->value);
    free(commands);
}

/* The key of the state that decides a step, and of the step as a command. */
static size_t key_of(uint8_t key[NAME_KEY_MAX], const struct name_step *step) {
    return name_is_for_handle(step->kind) ? name_key_of_handle(key, step->handle) : name_key_of_user(key, step->user);
}

static int32_t home_of(const struct name_commands *commands, const struct name_step *step) {
    return name_is_for_handle(step->kind) ? handle_partition(step->handle, commands->partitions)
                                          : hash_user_partition(step->user, commands->partitions);
}

int name_commands_read(struct name_commands *commands, const struct kafka_record *record, struct name_step *step,
                       struct error *error) {
    struct name_command command;
    int code = event_decode_name_command(commands->codec, record->value, record->value_size, &command, error);
    if (code) return code;
    const char *reason = name_command_complaint(&command, step);
    if (!reason && home_of(commands, step) != record->partition)
        reason = "not in the partition of the user or handle that it is for";
    return reason ? error_set(error, -EINVAL, "%s", reason) : 0;
}

/* ---- deciding ---- */

static struct event_text text_of(const char *text) { return (struct event_text){.data = text, .size = strlen(text)}; }

static int send_steps(struct name_commands *commands, const struct name_steps *steps) {
    int code = 0;
    for (size_t i = 0; !code && i < steps->count; i++) {
        const struct name_step *step = &steps->items[i];
        uint8_t key[NAME_KEY_MAX];
        struct name_command command = {.kind = step->kind,
                                       .user = step->user,
                                       .handle = text_of(step->handle),
                                       .number = step->number,
                                       .time = clock_wall_ms()};
        buffer_clear(&commands->value);
        event_encode_name_command(&commands->value, &command);
        code = decider_write(commands->decider, &TOPIC_NAME_COMMANDS, home_of(commands, step), key, key_of(key, step),
                             commands->value.data, commands->value.size);
    }
    return code;
}

static int user_now(struct name_commands *commands, int32_t partition, int64_t user, struct name_of_user *name,
                    struct error *error) {
    uint8_t key[NAME_KEY_MAX];
    const struct name_of_user *newest = overlay_find(commands->overlay, key, name_key_of_user(key, user), NULL);
    if (!newest) return names_of_user(commands->names, partition, user, name, error);
    *name = *newest;
    return 0;
}

int name_commands_holder(struct name_commands *commands, int32_t partition, const char *handle,
                         struct name_of_handle *name, struct error *error) {
    uint8_t key[NAME_KEY_MAX];
    const struct name_of_handle *newest = overlay_find(commands->overlay, key, name_key_of_handle(key, handle), NULL);
    if (!newest) return names_of_handle(commands->names, partition, handle, name, error);
    *name = *newest;
    return 0;
}

static int write_user(struct name_commands *commands, int32_t partition, int64_t user,
                      const struct name_of_user *name) {
    uint8_t key[NAME_KEY_MAX];
    size_t size = name_key_of_user(key, user);
    struct user_name record = {.number = name->number,
                               .handle = text_of(name->handle),
                               .granted = name->granted,
                               .wish = text_of(name->wish),
                               .refused = text_of(name->refused)};
    buffer_clear(&commands->value);
    event_encode_user_name(&commands->value, &record);
    overlay_put(commands->overlay, partition, 0, key, size, name, sizeof *name);
    return decider_write(commands->decider, &TOPIC_NAMES, partition, key, size, commands->value.data,
                         commands->value.size);
}

static int write_handle(struct name_commands *commands, int32_t partition, const char *handle,
                        const struct name_of_handle *name) {
    uint8_t key[NAME_KEY_MAX];
    size_t size = name_key_of_handle(key, handle);
    buffer_clear(&commands->value);
    event_encode_handle_user(&commands->value, &(struct handle_user){.user = name->user, .number = name->number});
    overlay_put(commands->overlay, partition, 0, key, size, name, sizeof *name);
    return decider_write(commands->decider, &TOPIC_NAMES, partition, key, size,
                         name->user < 0 ? NULL : commands->value.data, commands->value.size);
}

int name_commands_decide(struct name_commands *commands, int32_t partition, const struct name_step *step,
                         struct error *error) {
    struct name_of_user of_user;
    struct name_of_handle of_handle;
    struct name_steps follow;
    int code;
    if (name_is_for_handle(step->kind)) {
        code = name_commands_holder(commands, partition, step->handle, &of_handle, error);
        if (code) return code;
        if (name_decide_handle(&of_handle, step, &follow))
            code = write_handle(commands, partition, step->handle, &of_handle);
    } else {
        code = user_now(commands, partition, step->user, &of_user, error);
        if (code) return code;
        if (name_decide_user(&of_user, step, &follow)) code = write_user(commands, partition, step->user, &of_user);
    }
    if (!code) code = send_steps(commands, &follow);
    return code ? error_set(error, code, "a step to a handle could not be written: %s", strerror(-code)) : 0;
}

bool name_commands_settled(const struct name_commands *commands, int64_t user) {
    uint8_t key[NAME_KEY_MAX];
    return !overlay_find(commands->overlay, key, name_key_of_user(key, user), NULL);
}

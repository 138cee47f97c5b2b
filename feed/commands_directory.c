/* The numbers of users whom a sign-in provider knows by texts. */
#include <string.h>

#include "event/topics.h"
#include "feed/commands_private.h"

static int write_row(struct feed_commands *commands, int32_t partition, const uint8_t key[DIRECTORY_KEY_SIZE],
                     const struct directory_row *row) {
    struct event_text texts[EXTERNAL_ID_PLACES];
    bool any = false;
    for (size_t i = 0; i < row->count; i++) {
        texts[i] = (struct event_text){.data = row->externals[i], .size = strlen(row->externals[i])};
        any = any || texts[i].size;
    }
    buffer_clear(&commands->value);
    event_encode_directory_entry(&commands->value,
                                 &(struct directory_entry){.externals = {.items = texts, .count = row->count}});
    overlay_put(commands->directory, partition, 0, key, DIRECTORY_KEY_SIZE, row, sizeof *row);
    return decider_write(commands->decider, &TOPIC_DIRECTORY, partition, key, DIRECTORY_KEY_SIZE,
                         any ? commands->value.data : NULL, any ? commands->value.size : 0);
}

int commands_decide_directory(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct directory_item *item = &((const struct command_item *)slot->item)->directory;
    uint8_t key[DIRECTORY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)external_id_base(item->user));
    const struct directory_row *newest = overlay_find(commands->directory, key, sizeof key, NULL);
    struct directory_row row;
    int code = 0;
    if (newest)
        row = *newest;
    else
        code = directory_row_of(commands->options.directory, slot->partition, item->user, &row, error);
    if (code) return code;
    bool changed = item->external[0] ? directory_sign_in(&row, item->external) : directory_forget(&row, item->user);
    if (changed) code = write_row(commands, slot->partition, key, &row);
    return code ? commands_not_written(code, error) : 0;
}

bool feed_commands_directory_read(const struct feed_commands *commands, int64_t user) {
    uint8_t key[DIRECTORY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)external_id_base(user));
    return !overlay_find(commands->directory, key, sizeof key, NULL);
}

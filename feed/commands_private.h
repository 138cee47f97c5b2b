/* Shared by feed/commands*.c: state that is decided and not read back yet, and the functions that decide. */
#pragma once

#include "base/bytes.h"
#include "feed/commands.h"
#include "feed/rules.h"

/* The overlays hold state that is written and not read back yet, under the records' own keys and these:
 *
 *     follows     author 0          how many requests the author has now; halves: when they were written, 0: their end
 *     posts       0x81 author key   the post of the author's key
 *                 0x83 partition    the highest tick
 *     texts       posts             the version of a text that was edited
 *     refusals    partition command why the follower command of that offset was refused
 *     visibility                    since when the author's posts are for followers; 0: they no longer are
 *     notice-settings, directory    as they are decided
 */
enum { COMMANDS_REFUSAL_KEY_SIZE = 12, COMMANDS_CLIENT_KEY_MAX = 9 + POST_CLIENT_KEY_MAX };

struct pending_post {
    int64_t id, deleted;
    int32_t moderated;
    bool hidden, held;
    size_t key_size;
    char key[POST_CLIENT_KEY_MAX]; /* the client's */
};

struct directory_item {
    int64_t user;
    char external[EXTERNAL_ID_SIZE]; /* "": the number is forgotten */
};

/* A decoded record: a post's texts are read again from the record's value when it is decided. */
struct command_item {
    union {
        struct follow_command follow;
        struct follower_command follower;
        struct name_step name;
        struct notice_command notices;
        struct directory_item directory;
    };
    uint8_t *value; /* of a post: a copy */
    size_t size;
    int64_t arrived_ms;
};

struct feed_commands {
    struct feed_commands_options options;
    struct decider *decider;
    struct overlay *relations, *posts, *texts, *refusals, *visibility, *notice_settings, *directory;
    struct name_commands *names;
    struct codec *codec, *text_codec; /* of commands, and of texts that they find */
    struct buffer value;
    struct id_list readers; /* whose requests are accepted */
};

/* Each decides a command: 0 or a negative code. */
int commands_decide_follow(struct feed_commands *commands, const struct decider_command *slot, struct error *error);
int commands_decide_follower(struct feed_commands *commands, const struct decider_command *slot, struct error *error);
int commands_decide_post(struct feed_commands *commands, const struct decider_command *slot, struct error *error);
int commands_decide_directory(struct feed_commands *commands, const struct decider_command *slot, struct error *error);
int commands_decide_notices(struct feed_commands *commands, const struct decider_command *slot, struct error *error);

/* The half as it is decided and not read back yet: when it was written, 0: its end; NULL: nothing waits. */
const int64_t *commands_newest_relation(const struct feed_commands *commands, const struct relation_half *half);
void commands_note_half(struct feed_commands *commands, int32_t partition, const struct relation_half *half, bool set);
int commands_write_half(struct feed_commands *commands, const struct relation_half *half, int64_t since);

static inline void commands_refusal_key(uint8_t key[COMMANDS_REFUSAL_KEY_SIZE], int32_t partition, int64_t command) {
    bytes_put_be32(key, (uint32_t)partition);
    bytes_put_be64(key + 4, (uint64_t)command);
}

/* Sets the error, and returns the code. */
int commands_not_written(int code, struct error *error);

/* Shared by feed/commands*.c: state that is decided and not read back yet, and the functions that decide. */
#pragma once

#include "feed/commands.h"
#include "feed/rules.h"

/* The overlays hold state that is written and not read back yet, under the records' own keys and these:
 *
 *     follows     user 0            how many users the user follows now; halves: when they were written, 0: their end
 *     posts       0x81 author key   the post of the author's key
 *                 0x83 partition    the highest tick
 *     texts       posts             the version of a text that was edited
 *     refusals    partition command why the follow command of that offset was refused
 */
enum { COMMANDS_REFUSAL_KEY_SIZE = 12, COMMANDS_CLIENT_KEY_MAX = 9 + POST_CLIENT_KEY_MAX };

struct pending_post {
    int64_t id, deleted;
    size_t key_size;
    char key[POST_CLIENT_KEY_MAX]; /* the client's */
};

/* A decoded record: a post's texts are read again from the record's value when it is decided. */
struct command_item {
    union {
        struct follow_command follow;
        struct name_step name;
    };
    uint8_t *value; /* of a post: a copy */
    size_t size;
    int64_t arrived_ms;
};

struct feed_commands {
    struct feed_commands_options options;
    struct decider *decider;
    struct overlay *relations, *posts, *texts, *refusals;
    struct name_commands *names;
    struct codec *codec, *text_codec; /* of commands, and of texts that they find */
    struct buffer value;
};

/* Each decides a command: 0 or a negative code. */
int commands_decide_follow(struct feed_commands *commands, const struct decider_command *slot, struct error *error);
int commands_decide_post(struct feed_commands *commands, const struct decider_command *slot, struct error *error);

/* Sets the error, and returns the code. */
int commands_not_written(int code, struct error *error);

/* The rules by which users get their handles. Two owners take part: the user's owner knows the user's wishes, and numbers them; the
 * handle's owner knows the user who has the handle, and gives it to the first who asks.
 *
 *     user's owner                                        handle's owner
 *     WISH ada   --> wish 7: ada    ---- GRANT 7 -------> free: user has it for wish 7
 *                    handle: ada    <--- GRANTED 7 ------
 *                    no wish        <--- TAKEN 7 -------- another user has it
 *     WISH ben   --> wish 8: ben    ---- GRANT 8 -------> ...
 *                    handle: ben    <--- GRANTED 8 ------
 *                                   ---- RELEASE 7 -----> ada is free, if the user still has it for wish 7
 *
 * A handle counts once its grant has come back, if its wish is the user's newest one. Until then the user keeps the handle that counted
 * before. The user's owner gives back each grant that does not count, or counts no longer. A command that comes twice, or late, or
 * before another one does no harm, because of the numbers. Pure; any thread.
 */
#pragma once

#include "event/codec.h"
#include "users/handle.h"

/* A command, received or to be sent. */
struct name_step {
    enum name_command_kind kind;
    int64_t user, number; /* number: of the user's wish; 0 for WISH and GIVE_UP */
    char handle[HANDLE_SIZE];
};

/* The user's owner has this, as the record UserName. All zeros: the user never wanted a handle. */
struct name_of_user {
    int64_t number;
    int64_t granted;
    char handle[HANDLE_SIZE], wish[HANDLE_SIZE], refused[HANDLE_SIZE];
};

/* The handle's owner has this. user -1: nobody has it. */
struct name_of_handle {
    int64_t user, number;
};

/* At most two commands follow from one. */
struct name_steps {
    struct name_step items[2];
    size_t count;
};

/* Reads a command into *step. Returns NULL, or the reason why the command is a dead letter. */
const char *name_command_complaint(const struct name_command *command, struct name_step *step);

static inline bool name_is_for_handle(enum name_command_kind kind) {
    return kind == NAME_COMMAND_GRANT || kind == NAME_COMMAND_RELEASE;
}

/* Decide a command for the user's owner, or for the handle's. True: the state has changed, and must be written. *out: the commands that
 * follow; each is for the user or the handle that it names. */
bool name_decide_user(struct name_of_user *name, const struct name_step *step, struct name_steps *out);
bool name_decide_handle(struct name_of_handle *name, const struct name_step *step, struct name_steps *out);

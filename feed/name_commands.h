/* Decides `name-commands` against `names` by feed/names_rules.h: the part of feed/commands.h that is about handles.
 *
 *     name-commands, of a user or a handle --> decide --> names, in the same partition
 *                                                    +--> name-commands, for the other owner
 *
 * The state and the commands that follow are in one transaction with the command's offset, so that each step between two owners is
 * taken once. Loop's thread.
 */
#pragma once

#include "decider/decider.h"
#include "feed/names.h"

struct name_commands;

/* The decider decides `name-commands` into `names`; its overlay has keys of NAME_KEY_MAX bytes and values of a struct name_of_user. It
 * and the names are longer-lived. */
struct name_commands *name_commands_new(struct decider *decider, struct names *names, int32_t partitions);
void name_commands_free(struct name_commands *commands); /* NULL is fine */

/* The decider's callbacks of the same names call these. */
int name_commands_read(struct name_commands *commands, const struct kafka_record *record, struct name_step *step,
                       struct error *error);
int name_commands_decide(struct name_commands *commands, int32_t partition, const struct name_step *step,
                         struct error *error);

/* Whether nothing that was decided about this user's handle still waits to be read back. */
bool name_commands_settled(const struct name_commands *commands, int64_t user);

/* Finds the user who has the handle by the newest decision, whether it is read back or not. */
int name_commands_holder(struct name_commands *commands, int32_t partition, const char *handle,
                         struct name_of_handle *name, struct error *error);

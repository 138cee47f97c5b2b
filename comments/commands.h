/* The commands about comments, as a product of lib/decider: comment-commands are decided by comments/decisions.h, and all that a command
 * writes is in one transaction. Loop's thread. */
#pragma once

#include "comments/decisions.h"

struct comment_commands;
struct comments;

int comment_commands_new(const struct comments *comments, struct comment_commands **commands, struct error *error);
void comment_commands_free(struct comment_commands *commands); /* not while the decider is busy; NULL is fine */

struct decider *comment_commands_decider(struct comment_commands *commands);     /* lives as long */
struct decisions *comment_commands_decisions(struct comment_commands *commands); /* lives as long */

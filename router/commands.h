/* Friend commands and wishes about links, as a product of lib/decider. Each command is decided against the lower user's half of the pair. Both halves are
 * written in one transaction, each to its user's partition, so both change or neither (docs/EXACTNESS.md, rule 7).
 *
 *     friend-commands --> decider --> decide (overlay, else friend lists) --> both halves --> friendships
 *     link-commands ----> decider --> decide (overlay, else router/links.h) ----------------> links
 *
 * Loop's thread.
 */
#pragma once

#include "decider/decider.h"
#include "router/graph.h"
#include "router/links.h"

struct commands;
struct router;

int commands_new(const struct router *router, struct commands **commands, struct error *error);
void commands_free(struct commands *commands); /* not while the decider is busy; NULL is fine */

struct decider *commands_decider(struct commands *commands); /* lives as long */

/* The user's links as the next command will find them. */
void commands_links(const struct commands *commands, int32_t partition, int64_t user, struct link_row *row);

/* The lower user's half as the next command will find it. */
int commands_half(struct commands *commands, int32_t partition, int64_t lower, int64_t other, struct friendship *half,
                  struct error *error);

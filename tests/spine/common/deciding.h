/* The product's side of the decider: reads commands, decides each by the rule (counters.h) against the newest state, and writes the
 * counter and the command's outcome in the decider's transaction. State that the transaction has written is found in the overlay until it is
 * read back; before that comes the ledger. Loop's thread. */
#pragma once

#include "decider/decider.h"
#include "ledger.h"
#include "service/service.h"
#include "tasks/tasks.h"

struct deciding;

struct deciding_options {
    struct service *service;      /* this and the ledger outlive it */
    const char *transactional_id; /* copied */
    int32_t partitions;
    size_t batch; /* commands in one transaction at most */
    struct table_store *ledger;
    struct tasks *tasks;
};

struct deciding *deciding_new(const struct deciding_options *options);
void deciding_free(struct deciding *deciding); /* its decider is not busy; NULL is fine */

/* For the owner, and for what was read back. It lives as long as deciding. */
struct decider *deciding_decider(const struct deciding *deciding);

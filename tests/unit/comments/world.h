/* Comments processes and Kafka in memory: random histories of commands with repeats, crashes, take-overs, aborted transactions and lost
 * disks, over the real decisions (comments/decisions.h) and the real store (comments/threads.h). At the end all is compared with the model. */
#pragma once

#include <stdint.h>

/* What a history leaves out. */
enum comments_rule {
    COMMENTS_RULE_NONE,
    COMMENTS_RULE_FENCING, /* a former owner's transaction is committed all the same */
    COMMENTS_RULE_OFFSET,  /* the offset of commands is no part of the transaction, and may be lost */
    COMMENTS_RULE_RESTORE, /* an owner decides before it has read the state */
    COMMENTS_RULE_OVERLAY, /* commands do not see what was decided and is not read back */
};

struct comments_history {
    unsigned commands, comments, refusals, passing, edits, notices, crashes, aborts, fenced, disks;
    char wrong[256]; /* what differs from the model; empty: nothing */
};

struct comments_world; /* holds the processes' stores, which serve many histories */

struct comments_world *comments_world_new(void);
void comments_world_free(struct comments_world *world);
struct comments_history comments_history_run(struct comments_world *world, uint64_t seed, enum comments_rule without);

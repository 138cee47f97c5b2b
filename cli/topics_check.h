/* `starling topics check`: what this version needs of the topics, and what the cluster has. */
#ifndef CLI_TOPICS_CHECK_H
#define CLI_TOPICS_CHECK_H

#include "cli/cli.h"

/* Prints what differs, with what to do about it. The exit code: 0 nothing to do, 1 something is to be done, or the cluster cannot be asked. */
int topics_check(const struct cli *cli);

/* How many copies must be written before a record counts, of so many: with three copies, one may be lost while records go on being written
 * and none that was acknowledged is lost. */
static inline int64_t topics_insync(int64_t copies) { return copies >= 3 ? 2 : 1; }

#endif

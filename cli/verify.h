/* `starling graph verify` checks that each half of a friendship and of a follow has its mirror. Blocking; one thread.
 *
 *     a's partition p: "a follows b"                 b's partition q: "b is followed by a"
 *          sums[p][q] += hash(a, b)     must be          sums[p][q] += hash(a, b)
 *
 * One reading of a topic compares all pairs of partitions, with the halves of one partition in memory. Only pairs of partitions
 * whose sums differ are compared half by half. */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include "cli/cli.h"

/* Prints a line for each half that has no mirror. The exit code: 1, after the reason was said, when there is one. */
int verify_run(const struct cli_command *command, const struct cli *cli, struct error *error);

#endif

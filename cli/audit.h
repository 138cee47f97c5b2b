/* Leaves a record of what an operator is about to read of people, in the topic `audit`. Blocking. */
#pragma once

#include "cli/cli.h"

/* The command is about to read what is kept of these users; count 0: of nobody in particular. of: the topic or the subject that it reads,
 * ""; not with count 0. It reads nothing unless this returns 0. Call it when Kafka has answered. */
int audit_read(const struct cli *cli, const char *of, const int64_t *users, size_t count, struct error *error);

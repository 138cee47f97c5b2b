/* `starling-load simulate` (simulate_options.h has its options). */
#ifndef LOAD_SIMULATE_H
#define LOAD_SIMULATE_H

#include "cli/cli.h"

extern const struct cli_command SIMULATE_COMMAND;

#endif

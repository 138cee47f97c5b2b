/* `starling-load simulate` (simulate_options.h has its options). */
#pragma once

#include "cli/cli.h"

extern const struct cli_command SIMULATE_COMMAND;

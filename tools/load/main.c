#include "tools/load/simulate.h"

static const struct cli_command *const COMMANDS[] = {&SIMULATE_COMMAND};

int main(int argc, char **argv) { return cli_main(COMMANDS, ARRAY_SIZE(COMMANDS), argc, argv); }

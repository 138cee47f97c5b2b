#include "cli/cli.h"

static const struct cli_command *const COMMANDS[] = {
    &TOPICS_COMMAND,  &GRAPH_COMMAND, &FOLLOWS_COMMAND,     &WATCH_COMMAND,    &REPLAY_COMMAND,
    &HISTORY_COMMAND, &POSTS_COMMAND, &FEED_COMMAND,        &COMMENTS_COMMAND, &STATUS_COMMAND,
    &DLQ_COMMAND,     &TRACE_COMMAND, &USER_EXPORT_COMMAND, &FORGET_COMMAND,   &MODERATE_COMMAND,
};

int main(int argc, char **argv) { return cli_main(COMMANDS, ARRAY_SIZE(COMMANDS), argc, argv); }

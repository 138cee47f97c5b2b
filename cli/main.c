#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct cli_command *const COMMANDS[] = {
    &TOPICS_COMMAND,  &GRAPH_COMMAND, &FOLLOWS_COMMAND, &SIMULATE_COMMAND, &WATCH_COMMAND,  &REPLAY_COMMAND,
    &HISTORY_COMMAND, &POSTS_COMMAND, &FEED_COMMAND,    &COMMENTS_COMMAND, &STATUS_COMMAND, &DLQ_COMMAND,
};

static void usage(FILE *out) {
    fprintf(out, "usage: starling COMMAND ...\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(COMMANDS); i++) {
        fprintf(out, "  %-9s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    }
    fprintf(out, "\nstarling COMMAND --help tells its arguments. All take --config FILE and --set key=value.\n");
}

int main(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("starling %s\n", STARLING_VERSION);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(COMMANDS); i++) {
        if (strcmp(argv[1], COMMANDS[i]->name) == 0) return COMMANDS[i]->run(argc - 1, argv + 1);
    }
    fprintf(stderr, "starling: unknown command %s\n", argv[1]);
    usage(stderr);
    return 2;
}

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "json/json.h"

static const struct cli_command *const COMMANDS[] = {
    &TOPICS_COMMAND, &GRAPH_COMMAND,   &FOLLOWS_COMMAND, &SIMULATE_COMMAND,    &WATCH_COMMAND,
    &REPLAY_COMMAND, &HISTORY_COMMAND, &POSTS_COMMAND,   &FEED_COMMAND,        &COMMENTS_COMMAND,
    &STATUS_COMMAND, &DLQ_COMMAND,     &TRACE_COMMAND,   &USER_EXPORT_COMMAND, &FORGET_COMMAND,
};

static void usage(FILE *out) {
    fprintf(out, "usage: starling COMMAND ...\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(COMMANDS); i++)
        fprintf(out, "  %-9s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    fprintf(out, "\nstarling COMMAND --help tells its arguments. All take --config FILE and --set key=value.\n");
}

static void print_member(const char *before, const char *key, const char *value) {
    struct buffer out = {.size = 0};
    json_put_text(&out, value, strlen(value));
    printf("%s\"%s\":%s", before, key, buffer_cstring(&out));
    buffer_free(&out);
}

/* The usage for programs: {"commands":[{"name","synopsis","summary","tables": what the command's --help=json prints}]} */
static void print_tables(void) {
    printf("{\"commands\":[");
    for (size_t i = 0; i < ARRAY_SIZE(COMMANDS); i++) {
        char name[] = "starling", help[] = "--help=json";
        char *arguments[] = {name, help, NULL};
        print_member(i ? ",{" : "{", "name", COMMANDS[i]->name);
        print_member(",", "synopsis", COMMANDS[i]->synopsis);
        print_member(",", "summary", COMMANDS[i]->summary);
        printf(",\"tables\":");
        COMMANDS[i]->run(2, arguments);
        putchar('}');
    }
    puts("]}");
}

int main(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return CLI_WRONG_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--help=json") == 0) {
        print_tables();
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("starling %s\n", STARLING_VERSION);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(COMMANDS); i++)
        if (strcmp(argv[1], COMMANDS[i]->name) == 0) return COMMANDS[i]->run(argc - 1, argv + 1);
    fprintf(stderr, "starling: unknown command %s\n", argv[1]);
    usage(stderr);
    return CLI_WRONG_USAGE;
}

#include "cli/post_options.h"

#include <stdio.h>

#include "event/topics.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 1000 };

static int ask_and_print(const struct cli *cli, const struct cli_command *command, const struct post_options *options,
                         int (*print)(const struct post_options *options, struct asking *asking, struct error *error)) {
    const struct asking_options whom = {
        .cli = cli,
        .group = cli->settings.feed_group,
        .topic = &TOPIC_POST_COMMANDS,
        .who = "feed process",
    };
    struct error error = {.text = ""};
    struct asking *asking = NULL;
    int code = asking_new(&whom, &asking, &error);
    if (!code) code = print(options, asking, &error);
    asking_free(asking);
    if (code) return cli_fail(command, 1, "%s", error.text);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(command, 1, "standard output cannot be written");
    return 0;
}

int post_options_run(const struct cli_command *command,
                     int (*print)(const struct post_options *options, struct asking *asking, struct error *error),
                     int argc, char **argv) {
    struct post_options post = {.limit = LIMIT_DEFAULT};
    const char *limit = NULL;
    const struct cli_option options[] = {
        {"limit", "N", "so many at most, 1 to 1000 (20)", &limit, NULL},
        {"json", NULL, "lines of JSON", NULL, &post.json},
    };
    struct cli cli;
    bool done;
    int64_t most = LIMIT_DEFAULT;
    int code = cli_open(&cli, command, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    if (cli.argument_count != 1) {
        code = cli_fail(command, 2, "one user must be given");
    } else if (!cli_int(cli.arguments[0], 0, INT64_MAX, &post.user)) {
        code = cli_fail(command, 2, "user %s: must be a number from 0", cli.arguments[0]);
    } else if (limit && !cli_int(limit, 1, LIMIT_MAX, &most)) {
        code = cli_fail(command, 2, "--limit %s: must be from 1 to %d", limit, LIMIT_MAX);
    } else {
        post.limit = (size_t)most;
        code = ask_and_print(&cli, command, &post, print);
    }
    cli_close(&cli);
    return code;
}

#include "cli/post_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/audit.h"
#include "event/topics.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 1000, PLAIN_OPTIONS = 2 };

static int ask_and_print(const struct cli_command *command, const struct post_options *options,
                         post_options_fn *print) {
    const struct asking_options whom = {
        .cli = options->cli,
        .group = options->cli->settings.feed_group,
        .topic = &TOPIC_POST_COMMANDS,
        .who = "feed process",
    };
    struct error error = {.text = ""};
    struct asking *asking = NULL;
    int code = asking_new(&whom, &asking, &error);
    if (!code) code = audit_read(options->cli, "", &options->user, 1, &error);
    if (!code) code = print(options, asking, &error);
    asking_free(asking);
    if (code) return cli_fail(command, 1, "%s", error.text);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(command, 1, "standard output cannot be written");
    return 0;
}

int post_options_run(struct cli *cli, const struct cli_command *command, post_options_fn *print,
                     post_options_fn *follow, int argc, char **argv) {
    struct post_options post = {.cli = cli, .limit = LIMIT_DEFAULT};
    const char *limit = NULL;
    bool follows = false;
    const struct cli_option options[] = {
        {"limit", "N", "so many at most, 1 to 1000 (20)", &limit, NULL},
        {"json", NULL, "lines of JSON", NULL, &post.json},
        {"follow", NULL, "goes on: oldest posts first, then new ones as they come", NULL, &follows},
        {"ws", "URL", "WebSocket address of the edge to follow (ws.url)", &post.ws, NULL},
        {"token", "TOKEN", "the user's token (signed with auth.hs256.key.file)", &post.token, NULL},
        {"ca", "FILE", "PEM file of the authorities to trust for wss://", &post.authorities, NULL},
    };
    size_t option_count = follow ? ARRAY_SIZE(options) : PLAIN_OPTIONS;
    int64_t most = LIMIT_DEFAULT;
    int code = cli_open(cli, command, argc, argv, options, option_count);
    if (code) return code;
    if (!post.ws) post.ws = cli->settings.ws_url;
    if (cli_one_user(cli, &post.user) || cli_int_option(command, "limit", limit, 1, LIMIT_MAX, &most))
        return CLI_WRONG_USAGE;
    if (strncmp(post.ws, "ws://", 5) && strncmp(post.ws, "wss://", 6))
        return CLI_WRONG(command, "--ws %s: must begin with ws:// or wss://", post.ws);
    post.limit = (size_t)most;
    return ask_and_print(command, &post, follows ? follow : print);
}

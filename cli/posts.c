/* `starling posts`: a user's newest posts. */
#include <errno.h>
#include <stdio.h>

#include "cli/asking.h"
#include "cli/post_lines.h"
#include "cli/post_options.h"

enum { PAGE = 250, PATIENCE_MS = 10000 };

/* A page of the owner's answer: prints its items; *before: where the next page begins, or 0. */
static int print_page(const char *reply, size_t size, const struct post_style *style, size_t *printed, int64_t *before,
                      struct error *error) {
    struct buffer lines = {.data = NULL};
    json_t *page = json_parse(reply, size, error);
    const json_t *items = json_object_get(page, "items");
    int code = page ? 0 : -EBADMSG;
    if (!code && !json_is_array(items)) code = error_set(error, -EBADMSG, "no items");
    for (size_t i = 0; !code && i < json_array_size(items); i++) {
        code = post_line(&lines, json_array_get(items, i), style, error);
        if (!code) ++*printed;
    }
    *before = 0;
    if (!code && json_given(page, "next") && post_want_id(page, "next", before, error)) code = -EBADMSG;
    if (lines.size) fwrite(lines.data, 1, lines.size, stdout);
    buffer_free(&lines);
    json_decref(page);
    return code ? error_prefix(error, code, "the feed process's answer cannot be understood") : 0;
}

static int print(const struct post_options *options, struct asking *asking, struct error *error) {
    const struct post_style style = {.json = options->json, .author = false};
    struct buffer reply = {.data = NULL};
    size_t printed = 0;
    int64_t before = INT64_MAX;
    int code = 0;
    while (!code && before && printed < options->limit) {
        size_t wanted = options->limit - printed < PAGE ? options->limit - printed : PAGE;
        code = asking_ask(
            asking, &ASK_WRITTEN,
            RPC_VALUES(RPC_INT(USER, options->user), RPC_INT(BEFORE, before), RPC_INT(LIMIT, (int64_t)wanted)),
            PATIENCE_MS, "this user's posts", &reply, error);
        if (!code) code = print_page(buffer_cstring(&reply), reply.size, &style, &printed, &before, error);
    }
    buffer_free(&reply);
    return code;
}

static int run(struct cli *cli, int argc, char **argv) {
    return post_options_run(cli, &POSTS_COMMAND, print, NULL, argc, argv);
}

const struct cli_command POSTS_COMMAND = {
    .name = "posts",
    .synopsis = "USER [--limit N] [--json]",
    .summary = "a user's newest posts",
    .run = run,
};

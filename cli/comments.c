/* `starling comments`: a thread of comments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/asking.h"
#include "cli/audit.h"
#include "cli/comment_lines.h"
#include "cli/comments_bulk.h"
#include "event/topics.h"
#include "subjects/subject.h"

enum { PAGE = 100, PATIENCE_MS = 10000, LIMIT_DEFAULT = 20, LIMIT_MAX = 1000, REPLIES_DEFAULT = 3, REPLIES_MAX = 20 };

struct comments_options {
    const char *subject, *sort;
    size_t limit;
    int64_t replies;
    bool json;
};

/* The beginning of a thread's next page. */
struct comments_place {
    size_t printed;
    char *after; /* NULL: at its beginning, or it has ended */
    bool ended;
};

/* A page of the owner's answer: prints its items. */
static int print_page(const struct buffer *reply, const struct comments_options *options, struct comments_place *place,
                      struct error *error) {
    struct buffer lines = {.data = NULL};
    json_t *page = json_parse(reply->data, reply->size, error);
    const json_t *items = json_object_get(page, "items"), *next = json_object_get(page, "next");
    int code = page ? 0 : -EBADMSG;
    if (!code && !json_is_array(items)) code = error_set(error, -EBADMSG, "no items");
    for (size_t i = 0; !code && i < json_array_size(items); i++, place->printed++)
        code = comment_lines(&lines, json_array_get(items, i), options->json, error);
    free(place->after);
    place->after = mem_string(json_string_value(next));
    place->ended = !place->after;
    if (!code && lines.size) fwrite(lines.data, 1, lines.size, stdout);
    buffer_free(&lines);
    json_decref(page);
    return code ? error_prefix(error, code, "the comments process's answer cannot be understood") : 0;
}

static int print(const struct comments_options *options, struct asking *asking, struct error *error) {
    struct buffer reply = {.data = NULL};
    struct comments_place place = {.after = NULL};
    int code = 0;
    while (!code && !place.ended && place.printed < options->limit) {
        size_t left = options->limit - place.printed;
        code = asking_ask(asking, &ASK_COMMENTS,
                          RPC_VALUES(RPC_TEXT(SUBJECT, options->subject), RPC_TEXT(SORT, options->sort),
                                     RPC_INT(FIRST, options->replies),
                                     RPC_INT(LIMIT, left < PAGE ? (int64_t)left : PAGE), RPC_TEXT(AFTER, place.after)),
                          PATIENCE_MS, "this subject's comments", &reply, error);
        if (!code) code = print_page(&reply, options, &place, error);
    }
    free(place.after);
    buffer_free(&reply);
    return code;
}

static int ask_and_print(const struct cli *cli, const struct comments_options *options) {
    struct error error = {.text = ""};
    struct asking *asking = NULL;
    int code = asking_new(&(struct asking_options){.cli = cli,
                                                   .group = cli->settings.comments_group,
                                                   .topic = &TOPIC_COMMENT_COMMANDS,
                                                   .who = "comments process"},
                          &asking, &error);
    if (!code) code = audit_read(cli, options->subject, NULL, 0, &error);
    if (!code) code = print(options, asking, &error);
    asking_free(asking);
    if (code) return cli_fail(&COMMENTS_COMMAND, 1, "%s", error.text);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(&COMMENTS_COMMAND, 1, "standard output cannot be written");
    return 0;
}

static bool is_sort(const char *sort) {
    return strcmp(sort, "floor") == 0 || strcmp(sort, "newest") == 0 || strcmp(sort, "heat") == 0;
}

static int run(struct cli *cli, int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "import") == 0) return comments_import(cli, argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "export") == 0) return comments_export(cli, argc - 1, argv + 1);
    struct comments_options wanted = {.sort = "floor", .replies = REPLIES_DEFAULT};
    const char *limit = NULL, *replies = NULL;
    int64_t most = LIMIT_DEFAULT;
    const struct cli_option options[] = {
        {"sort", "ORDER", "floor (the oldest first), newest or heat (floor)", &wanted.sort, NULL},
        {"limit", "N", "so many roots at most, 1 to 1000 (20)", &limit, NULL},
        {"replies", "N", "so many replies of each, 0 to 20 (3)", &replies, NULL},
        {"json", NULL, "lines of JSON", NULL, &wanted.json},
    };
    int code = cli_open(cli, &COMMENTS_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    if (cli->argument_count != 1) return CLI_WRONG(&COMMENTS_COMMAND, "one subject must be given");
    wanted.subject = cli->arguments[0];
    if (!subject_valid(wanted.subject, strlen(wanted.subject)))
        return CLI_WRONG(&COMMENTS_COMMAND, "subject %s: must be TYPE:ID, such as post:123", wanted.subject);
    if (!is_sort(wanted.sort))
        return CLI_WRONG(&COMMENTS_COMMAND, "--sort %s: must be floor, newest or heat", wanted.sort);
    code = cli_int_option(&COMMENTS_COMMAND, "limit", limit, 1, LIMIT_MAX, &most);
    if (!code) code = cli_int_option(&COMMENTS_COMMAND, "replies", replies, 0, REPLIES_MAX, &wanted.replies);
    wanted.limit = (size_t)most;
    return code ? code : ask_and_print(cli, &wanted);
}

const struct cli_command COMMENTS_COMMAND = {
    .name = "comments",
    .synopsis = "SUBJECT [--sort floor|newest|heat] [--limit N] [--replies N] [--json] | import FILE | export [FILE]",
    .summary = "a thread of comments; comments moved here and away",
    .run = run,
};

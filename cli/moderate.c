/* `starling moderate`: what moderators find and decide, through a gateway. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/api.h"
#include "ids/ids.h"
#include "json/json.h"
#include "subjects/subject.h"
#include "subjects/words.h"

enum { AGAIN_US = 500000, PAGE = 100, LIMIT_DEFAULT = 20, LIMIT_MAX = 10000 };

struct moderating {
    const char *state, *user, *reason, *until, *limit, *wait; /* NULL: not given */
    bool reported;
    struct api *api;
    int64_t most, until_us;
    struct buffer reply;
    struct error error;
};

/* Asks until the answer is final. */
static int ask(struct moderating *moderating, const char *method, const char *path, const struct buffer *body) {
    struct error *error = &moderating->error;
    for (;;) {
        unsigned status;
        int code = api_ask(moderating->api, method, path, body, &status, &moderating->reply);
        if (!api_may_try_again(code, status))
            return status < 300 ? 0
                                : error_set(error, -EACCES, "the gateway answers %u: %s", status,
                                            buffer_cstring(&moderating->reply));
        if (clock_monotonic_us() > moderating->until_us)
            return error_set(error, -ETIMEDOUT, "%s has not decided it: %s. Repeat it", api_url(moderating->api),
                             code ? strerror(-code) : "it is busy, or an owner is away");
        usleep(AGAIN_US);
    }
}

/* ---- what is found ---- */

static int print_page(struct moderating *moderating, int64_t *printed, struct buffer *after) {
    json_t *page = json_parse(buffer_cstring(&moderating->reply), moderating->reply.size, &moderating->error);
    const json_t *items = json_object_get(page, "items");
    const char *next = json_string_value(json_object_get(page, "next"));
    size_t count = json_array_size(items);
    for (size_t i = 0; i < count; i++) {
        json_dumpf(json_array_get(items, i), stdout, JSON_COMPACT);
        putchar('\n');
    }
    *printed += (int64_t)count;
    buffer_clear(after);
    if (next) buffer_string(after, next);
    json_decref(page);
    return page ? 0 : -EBADMSG;
}

static int find(struct moderating *moderating, const char *what) {
    struct buffer path = {0}, after = {0};
    int64_t printed = 0;
    int code;
    do {
        int64_t left = moderating->most - printed;
        buffer_clear(&path);
        buffer_format(&path, "/v1/moderation/%s?limit=%" PRId64, what, left < PAGE ? left : PAGE);
        if (moderating->state) buffer_format(&path, "&state=%s", moderating->state);
        if (moderating->user) buffer_format(&path, "&user=%s", moderating->user);
        if (moderating->reported) buffer_string(&path, "&reported=true");
        if (after.size) buffer_format(&path, "&after=%s", buffer_cstring(&after));
        code = ask(moderating, "GET", buffer_cstring(&path), NULL);
        if (!code) code = print_page(moderating, &printed, &after);
    } while (!code && after.size && printed < moderating->most);
    buffer_free(&path);
    buffer_free(&after);
    return code;
}

/* ---- what is decided ---- */

/* Appends the path of a post, or of a comment: TYPE:ID/COMMENT. False: it is neither. */
static bool put_path(struct buffer *path, const char *item) {
    const char *colon = strchr(item, ':'), *slash = strchr(item, '/');
    int64_t id;
    if (!colon) return false;
    size_t subject = slash ? (size_t)(slash - item) : strlen(item);
    if (!subject_valid(item, subject)) return false;
    if (slash) {
        if (!ids_parse(slash + 1, strlen(slash + 1), &id)) return false;
        buffer_format(path, "comments/%.*s/%.*s/%" PRId64, (int)(colon - item), item, (int)(slash - colon - 1),
                      colon + 1, id);
        return true;
    }
    if (strncmp(item, "post:", 5) != 0 || !ids_parse(colon + 1, strlen(colon + 1), &id)) return false;
    buffer_format(path, "posts/%" PRId64, id);
    return true;
}

static bool put_ban_path(struct buffer *path, const char *item) {
    int64_t user;
    if (strncmp(item, "user:", 5) != 0 || !text_number(item + 5, strlen(item + 5), INT64_MAX, &user)) return false;
    buffer_format(path, "bans/%" PRId64, user);
    return true;
}

/* state NULL: a ban. */
static void put_body(struct buffer *body, const struct moderating *moderating, const char *state) {
    json_member_text(body, "{\"reason\":", moderating->reason);
    if (state) json_member_text(body, ",\"state\":", state);
    if (!state && moderating->until) buffer_format(body, ",\"until\":%s", moderating->until);
    buffer_byte(body, '}');
}

static const struct verdict {
    const char *word, *method, *state;
} VERDICTS[] = {{"show", "PUT", "visible"},
                {"hide", "PUT", "hidden"},
                {"delete", "PUT", "deleted"},
                {"ban", "PUT", NULL},
                {"unban", "DELETE", NULL}};

static const struct verdict *verdict_of(const char *word) {
    for (size_t i = 0; i < ARRAY_SIZE(VERDICTS); i++)
        if (strcmp(word, VERDICTS[i].word) == 0) return &VERDICTS[i];
    return NULL;
}

static int decide(struct moderating *moderating, const struct verdict *verdict, const char *path) {
    struct buffer body = {0};
    bool lifts = strcmp(verdict->method, "DELETE") == 0;
    if (!lifts) put_body(&body, moderating, verdict->state);
    int code = ask(moderating, verdict->method, path, lifts ? NULL : &body);
    if (!code) printf("%s", buffer_cstring(&moderating->reply));
    if (!code && moderating->reply.size) putchar('\n');
    buffer_free(&body);
    return code;
}

/* ---- the command ---- */

static bool is_found(const char *what) {
    return strcmp(what, "posts") == 0 || strcmp(what, "comments") == 0 || strcmp(what, "users") == 0;
}

static int go(struct moderating *moderating, const struct cli *cli, const struct verdict *verdict, const char *path,
              const struct api_options *wanted) {
    int code = api_new(wanted, &moderating->api, &moderating->error);
    if (!code) code = verdict ? decide(moderating, verdict, path) : find(moderating, cli->arguments[1]);
    if (!code && (fflush(stdout) || ferror(stdout)))
        code = error_set(&moderating->error, -EIO, "standard output cannot be written");
    api_free(moderating->api);
    buffer_free(&moderating->reply);
    return code ? cli_fail(&MODERATE_COMMAND, 1, "%s", moderating->error.text) : 0;
}

/* Says what is wrong with the arguments; NULL: nothing. The path is of the item that is decided about. */
static const char *complaint(const struct moderating *moderating, const struct cli *cli, const struct verdict *verdict,
                             struct buffer *path) {
    if (cli->argument_count != 2) return "a verdict and an item must be given, or find and what";
    if (!verdict)
        return strcmp(cli->arguments[0], "find") == 0 && is_found(cli->arguments[1])
                   ? NULL
                   : "must be show, hide, delete, ban or unban, or find posts, comments or users";
    buffer_string(path, "/v1/moderation/");
    if (!(verdict->state ? put_path : put_ban_path)(path, cli->arguments[1]))
        return verdict->state ? "the item must be post:ID or TYPE:ID/COMMENT" : "the item must be user:ID";
    return moderating->reason || strcmp(verdict->word, "unban") == 0 ? NULL : "--reason must be given";
}

static int run(struct cli *cli, int argc, char **argv) {
    struct moderating moderating = {.most = LIMIT_DEFAULT};
    struct api_options api = {.cli = cli, .scope = "moderator"};
    const char *as = NULL;
    int64_t wait_s = 30, number;
    struct buffer path = {0};
    const struct cli_option options[] = {
        {"as", "USER", "the moderator, whom the log names", &as, NULL},
        {"reason", "TEXT", "why, for the log", &moderating.reason, NULL},
        {"until", "MS", "when the ban ends (never)", &moderating.until, NULL},
        {"state", "STATE", "only what is visible, held, hidden or deleted", &moderating.state, NULL},
        {"user", "USER", "only what this user has written", &moderating.user, NULL},
        {"reported", NULL, "only what somebody has reported", NULL, &moderating.reported},
        {"limit", "N", "so many at most (20)", &moderating.limit, NULL},
        {"http", "URL", "a gateway (api.url)", &api.url, NULL},
        {"token", "TOKEN", "the moderator's token (signed with auth.hs256.key.file)", &api.token, NULL},
        {"wait", "SECONDS", "so long at most until it is decided (30)", &moderating.wait, NULL},
    };
    int code = cli_open(cli, &MODERATE_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    const struct verdict *verdict = cli->argument_count ? verdict_of(cli->arguments[0]) : NULL;
    const char *wrong = complaint(&moderating, cli, verdict, &path);
    if (!wrong && !as && !api.token) wrong = "--as or --token must be given";
    if (!wrong && moderating.state && text_word(moderating.state, COMMENT_STATES) < 0)
        wrong = "--state must be visible, held, hidden or deleted";
    if (!wrong && moderating.until && !cli_int(moderating.until, 1, INT64_MAX, &number))
        wrong = "--until must be a time in ms";
    if (wrong)
        code = CLI_WRONG(&MODERATE_COMMAND, "%s", wrong);
    else if ((as && cli_user(&MODERATE_COMMAND, as, &api.user)) ||
             (moderating.user && cli_user(&MODERATE_COMMAND, moderating.user, &number)) ||
             cli_int_option(&MODERATE_COMMAND, "limit", moderating.limit, 1, LIMIT_MAX, &moderating.most) ||
             cli_int_option(&MODERATE_COMMAND, "wait", moderating.wait, 1, 86400, &wait_s))
        code = CLI_WRONG_USAGE;
    moderating.until_us = clock_monotonic_us() + wait_s * 1000000;
    if (!code) code = go(&moderating, cli, verdict, buffer_cstring(&path), &api);
    buffer_free(&path);
    return code;
}

const struct cli_command MODERATE_COMMAND = {
    .name = "moderate",
    .synopsis = "show|hide|delete|ban|unban ITEM --reason TEXT --as USER | find posts|comments|users",
    .summary = "posts, comments and people: what was reported or is held, and what a moderator decides",
    .notes =
        "ITEM is post:ID, TYPE:ID/COMMENT or user:ID. Show also approves what is held. find prints a line of JSON\n"
        "each, the newest first. The log of moderation names USER, and the audit who has searched.",
    .run = run,
};

/* `starling history`: the stored reports of users, as a file of some kind. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/instant.h"
#include "base/mem.h"
#include "cli/audit.h"
#include "cli/box.h"
#include "cli/past.h"
#include "cli/when.h"
#include "tracks/track.h"

struct history_command {
    const struct cli *cli;
    struct past *past;
    struct period period;
    struct box box;
    bool boxed;
    int64_t limit; /* reports of each user */
    enum track_format format;
    struct track_writer writer;
    struct buffer text;
    int64_t found; /* of the user whose reports come now */
    bool enough;
};

static void write_text(struct history_command *history) {
    if (history->text.size) fwrite(history->text.data, 1, history->text.size, stdout);
    buffer_clear(&history->text);
}

static void take(void *context, const struct track_report *report) {
    struct history_command *history = context;
    const struct geo_point at = {.lat = report->lat, .lng = report->lng};
    if (history->enough || (history->boxed && !box_holds(&history->box, at))) return;
    track_put(&history->writer, &history->text, report);
    write_text(history);
    history->enough = ++history->found == history->limit;
}

struct beginning {
    bool known;
    int64_t time;
};

static void take_beginning(void *context, const struct track_report *report) {
    struct beginning *beginning = context;
    if (!beginning->known) *beginning = (struct beginning){.known = true, .time = report->time};
}

/* Says why nothing was printed of a user. If a period was asked for, the first page of the whole history tells whether there is one. */
static int say_nothing(struct history_command *history, int64_t user, struct error *error) {
    char began[INSTANT_TEXT_SIZE];
    struct beginning beginning = {.known = false};
    const struct past_question question = {
        .user = user,
        .to_ms = INT64_MAX,
        .context = &beginning,
        .take = take_beginning,
        .enough = &beginning.known,
    };
    int code = past_read(history->past, &question, error);
    if (code) return code;
    if (beginning.known)
        cli_note(&HISTORY_COMMAND, "user %" PRId64 " has no reports in this %s; their history begins at %s", user,
                 history->boxed ? "range or box" : "range", instant_format(beginning.time, began));
    else
        cli_note(&HISTORY_COMMAND, "user %" PRId64 " has no history", user);
    return 0;
}

static int print_user(struct history_command *history, int64_t user, struct error *error) {
    const struct past_question question = {
        .user = user,
        .from_ms = history->period.from_ms,
        .to_ms = history->period.to_ms,
        .context = history,
        .take = take,
        .enough = &history->enough,
    };
    history->found = 0;
    history->enough = false;
    int code = past_read(history->past, &question, error);
    return code || history->found ? code : say_nothing(history, user, error);
}

static int print(struct history_command *history, const int64_t *users, size_t count) {
    struct error error = {.text = ""};
    int code = past_new(history->cli, &history->past, &error);
    if (!code) code = audit_read(history->cli, "", users, count, &error);
    if (!code) track_begin(&history->writer, &history->text, history->format, users[0]);
    for (size_t i = 0; !code && i < count; i++) code = print_user(history, users[i], &error);
    if (!code) track_end(&history->writer, &history->text);
    write_text(history);
    buffer_free(&history->text);
    past_free(history->past);
    if (code) return cli_fail(&HISTORY_COMMAND, 1, "%s", error.text);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(&HISTORY_COMMAND, 1, "standard output cannot be written");
    return 0;
}

/* The arguments: users, each once. */
static int read_users(const struct cli *cli, int64_t *users) {
    if (!cli->argument_count) return CLI_WRONG(&HISTORY_COMMAND, "a user must be given");
    for (int i = 0; i < cli->argument_count; i++) {
        if (cli_user(&HISTORY_COMMAND, cli->arguments[i], &users[i])) return CLI_WRONG_USAGE;
        for (int other = 0; other < i; other++)
            if (users[other] == users[i])
                return CLI_WRONG(&HISTORY_COMMAND, "user %" PRId64 " is given twice", users[i]);
    }
    return 0;
}

static int run(struct cli *cli, int argc, char **argv) {
    const char *name = "jsonl", *limit = NULL, *box = NULL;
    struct history_command history = {.cli = cli, .period = {.from_ms = 0, .to_ms = INT64_MAX}, .limit = INT64_MAX};
    const struct cli_option options[] = {
        PERIOD_OPTIONS(&history.period),
        {"limit", "N", "so many reports of each user at most: the first ones", &limit, NULL},
        {"box", "LAT,LNG,LAT,LNG", "only reports within: its south-western and its north-eastern corner", &box, NULL},
        {"format", "csv|geojson|gpx|jsonl", "what is written (jsonl)", &name, NULL},
    };
    int code = cli_open(cli, &HISTORY_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    int64_t *users = mem_zero((size_t)cli->argument_count + 1, sizeof *users);
    history.boxed = box != NULL;
    if (read_users(cli, users) || period_read(&history.period, &HISTORY_COMMAND, clock_wall_ms()) ||
        cli_int_option(&HISTORY_COMMAND, "limit", limit, 1, INT64_MAX, &history.limit)) {
        code = CLI_WRONG_USAGE;
    } else if (box && !box_read(box, &history.box)) {
        code = CLI_WRONG(&HISTORY_COMMAND,
                         "--box %s: must be LAT,LNG,LAT,LNG in degrees, the south-western corner first", box);
    } else if (!track_format_find(name, &history.format)) {
        code = CLI_WRONG(&HISTORY_COMMAND, "--format %s: must be csv, geojson, gpx or jsonl", name);
    } else {
        code = print(&history, users, (size_t)cli->argument_count);
    }
    free(users);
    return code;
}

const struct cli_command HISTORY_COMMAND = {
    .name = "history",
    .synopsis = "USER... " PERIOD_SYNOPSIS " [--limit N] [--box LAT,LNG,LAT,LNG] [--format csv|geojson|gpx|jsonl]",
    .summary = "users' stored reports, by their own time",
    .run = run,
};

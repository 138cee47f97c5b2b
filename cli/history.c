/* `starling history`: a user's stored reports, as a file of some kind. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/past.h"
#include "cli/when.h"
#include "tracks/track.h"

struct output {
    struct track_writer writer;
    struct buffer text;
};

static void write_text(struct output *output) {
    if (output->text.size) fwrite(output->text.data, 1, output->text.size, stdout);
    buffer_clear(&output->text);
}

static void take(void *context, const struct track_report *report) {
    struct output *output = context;
    track_put(&output->writer, &output->text, report);
    write_text(output);
}

static int print(const struct cli *cli, int64_t user, int64_t from_ms, int64_t to_ms, enum track_format format) {
    struct error error = {.text = ""};
    struct output output = {.text = {.data = NULL}};
    track_begin(&output.writer, &output.text, format, user);
    write_text(&output);
    int code = past_read(cli, user, from_ms, to_ms, take, &output, &error);
    if (!code) track_end(&output.writer, &output.text);
    write_text(&output);
    buffer_free(&output.text);
    if (code) return cli_fail(&HISTORY_COMMAND, 1, "%s", error.text);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(&HISTORY_COMMAND, 1, "standard output cannot be written");
    return 0;
}

static int run(int argc, char **argv) {
    const char *from = NULL, *to = NULL, *name = "jsonl";
    const struct cli_option options[] = {
        {"from", "TIME", "from then on: ISO 8601 (UTC unless it says otherwise), or ms since the epoch", &from, NULL},
        {"to", "TIME", "before then", &to, NULL},
        {"format", "csv|geojson|gpx|jsonl", "what is written (jsonl)", &name, NULL},
    };
    struct cli cli;
    bool done;
    int code = cli_open(&cli, &HISTORY_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    int64_t user, from_ms = 0, to_ms = INT64_MAX;
    enum track_format format;
    if (cli.argument_count != 1 || !cli_int(cli.arguments[0], 0, INT64_MAX, &user)) {
        code = cli_fail(&HISTORY_COMMAND, 2, "one user must be given, a number from 0");
    } else if (from && !when_parse(from, &from_ms)) {
        code = cli_fail(&HISTORY_COMMAND, 2, "--from %s: neither ISO 8601 nor milliseconds", from);
    } else if (to && !when_parse(to, &to_ms)) {
        code = cli_fail(&HISTORY_COMMAND, 2, "--to %s: neither ISO 8601 nor milliseconds", to);
    } else if (!track_format_find(name, &format)) {
        code = cli_fail(&HISTORY_COMMAND, 2, "--format %s: must be csv, geojson, gpx or jsonl", name);
    } else {
        code = print(&cli, user, from_ms, to_ms, format);
    }
    cli_close(&cli);
    return code;
}

const struct cli_command HISTORY_COMMAND = {
    .name = "history",
    .synopsis = "USER [--from TIME] [--to TIME] [--format csv|geojson|gpx|jsonl]",
    .summary = "a user's stored reports, by their own time",
    .run = run,
};

/* `starling history`: a user's stored reports as CSV or lines of JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/past.h"
#include "cli/when.h"
#include "json/json.h"

struct output {
    struct buffer line;
    bool csv;
};

static void put_csv(struct buffer *line, const struct past_report *report) {
    buffer_format(line, "%" PRId64 ",%" PRId64 ",", report->user, report->time);
    json_put_degrees(line, report->lat);
    buffer_byte(line, ',');
    json_put_degrees(line, report->lng);
    buffer_byte(line, ',');
    if (report->accuracy >= 0) json_put_int(line, report->accuracy);
    buffer_format(line, ",%" PRId64 "\n", report->received);
}

static void put_json(struct buffer *line, const struct past_report *report) {
    buffer_format(line, "{\"user\":%" PRId64 ",\"time\":%" PRId64 ",\"lat\":", report->user, report->time);
    json_put_degrees(line, report->lat);
    buffer_string(line, ",\"lng\":");
    json_put_degrees(line, report->lng);
    buffer_string(line, ",\"accuracy\":");
    if (report->accuracy >= 0) {
        json_put_int(line, report->accuracy);
    } else {
        buffer_string(line, "null");
    }
    buffer_format(line, ",\"received\":%" PRId64 "}\n", report->received);
}

static void take(void *context, const struct past_report *report) {
    struct output *output = context;
    buffer_clear(&output->line);
    if (output->csv) {
        put_csv(&output->line, report);
    } else {
        put_json(&output->line, report);
    }
    fwrite(output->line.data, 1, output->line.size, stdout);
}

static int print(const struct cli *cli, int64_t user, int64_t from_ms, int64_t to_ms, bool csv) {
    struct error error = {.text = ""};
    struct output output = {.csv = csv};
    if (csv) puts("user,time,lat,lng,accuracy,received");
    int code = past_read(cli, user, from_ms, to_ms, take, &output, &error);
    buffer_free(&output.line);
    if (code) return cli_fail(&HISTORY_COMMAND, 1, "%s", error.text);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(&HISTORY_COMMAND, 1, "standard output cannot be written");
    return 0;
}

static int run(int argc, char **argv) {
    const char *from = NULL, *to = NULL, *format = "jsonl";
    const struct cli_option options[] = {
        {"from", "TIME", "from then on: ISO 8601 (UTC unless it says otherwise), or ms since the epoch", &from, NULL},
        {"to", "TIME", "before then", &to, NULL},
        {"format", "csv|jsonl", "what is written (jsonl)", &format, NULL},
    };
    struct cli cli;
    bool done;
    int code = cli_open(&cli, &HISTORY_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    int64_t user, from_ms = 0, to_ms = INT64_MAX;
    bool csv = !strcmp(format, "csv");
    if (cli.argument_count != 1 || !cli_int(cli.arguments[0], 0, INT64_MAX, &user)) {
        code = cli_fail(&HISTORY_COMMAND, 2, "one user must be given, a number from 0");
    } else if (from && !when_parse(from, &from_ms)) {
        code = cli_fail(&HISTORY_COMMAND, 2, "--from %s: neither ISO 8601 nor milliseconds", from);
    } else if (to && !when_parse(to, &to_ms)) {
        code = cli_fail(&HISTORY_COMMAND, 2, "--to %s: neither ISO 8601 nor milliseconds", to);
    } else if (!csv && strcmp(format, "jsonl")) {
        code = cli_fail(&HISTORY_COMMAND, 2, "--format %s: must be csv or jsonl", format);
    } else {
        code = print(&cli, user, from_ms, to_ms, csv);
    }
    cli_close(&cli);
    return code;
}

const struct cli_command HISTORY_COMMAND = {
    .name = "history",
    .synopsis = "USER [--from TIME] [--to TIME] [--format csv|jsonl]",
    .summary = "a user's stored reports, by their own time",
    .run = run,
};

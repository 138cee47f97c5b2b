/* `starling trace`: where the time of a traced request went, from the records that carry its context. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/hops.h"
#include "cli/reader.h"
#include "cli/when.h"
#include "event/topics.h"

enum { LOOK_BACK_MS = 10 * 60 * 1000, LATEST_MAX = 100000 };

struct tracing {
    const struct cli *cli;
    struct period period;
    uint8_t trace[TRACE_ID_BYTES]; /* the one that is wanted */
    int64_t latest;                /* or so many of all; 0: that one */
    bool json;
    struct hops *hops;
};

static void drained(void *context) {}

static void take(void *context, const struct kafka_record *record) {
    struct tracing *tracing = context;
    const char *parent = kafka_record_header(record, TRACE_PARENT_HEADER);
    struct hop hop = {
        .time_ms = record->timestamp, .topic = record->topic, .partition = record->partition, .offset = record->offset};
    if (!parent || trace_context_parse(parent, &hop.context)) return;
    if (!tracing->latest && memcmp(hop.context.trace, tracing->trace, sizeof tracing->trace) != 0) return;
    hops_add(tracing->hops, &hop);
}

static int read_all(struct tracing *tracing, struct error *error) {
    struct topics_shape shape;
    int code = reader_shape(tracing->cli, &shape, error);
    for (size_t i = 0; !code && i < TOPICS_ALL.count; i++) {
        const struct topic *topic = TOPICS_ALL.items[i];
        code = reader_run(&(struct reader_options){.settings = &tracing->cli->kafka,
                                                   .topic = topic,
                                                   .partitions = shape.partitions[topic->space],
                                                   .partition = READER_ALL,
                                                   .from_ms = tracing->period.from_ms,
                                                   .to_ms = tracing->period.to_ms,
                                                   .context = tracing,
                                                   .take = take,
                                                   .drained = drained},
                          error);
    }
    return code;
}

static int show(struct tracing *tracing) {
    struct error error = {.text = ""};
    struct buffer out = {.size = 0};
    tracing->hops = hops_new();
    int code = read_all(tracing, &error);
    size_t latest = tracing->latest ? (size_t)tracing->latest : 1;
    if (!code) {
        size_t count = tracing->json ? hops_json(&out, tracing->hops, latest) : hops_text(&out, tracing->hops, latest);
        if (!count && !tracing->latest)
            code =
                error_set(&error, -ENOENT, "no record since then carries that trace: --from TIME looks further back");
    }
    if (!code && (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout)))
        code = error_set(&error, -EIO, "standard output cannot be written");
    buffer_free(&out);
    hops_free(tracing->hops);
    return code ? cli_fail(&TRACE_COMMAND, 1, "%s", error.text) : 0;
}

/* A traceparent that a request can be made with. */
static int print_new(void) {
    struct trace_context context = {.sampled = true};
    char text[TRACE_PARENT_TEXT];
    if (getrandom(context.trace, sizeof context.trace, 0) != sizeof context.trace ||
        getrandom(context.span, sizeof context.span, 0) != sizeof context.span)
        return cli_fail(&TRACE_COMMAND, 1, "no random numbers");
    trace_context_write(&context, text);
    puts(text);
    return fflush(stdout) ? cli_fail(&TRACE_COMMAND, 1, "standard output cannot be written") : 0;
}

/* A trace's id, or a traceparent. */
static bool parse_id(struct tracing *tracing, const char *text) {
    struct trace_context context;
    if (!trace_hex_parse(text, 2 * TRACE_ID_BYTES, tracing->trace)) return true;
    if (trace_context_parse(text, &context)) return false;
    memcpy(tracing->trace, context.trace, sizeof context.trace);
    return true;
}

static int run(struct cli *cli, int argc, char **argv) {
    const char *latest = NULL;
    int64_t now_ms = clock_wall_ms();
    struct tracing tracing = {.cli = cli, .period = {.from_ms = now_ms - LOOK_BACK_MS, .to_ms = INT64_MAX}};
    const struct cli_option options[] = {
        {"latest", "N", "the N traces that began last", &latest, NULL},
        PERIOD_OPTIONS(&tracing.period),
        {"json", NULL, "a line of JSON for each trace", NULL, &tracing.json},
    };
    int code = cli_open(cli, &TRACE_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    const char *id = cli->argument_count == 1 ? cli->arguments[0] : NULL;
    if (cli->argument_count > 1 || !id == !latest)
        return CLI_WRONG(&TRACE_COMMAND, "a trace's id, `new` or --latest N must be given");
    if (cli_int_option(&TRACE_COMMAND, "latest", latest, 1, LATEST_MAX, &tracing.latest) ||
        period_read(&tracing.period, &TRACE_COMMAND, now_ms))
        return CLI_WRONG_USAGE;
    if (id && !strcmp(id, "new")) return print_new();
    if (id && !parse_id(&tracing, id))
        return CLI_WRONG(&TRACE_COMMAND, "%s is neither 32 hexadecimal digits nor a traceparent", id);
    return show(&tracing);
}

const struct cli_command TRACE_COMMAND = {
    .name = "trace",
    .synopsis = "(ID | new | --latest N) " PERIOD_SYNOPSIS " [--json]",
    .summary = "where the time of a traced request went, record by record",
    .notes = "Shows all records that carry the context of the request, in the order of their Kafka timestamps,\n"
             "with the milliseconds since the first one and since the one before. It reads the topics of the last\n"
             "ten minutes (--from). A time is of the writer's clock; for locations, of the broker's. The last\n"
             "record is the one for the edge. What the edge did then, only a collector is told (otlp.url), by\n"
             "spans whose ids are in the last column. new prints a context for a request.",
    .run = run,
};

/* `starling comments export`: whole threads as lines of JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/audit.h"
#include "cli/cli.h"
#include "cli/comments_bulk.h"
#include "cli/comments_records.h"
#include "cli/pairs.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "event/topics.h"

struct exporting {
    struct pairs_out *out;
    struct comments_records *records;
    struct comments_records_counts counts;
    struct progress_meter progress;
    int64_t read;
    struct error *error;
};

static const struct cli_command EXPORT_COMMAND = {
    .name = "comments export",
    .synopsis = "[FILE]",
    .summary = "all threads as lines of JSON, .gz too",
};

static void take(void *context, const struct kafka_record *record) {
    struct exporting *export = context;
    export->read++;
    comments_records_add(export->records, record);
}

static void show_read(void *context) {
    struct exporting *export = context;
    if (progress_due(&export->progress)) progress_show(&export->progress, export->read, "records read");
}

static int put_line(void *context, const struct buffer *line) {
    struct exporting *export = context;
    return pairs_out_write(export->out, line->data, line->size, export->error);
}

/* Texts and reactions come after the comments, so that the file has those of all comments that it has. */
static int read_partition(struct exporting *export, const struct kafka_settings *settings, int partitions,
                          int32_t partition) {
    static const struct topic *const TOPICS[] = {&TOPIC_COMMENTS, &TOPIC_COMMENT_TEXTS, &TOPIC_REACTIONS};
    int code = 0;
    comments_records_clear(export->records);
    for (size_t t = 0; !code && t < ARRAY_SIZE(TOPICS); t++) {
        const struct reader_options reader = {
            .settings = settings,
            .topic = TOPICS[t],
            .partitions = partitions,
            .partition = partition,
            .to_ms = INT64_MAX,
            .context = export,
            .take = take,
            .drained = show_read,
        };
        code = reader_run(&reader, export->error);
    }
    return code;
}

static int export_all(const struct cli *cli, const char *path, struct error *error) {
    struct topics_shape shape;
    struct exporting export = {.error = error};
    int code = reader_shape(cli, &shape, error);
    if (!code) code = audit_read(cli, TOPIC_COMMENT_TEXTS.name, NULL, 0, error);
    if (!code) code = pairs_out_new(path, &export.out, error);
    if (code) return code;
    struct codec *codec = codec_new();
    export.records = comments_records_new();
    progress_start(&export.progress, "comments export");
    for (int32_t p = 0; !code && p < shape.partitions[TOPIC_SPACE_SUBJECTS]; p++) {
        code = read_partition(&export, &cli->kafka, shape.partitions[TOPIC_SPACE_SUBJECTS], p);
        if (!code) code = comments_records_each(export.records, codec, put_line, &export, &export.counts);
    }
    // The first reason is the one to tell.
    int closed = pairs_out_close(export.out, code ? NULL : error);
    if (!code) code = closed;
    if (!code) progress_end(&export.progress, export.counts.comments, "comments written");
    if (export.counts.broken)
        fprintf(stderr, "starling comments export: %" PRId64 " records cannot be read and were left out\n",
                export.counts.broken);
    comments_records_free(export.records);
    codec_free(codec);
    return code;
}

int comments_export(struct cli *cli, int argc, char **argv) {
    struct error error = {.text = ""};
    int code = cli_open(cli, &EXPORT_COMMAND, argc, argv, NULL, 0);
    if (code) return code;
    if (cli->argument_count > 1) return CLI_WRONG(&EXPORT_COMMAND, "one FILE at most");
    if (export_all(cli, cli->argument_count ? cli->arguments[0] : "-", &error))
        return cli_fail(&EXPORT_COMMAND, 1, "%s", error.text);
    return 0;
}

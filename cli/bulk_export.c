/* Pairs of users in bulk: from a compacted topic to a file. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/audit.h"
#include "cli/bulk.h"
#include "cli/halves.h"
#include "cli/pairs.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "event/topics.h"

struct export {
    const struct bulk *bulk;
    struct pairs_out *out;
    struct halves *halves;
    struct codec *codec;
    struct progress_meter progress;
    struct error *error;
    int64_t read, pairs, broken;
};

static void take_half(void *context, const struct kafka_record *record) {
    struct export *export = context;
    struct half_said said;
    int code = export->bulk->read_half(export->codec, record, &said);
    export->read++;
    if (code < 0) {
        export->broken++;
    } else if (code) {
        halves_put(export->halves, said.a, said.b, said.is);
    }
}

static void show_read(void *context) {
    struct export *export = context;
    if (progress_due(&export->progress)) progress_show(&export->progress, export->read, "records read");
}

static int put_pair(void *context, int64_t a, int64_t b) {
    struct export *export = context;
    export->pairs++;
    return pairs_out_put(export->out, a, b, export->error);
}

/* Partition by partition: memory holds the pairs of one. */
static int export_all(struct export *export, const struct kafka_settings *settings, int partitions) {
    int code = 0;
    for (int p = 0; !code && p < partitions; p++) {
        const struct reader_options reader = {
            .settings = settings,
            .topic = export->bulk->halves,
            .partitions = partitions,
            .partition = p,
            .to_ms = INT64_MAX,
            .context = export,
            .take = take_half,
            .drained = show_read,
        };
        halves_clear(export->halves);
        code = reader_run(&reader, export->error);
        if (!code) code = halves_each(export->halves, put_pair, export);
    }
    return code;
}

int bulk_export(const struct bulk *bulk, const struct cli *cli, const char *path, struct error *error) {
    struct topics_shape shape;
    struct export export = {.bulk = bulk, .error = error};
    char what[64];
    int code = reader_shape(cli, &shape, error);
    if (!code) code = audit_read(cli, bulk->halves->name, NULL, 0, error);
    if (!code) code = pairs_out_new(path, &export.out, error);
    if (code) return code;
    snprintf(what, sizeof what, "%s written", bulk->pairs);
    export.halves = halves_new();
    export.codec = codec_new();
    progress_start(&export.progress, bulk->command->name);
    code = export_all(&export, &cli->kafka, shape.partitions[TOPIC_SPACE_USERS]);
    // The first reason is the one to tell.
    int closed = pairs_out_close(export.out, code ? NULL : error);
    if (!code) code = closed;
    if (!code) progress_end(&export.progress, export.pairs, what);
    if (export.broken) {
        fprintf(stderr, "starling %s: %" PRId64 " records cannot be read and were left out\n", bulk->command->name,
                export.broken);
    }
    codec_free(export.codec);
    halves_free(export.halves);
    return code;
}

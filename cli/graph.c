/* `starling graph`: friendships in bulk, from a file to Kafka and back. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/halves.h"
#include "cli/pace.h"
#include "cli/pairs.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/setup.h"
#include "event/codec.h"
#include "event/topics.h"

enum { SAVE_EVERY = 100000, PACE_EVERY = 1000, PAIR_KEY = 16 };

/* ---- import ---- */

struct import {
    struct cli *cli;
    struct setup *setup;
    struct pace *pace;
    struct progress progress;
    double share; /* of the file that is read */
    struct error *error;
    const char *state; /* file that says how far an earlier run came; NULL: none */
    int64_t size;      /* of the file of friendships, by which the state's is known again */
    int64_t skip;      /* pairs that an earlier run has sent */
    int64_t read, sent, selves;
};

static int load_state(struct import *import) {
    FILE *file = fopen(import->state, "re");
    if (!file) {
        return errno == ENOENT ? 0 : error_set(import->error, -errno, "%s: %s", import->state, strerror(errno));
    }
    int64_t size = -1, done = -1;
    int found = fscanf(file, "size %" SCNd64 " pairs %" SCNd64, &size, &done);
    fclose(file);
    if (found != 2 || done < 0) return error_set(import->error, -EINVAL, "%s: not a state of an import", import->state);
    if (size != import->size) {
        return error_set(import->error, -EINVAL, "%s: belongs to another file of friendships", import->state);
    }
    import->skip = done;
    return 0;
}

/* Replaces the file, so that a run that is killed meanwhile leaves the old state or the new one. */
static int save_state(struct import *import) {
    if (setup_flush(import->setup, import->error)) return -EIO;
    char *part = mem_format("%s.part", import->state);
    FILE *file = fopen(part, "we");
    bool failed = !file;
    if (file) {
        failed = fprintf(file, "size %" PRId64 " pairs %" PRId64 "\n", import->size, import->read) < 0;
        if (fflush(file) || fsync(fileno(file))) failed = true;
        if (fclose(file)) failed = true;
        if (!failed && rename(part, import->state)) failed = true;
    }
    int code = failed ? error_set(import->error, -EIO, "%s: %s", part, strerror(errno)) : 0;
    free(part);
    return code;
}

static int send_pair(void *context, int64_t a, int64_t b) {
    struct import *import = context;
    if (import->read++ < import->skip) {
        import->progress.begun = import->share;
        return 0;
    }
    if (a == b) {
        import->selves++;
        return 0;
    }
    int code = setup_befriend(import->setup, a, b, import->error);
    if (code) return code;
    import->sent++;
    if (import->state && import->read % SAVE_EVERY == 0) code = save_state(import);
    if (code || import->sent % PACE_EVERY) return code;
    if (progress_due(&import->progress))
        progress_bar(&import->progress, import->share, import->sent, "friendships sent");
    return pace_keep(import->pace, PACE_EVERY, import->error);
}

static void show_left(void *context, int64_t left, const char *what) {
    fprintf(stderr, "starling graph: %" PRId64 " %s yet\n", left, what);
}

static int import_run(struct import *import, const char *path, int64_t wait_s) {
    struct topics_shape shape;
    struct stat stat_of_file;
    if (import->state) {
        if (stat(path, &stat_of_file)) return error_set(import->error, -errno, "%s: %s", path, strerror(errno));
        import->size = stat_of_file.st_size;
        int code = load_state(import);
        if (code) return code;
    }
    int code = reader_shape(&import->cli->kafka, &shape, import->error);
    if (!code) code = setup_new(&import->cli->kafka, &import->setup, import->error);
    if (!code)
        code = pace_new(&import->cli->kafka, import->cli->settings.router_group, &TOPIC_FRIEND_COMMANDS,
                        shape.partitions[TOPIC_SPACE_USERS], &import->pace, import->error);
    progress_start(&import->progress, GRAPH_COMMAND.name);
    if (!code) code = pairs_read(path, &import->share, send_pair, import, import->error);
    if (!code) code = setup_flush(import->setup, import->error);
    if (code) return code;
    progress_end(&import->progress, import->sent, "friendships sent");
    if (import->skip) fprintf(stderr, "starling graph: %" PRId64 " were sent by an earlier run\n", import->skip);
    if (import->selves) {
        fprintf(stderr, "starling graph: %" PRId64 " lines name one user twice and were left out\n", import->selves);
    }
    if (import->state && unlink(import->state) && errno != ENOENT) {
        return error_set(import->error, -errno, "%s: %s", import->state, strerror(errno));
    }
    if (wait_s <= 0) return 0;
    return setup_wait_handled(import->setup, import->cli->settings.router_group, (int)wait_s, show_left, NULL,
                              import->error);
}

/* ---- export ---- */

struct export {
    struct pairs_out *out;
    struct halves *halves;
    struct codec *codec;
    struct progress progress;
    struct error *error;
    int64_t read, pairs, broken;
};

static void take_half(void *context, const struct kafka_record *record) {
    struct export *export = context;
    export->read++;
    if (!record->key || record->key_size != PAIR_KEY) {
        export->broken++;
        return;
    }
    int64_t user = (int64_t)bytes_get_be64(record->key), other = (int64_t)bytes_get_be64(record->key + 8);
    if (user >= other) return; // the other half says the same
    struct friendship half = {.state = FRIENDSHIP_NONE};
    if (record->value && event_decode_friendship(export->codec, record->value, record->value_size, &half, NULL)) {
        export->broken++;
        return;
    }
    halves_put(export->halves, user, other, half.state == FRIENDSHIP_FRIENDS);
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

/* Partition by partition: memory holds the friendships of one. */
static int export_all(struct export *export, const struct kafka_settings *settings, int partitions) {
    int code = 0;
    for (int p = 0; !code && p < partitions; p++) {
        const struct reader_options reader = {
            .settings = settings,
            .topic = &TOPIC_FRIENDSHIPS,
            .partitions = partitions,
            .partition = p,
            .from_ms = 0,
            .to_ms = INT64_MAX,
            .follow = false,
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

static int export_run(const struct cli *cli, const char *path, struct error *error) {
    struct topics_shape shape;
    struct export export = {.error = error};
    int code = reader_shape(&cli->kafka, &shape, error);
    if (!code) code = pairs_out_new(path, &export.out, error);
    if (code) return code;
    export.halves = halves_new();
    export.codec = codec_new();
    progress_start(&export.progress, GRAPH_COMMAND.name);
    code = export_all(&export, &cli->kafka, shape.partitions[TOPIC_SPACE_USERS]);
    // The first reason is the one to tell.
    int closed = pairs_out_close(export.out, code ? NULL : error);
    if (!code) code = closed;
    if (!code) progress_end(&export.progress, export.pairs, "friendships written");
    if (export.broken) {
        fprintf(stderr, "starling graph: %" PRId64 " records cannot be read and were left out\n", export.broken);
    }
    codec_free(export.codec);
    halves_free(export.halves);
    return code;
}

/* ---- the command ---- */

static int start_import(struct cli *cli, const char *state, const char *wait, struct error *error) {
    int64_t wait_s = 0;
    if (wait && !cli_int(wait, 1, 86400, &wait_s)) {
        return cli_fail(&GRAPH_COMMAND, 2, "--wait %s: must be seconds from 1 to 86400", wait);
    }
    struct import import = {.cli = cli, .state = state, .error = error};
    int code = import_run(&import, cli->arguments[1], wait_s);
    pace_free(import.pace);
    setup_free(import.setup);
    return code ? cli_fail(&GRAPH_COMMAND, 1, "%s", error->text) : 0;
}

static int run(int argc, char **argv) {
    const char *state = NULL, *wait = NULL;
    const struct cli_option options[] = {
        {"resume", "STATE", "import: keeps in this file how far it is, and goes on from there if it exists", &state,
         NULL},
        {"wait", "SECONDS", "import: waits so long at most until it is all on the routers' friend lists", &wait, NULL},
    };
    struct cli cli;
    struct error error = {.text = ""};
    bool done;
    int code = cli_open(&cli, &GRAPH_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    const char *what = cli.argument_count ? cli.arguments[0] : "";
    if (!strcmp(what, "import") && cli.argument_count == 2) {
        code = start_import(&cli, state, wait, &error);
    } else if (!strcmp(what, "export") && cli.argument_count <= 2) {
        code = state || wait ? cli_fail(&GRAPH_COMMAND, 2, "--resume and --wait are for import")
               : export_run(&cli, cli.argument_count == 2 ? cli.arguments[1] : "-", &error)
                   ? cli_fail(&GRAPH_COMMAND, 1, "%s", error.text)
                   : 0;
    } else {
        code = cli_fail(&GRAPH_COMMAND, 2, "import with one FILE, or export");
    }
    cli_close(&cli);
    return code;
}

const struct cli_command GRAPH_COMMAND = {
    .name = "graph",
    .synopsis = "import FILE [--resume STATE] [--wait SECONDS] | export [FILE]",
    .summary = "friendships in bulk: two user ids a line, .gz too",
    .run = run,
};

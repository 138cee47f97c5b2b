/* Pairs of users in bulk: from a file to Kafka. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/bulk.h"
#include "cli/pace.h"
#include "cli/pairs.h"
#include "cli/progress.h"
#include "cli/reader.h"

enum { SAVE_EVERY = 100000, PACE_EVERY = 1000 };

struct import {
    const struct bulk *bulk;
    const struct cli *cli;
    const char *group;
    struct setup *setup;
    struct pace *pace;
    struct progress_meter progress;
    char *what;   /* "friendships sent" */
    double share; /* of the file that is read */
    struct error *error;
    const char *state; /* file that says how far an earlier run came; NULL: none */
    int64_t size;      /* of the file of pairs, by which the state's is known again */
    int64_t skip;      /* pairs that an earlier run has sent */
    int64_t read, sent, selves;
};

static int load_state(struct import *import) {
    FILE *file = fopen(import->state, "re");
    if (!file) return errno == ENOENT ? 0 : error_set(import->error, -errno, "%s: %s", import->state, strerror(errno));
    int64_t size = -1, done = -1;
    int found = fscanf(file, "size %" SCNd64 " pairs %" SCNd64, &size, &done);
    fclose(file);
    if (found != 2 || done < 0) return error_set(import->error, -EINVAL, "%s: not a state of an import", import->state);
    if (size != import->size) {
        return error_set(import->error, -EINVAL, "%s: belongs to another file of %s", import->state,
                         import->bulk->pairs);
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
    int code = import->bulk->send(import->setup, a, b, import->error);
    if (code) return code;
    import->sent++;
    if (import->state && import->read % SAVE_EVERY == 0) code = save_state(import);
    if (code || import->sent % PACE_EVERY) return code;
    if (progress_due(&import->progress)) progress_bar(&import->progress, import->share, import->sent, import->what);
    return pace_keep(import->pace, PACE_EVERY, import->error);
}

static void show_left(void *context, int64_t left, const char *what) {
    const struct import *import = context;
    fprintf(stderr, "starling %s: %" PRId64 " %s yet\n", import->bulk->command->name, left, what);
}

static int start(struct import *import, const char *path) {
    const struct kafka_settings *settings = &import->cli->kafka;
    struct topics_shape shape;
    struct stat stat_of_file;
    if (import->state) {
        if (stat(path, &stat_of_file)) return error_set(import->error, -errno, "%s: %s", path, strerror(errno));
        import->size = stat_of_file.st_size;
        int code = load_state(import);
        if (code) return code;
    }
    int code = reader_shape(import->cli, &shape, import->error);
    if (!code) code = setup_new(settings, &import->setup, import->error);
    if (!code)
        code = pace_new(settings, import->group, import->bulk->deciders->commands, shape.partitions[TOPIC_SPACE_USERS],
                        &import->pace, import->error);
    return code;
}

static int end(struct import *import, int64_t wait_s) {
    const char *name = import->bulk->command->name;
    progress_end(&import->progress, import->sent, import->what);
    if (import->skip) fprintf(stderr, "starling %s: %" PRId64 " were sent by an earlier run\n", name, import->skip);
    if (import->selves)
        fprintf(stderr, "starling %s: %" PRId64 " lines name one user twice and were left out\n", name, import->selves);
    if (import->state && unlink(import->state) && errno != ENOENT)
        return error_set(import->error, -errno, "%s: %s", import->state, strerror(errno));
    if (wait_s <= 0) return 0;
    int code = setup_wait_decided(import->setup, import->bulk->deciders, import->group, (int)wait_s, show_left, import,
                                  import->error);
    if (!code) fprintf(stderr, "starling %s: %" PRId64 " %s decided\n", name, import->sent, import->bulk->pairs);
    return code;
}

int bulk_import(const struct bulk *bulk, const struct cli *cli, const char *path, const char *state, int64_t wait_s,
                struct error *error) {
    struct import import = {
        .bulk = bulk,
        .cli = cli,
        .group = bulk->group(&cli->settings),
        .what = mem_format("%s sent", bulk->pairs),
        .state = state,
        .error = error,
    };
    int code = start(&import, path);
    progress_start(&import.progress, bulk->command->name);
    if (!code) code = pairs_read(path, &import.share, send_pair, &import, error);
    if (!code) code = setup_flush(import.setup, error);
    if (!code) code = end(&import, wait_s);
    pace_free(import.pace);
    setup_free(import.setup);
    free(import.what);
    return code;
}

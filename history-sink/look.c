#include "history-sink/look.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ASK_TIMEOUT_MS = 3000 };

/* While busy, everything but the two flags is the worker's. */
struct look {
    struct look_options options;
    char *dir;
    struct kafka_admin *admin;
    struct archive_wanted *wanted;
    size_t count;
    int64_t *committed, *ends;
    int folder_code, kafka_code;
    struct error error;
    bool busy, closing;
};

int look_new(const struct look_options *options, struct look **out, struct error *error) {
    struct kafka_admin *admin;
    int code = kafka_admin_new(options->settings, &admin, error);
    if (code) return code;
    struct look *look = mem_alloc(sizeof *look);
    *look = (struct look){
        .options = *options,
        .dir = mem_string(options->dir),
        .admin = admin,
        .wanted = NULL,
        .count = 0,
        .committed = mem_zero((size_t)options->partitions, sizeof *look->committed),
        .ends = mem_zero((size_t)options->partitions, sizeof *look->ends),
        .folder_code = 0,
        .kafka_code = 0,
        .error = {.text = ""},
        .busy = false,
        .closing = false,
    };
    *out = look;
    return 0;
}

static void wanted_clear(struct look *look) {
    for (size_t i = 0; i < look->count; i++) archive_list_clear(&look->wanted[i].found);
    free(look->wanted);
    look->wanted = NULL;
    look->count = 0;
}

static void look_destroy(struct look *look) {
    wanted_clear(look);
    kafka_admin_free(look->admin);
    free(look->committed);
    free(look->ends);
    free(look->dir);
    free(look);
}

void look_free(struct look *look) {
    if (!look) return;
    look->closing = true;
    if (!look->busy) look_destroy(look);
}

bool look_busy(const struct look *look) { return look->busy; }

static void work(void *context) {
    struct look *look = context;
    // The files first: Kafka, asked later, ends no earlier than they do.
    look->kafka_code = 0;
    look->folder_code = archive_scan(look->dir, look->wanted, look->count, true, &look->error);
    if (look->folder_code) return;
    look->kafka_code = kafka_group_offsets(look->admin, look->options.group, TOPIC_LOCATIONS, look->options.partitions,
                                           look->committed, look->ends, ASK_TIMEOUT_MS, &look->error);
}

static void done(void *context) {
    struct look *look = context;
    look->busy = false;
    if (!look->closing) {
        look->options.on_seen(look->options.context, &(struct look_seen){
                                                         .wanted = look->wanted,
                                                         .count = look->count,
                                                         .ends = look->ends,
                                                         .folder_code = look->folder_code,
                                                         .kafka_code = look->kafka_code,
                                                         .reason = look->error.text,
                                                     });
        wanted_clear(look);
    } else
        look_destroy(look);
}

void look_start(struct look *look, const struct archive_wanted *wanted, size_t count) {
    look->wanted = mem_alloc((count + 1) * sizeof *wanted);
    memcpy(look->wanted, wanted, count * sizeof *wanted);
    look->count = count;
    look->busy = true;
    loop_work(look->options.loop, work, done, look);
}

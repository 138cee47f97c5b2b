#include "history-sink/look.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* While busy, everything but the two flags is the worker's. */
struct look {
    struct look_options options;
    char *dir;
    struct archive_wanted *wanted;
    size_t count;
    int code;
    struct error error;
    bool busy, closing;
};

struct look *look_new(const struct look_options *options) {
    struct look *look = mem_alloc(sizeof *look);
    *look = (struct look){
        .options = *options,
        .dir = mem_string(options->dir),
        .wanted = NULL,
        .count = 0,
        .code = 0,
        .error = {.text = ""},
        .busy = false,
        .closing = false,
    };
    return look;
}

static void wanted_clear(struct look *look) {
    for (size_t i = 0; i < look->count; i++) archive_list_clear(&look->wanted[i].found);
    free(look->wanted);
    look->wanted = NULL;
    look->count = 0;
}

static void look_destroy(struct look *look) {
    wanted_clear(look);
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
    look->code = archive_scan(look->dir, look->wanted, look->count, true, &look->error);
}

static void done(void *context) {
    struct look *look = context;
    look->busy = false;
    if (look->closing) {
        look_destroy(look);
        return;
    }
    look->options.on_seen(look->options.context, look->code, look->wanted, look->count, look->error.text);
    wanted_clear(look);
}

void look_start(struct look *look, const struct archive_wanted *wanted, size_t count) {
    look->wanted = mem_alloc((count + 1) * sizeof *wanted);
    memcpy(look->wanted, wanted, count * sizeof *wanted);
    look->count = count;
    look->busy = true;
    loop_work(look->options.loop, work, done, look);
}

/* The store of a comments process, and its checkpoints. */
#include <stdlib.h>

#include "base/mem.h"
#include "comments/comments_private.h"

enum { SECOND_MS = 1000 };

static char *store_path(const struct comments *comments) {
    return mem_format("%s/comments", service_settings(comments->service)->data_dir);
}

static int open_store(void *context, struct error *error) {
    struct comments *comments = context;
    struct store_options options = {.memory_bytes = (size_t)comments->settings->store_memory_mb << 20,
                                    .point_lookups = true,
                                    .sorted_batches = true};
    char *path = store_path(comments);
    int code = store_open(path, &options, &comments->store, error);
    if (!code) comments->threads = threads_new(comments->store, comments->partitions);
    free(path);
    return code;
}

static int make_checkpoint(void *context, const char *path, struct error *error) {
    return store_checkpoint(((struct comments *)context)->store, path, error);
}

int comments_open_store(struct comments *comments, struct error *error) {
    char *path = store_path(comments);
    comments->checkpoints = checkpoints_new(&(struct checkpoints_options){
        .loop = service_loop(comments->service),
        .log = service_log(comments->service),
        .metrics = service_metrics(comments->service),
        .prefix = "starling_comments",
        .folder = comments->owning->checkpoint_dir,
        .every_ms = comments->owning->checkpoint_every_s * SECOND_MS,
        .keep = (size_t)comments->owning->checkpoint_keep,
        .path = path,
        .max_age_ms = comments_max_age_ms(comments),
        .context = comments,
        .open = open_store,
        .make = make_checkpoint,
        .on_opened = comments_store_opened,
    });
    free(path);
    return checkpoints_open(comments->checkpoints, error);
}

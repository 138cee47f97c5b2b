#include "history-sink/publishing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct publish_line {
    size_t uses; /* its owner's, and the files on their way */
    bool broken; /* the worker's: one has failed */
};

struct publishing {
    struct publish_line *line;
    struct storage *storage;
    struct history_segment *segment;
    int32_t partition;
    int64_t rows;
    publish_told *told;
    void *context;
    int code;
    struct segment_published file;
    struct error error;
};

struct publish_line *publish_line_new(void) {
    return MEM_NEW(&(struct publish_line){.uses = 1, .broken = false});
}

void publish_line_free(struct publish_line *line) {
    if (line && !--line->uses) free(line);
}

static void publish(void *context) {
    struct publishing *publishing = context;
    if (publishing->line->broken) {
        segment_drop(publishing->segment);
        publishing->code = error_set(&publishing->error, -ECANCELED, "the file before it was not published");
    } else {
        publishing->code =
            segment_publish(publishing->segment, publishing->storage, &publishing->file, &publishing->error);
        publishing->line->broken = publishing->code != 0;
    }
}

static void done(void *context) {
    struct publishing *publishing = context;
    publishing->told(publishing->context, publishing->line, publishing->partition, publishing->code, publishing->rows,
                     &publishing->file, publishing->error.text);
    publish_line_free(publishing->line);
    free(publishing);
}

void publish_line_add(struct publish_line *line, struct worker *worker, struct storage *storage,
                      struct history_segment *segment, publish_told *told, void *context) {
    struct publishing *publishing = MEM_NEW(&(struct publishing){
        .line = line,
        .storage = storage,
        .segment = segment,
        .partition = segment_partition(segment),
        .rows = segment_rows(segment),
        .told = told,
        .context = context,
        .error = {.text = ""},
    });
    line->uses++;
    worker_run(worker, publish, done, publishing);
}

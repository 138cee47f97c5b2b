#include "ingest/gather.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct gather {
    struct gather_options options;
    size_t waiting; /* questions without an answer, and one for the asker itself until gather_end */
    bool stopping;
};

struct gather_question {
    struct gather *gather;
    size_t tag;
};

static void settle(struct gather *gather) {
    if (--gather->waiting) return;
    gather->options.done(gather->options.context, gather->stopping);
    free(gather);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct gather_question *question = context;
    struct gather *gather = question->gather;
    struct json_bytes reply = {text, code == 0 && status == 200 ? size : 0};
    if (code == -ECANCELED) gather->stopping = true;
    gather->options.answer(gather->options.context, question->tag, reply);
    free(question);
    settle(gather);
}

struct gather *gather_new(const struct gather_options *options) {
    struct gather *gather = MEM_NEW(&(struct gather){.options = *options, .waiting = 1});
    return gather;
}

void gather_ask(struct gather *gather, const struct rpc_question *asked, const struct rpc_value *values, size_t tag) {
    struct gather_question *question = MEM_NEW(&(struct gather_question){.gather = gather, .tag = tag});
    gather->waiting++;
    rpc_ask(gather->options.owners, asked, values, gather->options.timeout_ms, answered, question);
}

void gather_end(struct gather *gather) { settle(gather); }

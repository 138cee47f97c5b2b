/* Several questions to owners at once: each answer is handed over as it comes, and the end is said when all have come.
 * Loop's thread. */
#pragma once

#include "json/scan.h"
#include "rpc/ask.h"

struct gather;

struct gather_options {
    struct peers *owners;
    int timeout_ms;
    void *context;
    void (*answer)(void *context, size_t tag, struct json_bytes reply); /* empty: this owner did not answer in time */
    void (*done)(void *context, bool stopping); /* stopping: the gateway ends, and nothing more may be asked */
};

/* At once after each other: new, ask for each question, end. done may be called within the last. */
struct gather *gather_new(const struct gather_options *options);
void gather_ask(struct gather *gather, const struct rpc_question *question, const struct rpc_value *values, size_t tag);
void gather_end(struct gather *gather);

/* A text is checked before it is written: whom it mentions, and whether it waits for a moderator. Loop's thread. */
#pragma once

#include "ingest/mentions.h"
#include "ingest/text_filter.h"

struct text_facts {
    struct mentions mentions;
    bool held;
};

struct text_check {
    struct text_filter *filter; /* NULL: it is not asked, as for a moderator */
    struct peers *feeds;        /* and how many partitions they own */
    int32_t partitions;
    struct written_text text; /* valid until done */
    void *context;
    /* Once, perhaps at once. stopping: the gateway ends, and nothing more may be asked or written. */
    void (*done)(void *context, const struct text_facts *facts, bool stopping);
};

void text_check(const struct text_check *check);

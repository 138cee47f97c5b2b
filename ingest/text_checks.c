#include "ingest/text_checks.h"

#include <stdlib.h>

#include "base/mem.h"

/* A text about which both questions are asked at once. */
struct checking {
    struct text_check check;
    struct text_facts facts;
    int left; /* questions */
    bool stopping;
};

static void one_less(struct checking *checking) {
    if (--checking->left) return;
    checking->check.done(checking->check.context, &checking->facts, checking->stopping);
    free(checking);
}

static void mentioned(void *context, const struct mentions *mentions, bool stopping) {
    struct checking *checking = context;
    checking->facts.mentions = *mentions;
    checking->stopping = checking->stopping || stopping;
    one_less(checking);
}

static void filtered(void *context, bool held, bool stopping) {
    struct checking *checking = context;
    checking->facts.held = held;
    checking->stopping = checking->stopping || stopping;
    one_less(checking);
}

void text_check(const struct text_check *check) {
    const struct event_text *text = &check->text.text;
    struct checking *checking = MEM_NEW(&(struct checking){.check = *check, .left = 1});
    char handles[MENTIONS_MAX][HANDLE_SIZE];
    size_t count = mentions_find(text->data, text->size, handles);
    if (count) {
        checking->left++;
        mentions_ask(check->feeds, check->partitions, handles, count, checking, mentioned);
    }
    if (check->filter)
        text_filter_ask(check->filter, &check->text, checking, filtered);
    else
        one_less(checking);
}

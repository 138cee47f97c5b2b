#include "decider/pacing.h"

enum {
    ALLOWED_MIN_MS = 5000, /* bad lines lose packets of its dozen round trips: 2 s were too few */
    ALLOWED_MAX_MS = 60000,
    LATE_SHARE = 2,   /* of what is allowed: one that takes more than half is late */
    FEW_SHARE = 4,    /* of the most commands */
    GROWTH_STEPS = 16 /* so many transactions in time, and the largest are tried again */
};

struct pacing pacing_new(size_t max) {
    return (struct pacing){.max = max, .limit = max, .allowed_ms = ALLOWED_MIN_MS, .producer_ms = ALLOWED_MIN_MS};
}

static void allow_more(struct pacing *pacing) {
    pacing->allowed_ms = pacing->allowed_ms * 2 < ALLOWED_MAX_MS ? pacing->allowed_ms * 2 : ALLOWED_MAX_MS;
}

/* True: it held few of the commands that it might have, and it is not they that take the time. */
static bool had_few(const struct pacing *pacing, size_t commands) { return commands <= pacing->limit / 2; }

static void shrink(struct pacing *pacing, size_t commands) {
    if (!had_few(pacing, commands) && pacing->limit > 1) pacing->limit /= 2;
}

void pacing_committed(struct pacing *pacing, size_t commands, int64_t took_ms) {
    if (took_ms > pacing->allowed_ms / LATE_SHARE) {
        bool few = had_few(pacing, commands);
        shrink(pacing, commands);
        if (few || pacing->limit <= pacing->max / FEW_SHARE) allow_more(pacing);
        return;
    }
    // A small one says nothing about larger ones.
    if (commands >= pacing->limit) {
        size_t step = pacing->max / GROWTH_STEPS + 1;
        pacing->limit = pacing->limit + step < pacing->max ? pacing->limit + step : pacing->max;
    }
    // Readers wait for what a dead producer left open: no longer than needed.
    if (took_ms < pacing->allowed_ms / (4 * LATE_SHARE) && pacing->allowed_ms > ALLOWED_MIN_MS)
        pacing->allowed_ms = pacing->allowed_ms * 7 / 8 > ALLOWED_MIN_MS ? pacing->allowed_ms * 7 / 8 : ALLOWED_MIN_MS;
}

void pacing_failed(struct pacing *pacing, size_t commands, int64_t took_ms) {
    if (took_ms < pacing->allowed_ms / LATE_SHARE) return; // not for want of time
    // Even one command was late: it needs more time, not fewer companions.
    allow_more(pacing);
    shrink(pacing, commands);
}

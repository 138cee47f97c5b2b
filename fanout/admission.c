#include "fanout/admission.h"

enum { SPREAD_MS = 1000 };

void admission_init(struct admission *admission, double rate, int64_t now_ms) {
    *admission = (struct admission){.rate = rate, .tokens = rate, .slot_ms = (double)now_ms, .filled_ms = now_ms};
}

bool admission_take(struct admission *admission, int64_t now_ms) {
    if (admission->rate <= 0) return true;
    admission->tokens += (double)(now_ms - admission->filled_ms) * admission->rate / 1000;
    if (admission->tokens > admission->rate) admission->tokens = admission->rate;
    admission->filled_ms = now_ms;
    if (admission->tokens < 1) return false;
    admission->tokens--;
    return true;
}

int64_t admission_delay(struct admission *admission, int64_t now_ms, int64_t least_ms, uint32_t chance) {
    if (admission->rate <= 0) return least_ms + chance % SPREAD_MS;
    double earliest = (double)(now_ms + least_ms);
    if (admission->slot_ms < earliest || admission->slot_ms > (double)(now_ms + ADMISSION_DELAY_MAX_MS))
        admission->slot_ms = earliest;
    double slot = admission->slot_ms, gap = 1000 / admission->rate;
    admission->slot_ms += gap;
    /* Anywhere in its place, so that those of several edges do not come in step. */
    return (int64_t)(slot + gap * (chance % SPREAD_MS) / SPREAD_MS) - now_ms;
}

#include "ws/flood.h"

static void window_begin(struct flood *flood, uint64_t now_ms) {
    if (now_ms - flood->counted_ms <= FLOOD_WINDOW_MS) return;
    *flood = (struct flood){.counted_ms = now_ms};
}

bool flood_control(struct flood *flood, uint64_t now_ms) {
    window_begin(flood, now_ms);
    return ++flood->controls > FLOOD_CONTROLS_MAX;
}

bool flood_fragment(struct flood *flood, uint64_t now_ms) {
    window_begin(flood, now_ms);
    return ++flood->fragments > FLOOD_FRAGMENTS_MAX;
}

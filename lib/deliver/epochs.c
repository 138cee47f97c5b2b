#include "deliver/epochs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct epochs {
    uint64_t open, settled;
    uint32_t unacknowledged[EPOCHS_MAX]; /* by epoch modulo */
};

struct epochs *epochs_new(void) {
    struct epochs *epochs = MEM_NEW(&(struct epochs){.open = 1, .settled = 1});
    return epochs;
}

void epochs_free(struct epochs *epochs) { free(epochs); }

uint64_t epochs_open(const struct epochs *epochs) { return epochs->open; }
uint64_t epochs_settled(const struct epochs *epochs) { return epochs->settled; }

static void settle(struct epochs *epochs) {
    while (epochs->settled < epochs->open && !epochs->unacknowledged[epochs->settled % EPOCHS_MAX]) epochs->settled++;
}

uint64_t epochs_expect(struct epochs *epochs) {
    epochs->unacknowledged[epochs->open % EPOCHS_MAX]++;
    return epochs->open;
}

void epochs_acknowledge(struct epochs *epochs, uint64_t epoch) {
    if (epoch < epochs->settled) return;
    assert(epoch <= epochs->open && epochs->unacknowledged[epoch % EPOCHS_MAX] > 0);
    epochs->unacknowledged[epoch % EPOCHS_MAX]--;
    settle(epochs);
}

bool epochs_close(struct epochs *epochs) {
    if (epochs->open - epochs->settled + 1 >= EPOCHS_MAX) return false;
    epochs->open++;
    settle(epochs);
    return true;
}

void epochs_forget(struct epochs *epochs) {
    epochs->open++;
    epochs->settled = epochs->open;
    memset(epochs->unacknowledged, 0, sizeof epochs->unacknowledged);
}

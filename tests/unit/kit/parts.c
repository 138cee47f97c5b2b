#include "base/log.h"
#include "base/metrics.h"
#include "deliver/epochs.h"
#include "event/codec.h"
#include "unit/kit/kit.h"

static void end_metrics(void *it) { metrics_free(it); }
static void end_epochs(void *it) { epochs_free(it); }
static void end_codec(void *it) { codec_free(it); }
static void end_log(void *it) { log_free(it); }

struct metrics *kit_metrics(void) {
    struct metrics *metrics = metrics_new();
    kit_after(end_metrics, metrics);
    return metrics;
}

struct epochs *kit_epochs(void) {
    struct epochs *epochs = epochs_new();
    kit_after(end_epochs, epochs);
    return epochs;
}

struct codec *kit_codec(void) {
    struct codec *codec = codec_new();
    kit_after(end_codec, codec);
    return codec;
}

struct log *kit_log(void) {
    struct log *log = log_new(stderr, "test", LOG_ERROR_LEVEL, LOG_LOGFMT);
    kit_after(end_log, log);
    return log;
}

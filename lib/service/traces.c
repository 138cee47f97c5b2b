/* Traces of a daemon: the tracer that its Kafka clients share, and the exporter of its spans. */
#include <stdlib.h>

#include "base/mem.h"
#include "service/internal.h"
#include "service/otlp.h"

enum { SPANS_MAX = 4096 }; /* that wait for the exporter: 0.7 MB */

struct daemon_traces {
    struct handoff *spans;
    struct otlp *otlp;
    struct metrics *metrics;
};

int traces_check(const struct service_settings *settings, struct error *error) {
    return otlp_check(settings->otlp_url, settings->otlp_headers, error);
}

static void collect(void *context) {
    const struct daemon_traces *traces = context;
    struct handoff_counts counts = handoff_read_counts(traces->spans);
    const struct metric_now now[] = {
        {"starling_trace_spans_total", "Spans of traces, dropped ones included.", (double)counts.put},
        {"starling_trace_spans_dropped_total", "Spans that were not exported: the collector is too slow, or away.",
         (double)counts.dropped},
        {"starling_trace_posts_failed_total", "Posts of spans that the collector did not take, each try counted.",
         (double)otlp_posts_failed(traces->otlp)},
    };
    metrics_set(traces->metrics, now, ARRAY_SIZE(now));
}

static struct daemon_traces *export_to(struct service *service) {
    struct daemon_traces *traces = MEM_NEW(&(struct daemon_traces){
        .spans = handoff_new(SPANS_MAX, sizeof(struct trace_span)), .metrics = service->metrics});
    traces->otlp = otlp_new(&(struct otlp_options){
        .url = service->settings.otlp_url,
        .headers = service->settings.otlp_headers,
        .resource = {.service = service->definition->name, .instance = service->client_id, .version = STARLING_VERSION},
        .spans = traces->spans,
    });
    metrics_on_collect(service->metrics, collect, traces);
    return traces;
}

void traces_open(struct service *service) {
    const struct service_settings *settings = &service->settings;
    if (*settings->otlp_url) service->traces = export_to(service);
    service->kafka.tracer = tracer_new(&(struct tracer_options){
        .every = settings->trace_every,
        .max_per_s = settings->trace_max_per_s,
        .spans = service->traces ? service->traces->spans : NULL,
    });
}

void traces_close(struct service *service) {
    struct daemon_traces *traces = service->traces;
    if (traces) {
        otlp_free(traces->otlp);
        handoff_free(traces->spans);
        free(traces);
    }
    tracer_free(service->kafka.tracer);
}

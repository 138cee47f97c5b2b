#include "service/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/field.h"
#include "service/http_client.h"
#include "service/poster.h"

enum { GATHER_MS = 1000 };

struct otlp {
    struct otlp_options options;
    struct poster *poster;
};

/* ---- header fields ---- */

/* Calls `each` for NAME=VALUE,NAME=VALUE. */
static int each_header(const char *headers, int (*each)(void *context, const char *name, const char *value),
                       void *context, struct error *error) {
    char *copy = mem_string(headers), *rest = copy;
    int code = 0;
    for (char *one; !code && (one = strtok_r(rest, ",", &rest));) {
        char *equals = strchr(one, '=');
        if (equals) *equals = '\0';
        one += strspn(one, " ");
        if (!equals || !http_is_token(one, strlen(one)) || !http_is_value(equals + 1, strlen(equals + 1)))
            code =
                error_set(error, -EINVAL, "otlp.headers must be NAME=VALUE,... with the values of HTTP header fields");
        else
            code = each(context, one, equals + 1);
    }
    free(copy);
    return code;
}

static int accept_header(void *context, const char *name, const char *value) { return 0; }

static int add_header(void *context, const char *name, const char *value) {
    poster_add_header(context, name, value);
    return 0;
}

int otlp_check(const char *url, const char *headers, struct error *error) {
    int code = http_check_url("otlp.url", url, error);
    return code ? code : each_header(headers, accept_header, NULL, error);
}

/* ---- beginning and end ---- */

static void write_spans(const void *context, struct buffer *body, const void *spans, size_t count) {
    const struct otlp *otlp = context;
    trace_spans_json(body, &otlp->options.resource, spans, count);
}

struct otlp *otlp_new(const struct otlp_options *options) {
    struct otlp *otlp = MEM_NEW(&(struct otlp){.options = *options});
    otlp->poster = poster_new(&(struct poster_options){
        .url = options->url,
        .items = options->spans,
        .gather_ms = options->gather_ms ? options->gather_ms : GATHER_MS,
        .pause_ms = options->pause_ms,
        .context = otlp,
        .write = write_spans,
    });
    each_header(options->headers, add_header, otlp->poster, NULL);
    poster_start(otlp->poster);
    return otlp;
}

void otlp_free(struct otlp *otlp) {
    if (!otlp) return;
    poster_free(otlp->poster);
    free(otlp);
}

uint64_t otlp_posts_failed(struct otlp *otlp) { return poster_failed(otlp->poster); }

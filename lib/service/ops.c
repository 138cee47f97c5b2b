#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "budget/network.h"
#include "json/json.h"
#include "service/http_host.h"
#include "service/internal.h"
#include "service/listen.h"

/* Each gateway and edge keeps some connections open, and more under load. */
enum { PEER_CONNECTIONS_MAX = 8192, OPS_CONNECTIONS_MAX = 64, OPS_TIME_S = 5 /* for a head, and for a body */ };

static double seconds(const struct timeval *time) { return (double)time->tv_sec + (double)time->tv_usec / 1e6; }

/* /proc/self/statm: pages of virtual memory, then resident ones. */
static void collect_memory(struct metrics *metrics) {
    char line[128], *end;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fgets(line, sizeof line, file)) {
        double page = (double)sysconf(_SC_PAGESIZE), size = strtod(line, &end) * page;
        const struct metric_now now[] = {
            {"process_virtual_memory_bytes", "Virtual memory.", size},
            {"process_resident_memory_bytes", "Resident memory.", strtod(end, NULL) * page}};
        metrics_set(metrics, now, ARRAY_SIZE(now));
    }
    if (file) fclose(file);
}

static double count_descriptors(void) {
    int count = -1; // the one that reads the directory
    DIR *directory = opendir("/proc/self/fd");
    for (const struct dirent *entry; directory && (entry = readdir(directory));) count += entry->d_name[0] != '.';
    if (!directory) return NAN; // not known
    closedir(directory);
    return count;
}

static void collect(void *metrics) {
    struct rlimit limit = {.rlim_cur = 0};
    struct rusage usage;
    getrlimit(RLIMIT_NOFILE, &limit);
    getrusage(RUSAGE_SELF, &usage);
    const struct metric_now now[] = {
        {"process_cpu_seconds_total", "CPU time of this process, user and system.",
         seconds(&usage.ru_utime) + seconds(&usage.ru_stime)},
        {"process_open_fds", "Open file descriptors.", count_descriptors()},
        {"process_max_fds", "File descriptors that may be open.", (double)limit.rlim_cur},
    };
    metrics_set(metrics, now, ARRAY_SIZE(now));
    collect_memory(metrics);
}

static void process_metrics_start(struct metrics *metrics, const char *name) {
    char *labels = mem_format("daemon=\"%s\",version=\"%s\"", name, STARLING_VERSION);
    metrics_gauge(metrics, "starling_build_info", "Always 1; what runs here is in the labels.", labels)->value = 1;
    free(labels);
    metrics_gauge(metrics, "process_start_time_seconds", "When this process started, seconds since the Unix epoch.",
                  NULL)
        ->value = (double)clock_wall_ms() / 1000;
    metrics_on_collect(metrics, collect, metrics);
}

static bool all_ready(const struct service *service) {
    bool ready = !service->draining;
    for (size_t i = 0; i < service->condition_count; i++) ready &= service->conditions[i].ready;
    return ready;
}

/* The state as a service manager shows it: "ready", or "waiting for kafka, warm". */
static void tell_manager(const struct service *service) {
    struct buffer lines = {.size = 0};
    bool ready = all_ready(service);
    buffer_string(&lines, ready ? "READY=1\nSTATUS=ready" : "STATUS=waiting for");
    const char *before = " ";
    for (size_t i = 0; !ready && i < service->condition_count; i++) {
        if (service->conditions[i].ready) continue;
        buffer_format(&lines, "%s%s", before, service->conditions[i].name);
        before = ", ";
    }
    notify_tell(service->notify, buffer_cstring(&lines));
    buffer_free(&lines);
}

static void condition_make(struct service *service, const char *name) {
    char *labels = mem_format("condition=\"%s\"", name);
    service->conditions[service->condition_count++] = (struct condition){
        .name = name,
        .gauge = metrics_gauge(service->metrics, "starling_ready",
                               "1 while the condition holds; the process is ready when all do.", labels),
    };
    free(labels);
}

void service_make_conditions(struct service *service) {
    const char *const *names = service->definition->conditions;
    size_t count = 1;
    for (size_t i = 0; names && names[i]; i++) count++;
    service->conditions = mem_zero(count, sizeof *service->conditions);
    condition_make(service, "kafka");
    for (size_t i = 0; i + 1 < count; i++) condition_make(service, names[i]);
    tell_manager(service);
}

static void tell_readiness(struct service *service, const char *condition) {
    bool ready = all_ready(service);
    if (ready == service->was_ready) return;
    service->was_ready = ready;
    if (ready)
        log_info(service->log, "ready");
    else
        log_info(service->log, "not ready", LOG_TEXT("condition", condition));
}

void service_ready(struct service *service, const char *condition, bool ready) {
    for (size_t i = 0; i < service->condition_count; i++) {
        struct condition *found = &service->conditions[i];
        if (strcmp(found->name, condition)) continue;
        bool changed = found->ready != ready;
        found->ready = ready;
        found->gauge->value = ready;
        if (changed && !service->draining) tell_manager(service);
        tell_readiness(service, condition);
        return;
    }
    assert(!"a condition that the definition does not name");
}

static void reply_text(struct http_request *request, unsigned status, const char *type, const char *text, size_t size) {
    static const struct http_field FIELDS[] = {{"Cache-Control", "no-store"}};
    http_reply(request, status, type, text, size, FIELDS, 1);
}

static void reply_metrics(struct service *service, struct http_request *request) {
    struct buffer text = {.size = 0};
    metrics_render(service->metrics, &text);
    reply_text(request, 200, "text/plain; version=0.0.4; charset=utf-8", (const char *)text.data, text.size);
    buffer_free(&text);
}

static void put_name(void *context, const char *what) {
    struct buffer *body = context;
    if (body->data[body->size - 1] != '[') buffer_byte(body, ',');
    json_put_text(body, what, strlen(what));
}

/* {"ready":false,"draining":false,"conditions":{"kafka":true,"warm":false},"cannot_serve":["friends"]} */
static void reply_readiness(struct service *service, struct http_request *request) {
    struct buffer body = {.size = 0};
    bool ready = all_ready(service);
    buffer_format(&body, "{\"ready\":%s,\"draining\":%s,\"conditions\":{", ready ? "true" : "false",
                  service->draining ? "true" : "false");
    for (size_t i = 0; i < service->condition_count; i++) {
        const struct condition *condition = &service->conditions[i];
        buffer_string(&body, i ? "," : "");
        json_put_text(&body, condition->name, strlen(condition->name));
        buffer_string(&body, condition->ready ? ":true" : ":false");
    }
    buffer_byte(&body, '}');
    if (service->definition->cannot_serve) {
        buffer_string(&body, ",\"cannot_serve\":[");
        // One that starts has other questions to Kafka, which must not wait behind these.
        if (ready && service->state) service->definition->cannot_serve(service->state, put_name, &body);
        buffer_byte(&body, ']');
    }
    buffer_string(&body, "}\n");
    http_reply_json_free(request, ready ? 200 : 503, &body);
}

/* In a time that does not tell how much of it is right. */
static bool token_equals(const char *wanted, const char *given, size_t size) {
    size_t length = strlen(wanted);
    unsigned char difference = length != size;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)wanted[i] ^ (unsigned char)(i < size ? given[i] : 0);
    return difference == 0;
}

/* Answers, and says so in the log. code: a literal. */
static void refuse(struct service *service, struct http_request *request, unsigned status, const char *code,
                   const char *detail) {
    service_refused(service, code, network_of_address(http_origin_network(request, NULL)));
    http_problem(request, status, code, detail, 0);
}

static bool bears_peer_token(const struct service *service, const struct http_request *request) {
    size_t size = 0;
    const char *token = http_bearer(request, &size), *wanted = service->settings.peer_token;
    return *wanted && token && token_equals(wanted, token, size);
}

/* The client names this process as itself, not by a stranger's name that was made to resolve to this machine. */
static bool is_meant(const struct service *service, const struct http_request *request) {
    const char *host = http_header(request, "Host");
    struct address listens = {.host = ""}, advertised = {.host = ""};
    char machine[256] = "";
    address_parse(service->settings.ops_listen, &listens, NULL);
    if (*service->settings.peer_advertise) address_parse(service->settings.peer_advertise, &advertised, NULL);
    gethostname(machine, sizeof machine - 1);
    return !host || http_host_is_ours(host, (const char *const[]){listens.host, advertised.host, machine}, 3);
}

static bool refuse_misdirected(struct service *service, struct http_request *request) {
    if (is_meant(service, request)) return false;
    refuse(service, request, 421, "misdirected", "Host is neither an address nor a name of this process");
    return true;
}

/* Everybody who reaches the port may read, but whoever ends a process has the daemons' secret, and is no page in a browser. */
static void reply_drain(struct service *service, struct http_request *request) {
    static const char TEXT[] = "{\"draining\":true}\n";
    if (http_header(request, "Origin")) {
        refuse(service, request, 403, "forbidden", "pages may not drain a process");
        return;
    }
    if (!bears_peer_token(service, request)) {
        refuse(service, request, 401, "unauthorized",
               *service->settings.peer_token ? "the peer token is missing or wrong"
                                             : "peer.token must be set, and sent");
        return;
    }
    reply_text(request, 202, "application/json", TEXT, sizeof TEXT - 1);
    service_drain(service, "POST /drain");
}

static void reply_health(struct service *service, struct http_request *request) {
    reply_text(request, 200, "text/plain; charset=utf-8", "ok\n", 3);
}

static void handle_ops(void *context, struct http_request *request) {
    static const struct {
        const char *path;
        bool post;
        void (*reply)(struct service *service, struct http_request *request);
    } PAGES[] = {
        {"/metrics", false, reply_metrics},
        {"/healthz", false, reply_health},
        {"/readyz", false, reply_readiness},
        {"/drain", true, reply_drain},
    };
    const char *method = http_method(request);
    if (refuse_misdirected(context, request)) return;
    for (size_t i = 0; i < ARRAY_SIZE(PAGES); i++) {
        if (strcmp(http_path(request), PAGES[i].path)) continue;
        if (PAGES[i].post ? !strcmp(method, "POST") : !strcmp(method, "GET") || !strcmp(method, "HEAD"))
            PAGES[i].reply(context, request);
        else
            http_bad_method(request, PAGES[i].post ? "POST" : "GET, HEAD");
        return;
    }
    http_problem(request, 404, "no_such_path", "there are /metrics, /healthz, /readyz and POST /drain", 0);
}

/* Before the body of a stranger is read. */
static void admit_peer(void *context, struct http_request *request) {
    struct service *service = context;
    if (refuse_misdirected(service, request)) return;
    if (!bears_peer_token(service, request))
        refuse(service, request, 401, "unauthorized", "the peer token is missing or wrong");
}

static void handle_peer(void *context, struct http_request *request) {
    struct service *service = context;
    if (!service->definition->peer)
        http_problem(request, 404, "no_such_path", "this daemon answers no peers", 0);
    else if (!service->state)
        http_problem(request, 503, "starting", "this process has not started yet", 1);
    else
        service->definition->peer(service->state, request);
}

int service_open_ops(struct service *service, struct error *error) {
    process_metrics_start(service->metrics, service->definition->name);
    int code = http_server_new(
        &(struct http_server_options){
            .loop = &service->loop,
            .listen = service->settings.ops_listen,
            .max_connections = OPS_CONNECTIONS_MAX,
            .times = {.head_s = OPS_TIME_S, .body_s = OPS_TIME_S},
            .context = service,
            .handle = handle_ops,
        },
        &service->ops, error);
    return code ? error_prefix(error, code, "ops.listen") : 0;
}

int service_open_peers(struct service *service, struct error *error) {
    if (!*service->settings.peer_listen) return 0;
    int code = http_server_new(
        &(struct http_server_options){
            .loop = &service->loop,
            .listen = service->settings.peer_listen,
            .max_connections = PEER_CONNECTIONS_MAX,
            .context = service,
            .admit = admit_peer,
            .handle = handle_peer,
        },
        &service->peers, error);
    return code ? error_prefix(error, code, "peer.listen") : 0;
}

void service_tell_shared(const struct service *service, const char *setting, const char *listen) {
    if (!listen_is_taken(listen)) return;
    log_warn(service->log, "another process listens there too; the connections are shared out among them",
             LOG_TEXT("setting", setting), LOG_TEXT("address", listen));
}

void service_close_http(struct service *service) {
    http_server_free(service->peers);
    http_server_free(service->ops);
    service->peers = service->ops = NULL;
}

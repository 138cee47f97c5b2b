/* The skeleton of a daemon: command line, configuration, log, metrics, loop, ops and peer HTTP, readiness, signals, drain.
 *
 * A daemon's main is `return service_main(argc, argv, &ROUTER);`. service_main
 *   1. reads configuration (common section + the daemon's), prints --help, --version, or refuses with file:line (exit code 2);
 *      with --check it ends here: exit code 0, or 1 and the reason;
 *   2. serves ops HTTP at once: /metrics, /healthz (200 while the loop turns), /readyz (200 when every condition holds, else
 *      503 naming those that do not; also what it cannot serve), POST /drain (with the peer token);
 *   3. waits for the broker and the topics (says so, once a state), refuses wrong partition counts (exit 1); afterwards it keeps
 *      the condition "kafka" by asking every few seconds, and fails when the partition counts have changed;
 *   4. calls start; the daemon marks its conditions by service_ready; the first time that all hold, a service manager that asked for
 *      it is told READY=1 (service/notify.h);
 *   5. on SIGHUP: reads keys of tokens again and calls reload;
 *   6. on SIGTERM, SIGINT or POST /drain: not ready, calls drain once; the daemon calls service_finished when it is done;
 *      a second signal ends the process at once (exit 1), unless it comes within SERVICE_SIGNAL_PAUSE_MS: `timeout` sends two;
 *   7. waits until the daemon is not busy, calls free, closes everything, returns the exit code.
 * Loop's thread throughout.
 */
#pragma once

#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "kafka/admin.h"
#include "kafka/settings.h"
#include "service/auth.h"
#include "service/http.h"

enum { SERVICE_SIGNAL_PAUSE_MS = 300 };

enum service_user_ids { SERVICE_IDS_NUMBERS, SERVICE_IDS_DIRECTORY };
enum service_clock { SERVICE_CLOCK_WALL, SERVICE_CLOCK_STREAM };

struct service_settings { /* the section common to all daemons */
    const char *kafka_bootstrap, *topics_prefix;
    const char *ops_listen, *peer_listen, *peer_token; /* peer_listen "" : none */
    const char *peer_advertise;                        /* "": follows from peer_listen */
    int log_level, log_format;
    const char *auth_hs256_key_file, *auth_rs256_public_key_file, *auth_jwks_file, *auth_jwks_url;
    const char *auth_audience, *auth_audience_claim, *auth_issuer, *auth_user_claim;
    int auth_user_ids;       /* enum service_user_ids */
    int64_t auth_max_life_s; /* 0: tokens may live for any time */
    const char *data_dir;
    const char *client_id_suffix;
    const char *group_instance_id; /* group.instance.id; "" : dynamic membership */
    int clock;                     /* enum service_clock */
    double radius_m;
    int64_t inactive_after_s;
    int64_t report_past_days; /* 0: reports may be of any age */
    int64_t trace_every, trace_max_per_s;
    const char *otlp_url, *otlp_headers; /* otlp_url "": spans are not exported */
};

struct service;

/* Takes the name of something, such as "friends". */
typedef void service_namer(void *context, const char *what);

struct service_definition {
    const char *name;                                  /* "starling-router" */
    const char *ops_listen, *peer_listen;              /* defaults; peer_listen NULL: serves no peers */
    const struct config_section *section;              /* the daemon's own; NULL: none */
    const struct config_section *const *more_sections; /* NULL-terminated: its products'; NULL: none */
    const struct topic_uses
        *uses; /* the topics that it needs, and what for: it starts when they are there. NULL: none */
    const char *const *conditions; /* NULL-terminated names that must be marked ready, besides "kafka" */

    /* Checks that the daemon could start with this configuration, as far as can be told without Kafka. NULL: it always could. */
    int (*check)(const struct service_settings *settings, struct error *error);
    /* The topics are there. Makes the daemon's state. */
    int (*start)(struct service *service, const struct topics_shape *shape, void **state, struct error *error);
    void (*reload)(void *state); /* SIGHUP: reads files (keys, certificates) again. NULL: there are none */
    void (*drain)(void *state);  /* orderly end begins; service_finished ends it */
    /* Worker threads are still at it. Asked again and again when all else is over, a failure while draining included:
     * nothing that takes worker threads is begun any more, and free comes when they are back. NULL: it has no worker threads. */
    bool (*busy)(void *state);
    void (*free)(void *state); /* NULL and half-built are fine */
    /* Names, for "cannot_serve" in /readyz, what the daemon cannot serve now although it is ready. NULL: there is nothing of the kind. */
    void (*cannot_serve)(void *state, service_namer *name, void *context);
    /* A peer's request (the token was checked). NULL: 404 for all. Before start they are answered 503 without it. */
    void (*peer)(void *state, struct http_request *request);
};

int service_main(int argc, char **argv, const struct service_definition *definition);

const struct service_settings *service_settings(const struct service *service);
const struct kafka_settings *service_kafka(const struct service *service); /* client_id = name@peer address */
uv_loop_t *service_loop(const struct service *service);
struct log *service_log(const struct service *service);
struct metrics *service_metrics(const struct service *service);
bool service_draining(const struct service *service);

/* How tokens are checked, by the common settings; the keys are read again when they change. Once; owned by the service. */
int service_auth(struct service *service, struct auth **auth, struct error *error);

/* A caller was refused: says so in the log, a line a minute for each reason and network (budget/network.h; 0: not known), and counts it.
 * reason: a literal. */
void service_refused(struct service *service, const char *reason, uint64_t network);

/* condition: one that the definition names. */
void service_ready(struct service *service, const char *condition, bool ready);
void service_finished(struct service *service);
/* A failure after start that the process cannot live with: logs it, drains, exit code 1. */
void service_fail(struct service *service, const char *reason);

/* Says in the log that other processes listen there too. Gateways and edges may share a port on purpose; it is also what an operator
 * sees who has started two by mistake. Before the daemon itself listens. */
void service_tell_shared(const struct service *service, const char *setting, const char *listen);

/* The common section; definition NULL: without the defaults that each daemon has its own of. Give it back. */
struct config_section service_section(const struct service_definition *definition, struct service_settings *values);
void service_section_free(struct config_section *section);

/* Things that the files of the daemon skeleton share: service.c (life cycle), settings.c (command line and configuration),
 * broker.c (Kafka's presence) and ops.c (ops and peer HTTP, readiness, the process's own metrics). */
#pragma once

#include "service/notify.h"
#include "service/service.h"

struct condition {
    const char *name;
    bool ready;
    struct metric *gauge;
};

struct broker;
struct daemon_traces;

struct service {
    const struct service_definition *definition;
    struct service_settings settings;
    struct config_section common;
    struct config *config; // owns the strings of settings
    struct log *log;
    struct metrics *metrics;
    uv_loop_t loop;
    uv_signal_t signals[3];
    struct kafka_settings kafka;
    char *client_id;
    struct topic_list topics; // of definition->uses
    struct denials *denials;
    struct http_server *ops, *peers; // peers: NULL without peer.listen
    struct broker *broker;
    unsigned unacknowledged;      /* producers whose records are not acknowledged any more */
    struct daemon_traces *traces; // NULL: spans are not exported
    struct auth *auth;            // NULL until the daemon asks for it
    struct loop_timer *auth_timer;
    struct jwks_fetch *jwks_fetch; // NULL: no auth.jwks.url
    struct metric *auth_keys, *auth_failures, *auth_refused, *auth_fetched;
    struct condition *conditions; // the first one is "kafka"
    size_t condition_count;
    bool was_ready; // what was last logged
    struct notify *notify;
    void *state; // the daemon's; NULL before start
    bool checks; // --check: only the configuration is wanted
    bool started, draining, finished;
    uint64_t signalled_ms; // uv_now of the first signal to end; 0: none
    int exit_code;
};

/* settings.c. Fills config, settings and common. 0: go on; 1: done (--help, --version, --check); negative: refused, and said why. */
int service_configure(struct service *service, int argc, char **argv);

/* ops.c. The servers listen as soon as they are made; a peer's request before start is answered 503. */
int service_open_ops(struct service *service, struct error *error);
int service_open_peers(struct service *service, struct error *error);
void service_close_http(struct service *service);
void service_make_conditions(struct service *service); /* and tells the service manager what it waits for */

/* traces.c. The tracer of all Kafka clients, and the exporter of its spans. */
int traces_check(const struct service_settings *settings, struct error *error);
void traces_open(struct service *service);
void traces_close(struct service *service); /* after the daemon is freed */

/* service.c */
void service_begin(struct service *service,
                   const struct topics_shape *shape); /* the topics are there: start the daemon; shape is lent until
                                                         broker_free */
void service_drain(struct service *service, const char *cause);

/* keys.c */
int keys_check(const struct service_settings *settings, struct error *error); /* that those that are set can be used */
void keys_refresh(
    struct service *service); /* reads them again if they have changed; says so, or why they cannot be used */
void keys_free(struct service *service);

/* broker.c. Asks for the topics until they are there, calls service_begin then, and keeps the condition "kafka": the
 * topics are there, and what is written is acknowledged. */
int broker_new(struct service *service, struct broker **broker, struct error *error);
void broker_writes(void *context, const char *reason); /* kafka_settings.on_writes of the service */
void broker_free(struct broker *broker); /* NULL is fine; a question under way ends in the background, on the loop */

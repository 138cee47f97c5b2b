/* The inside of the gateway, shared by this folder's files. Everything: the loop's thread.
 *
 *     gateway.c    made and drained; who may call what     locations.c  POST /v1/locations
 *     write.c      an answer that waits for Kafka          users.c      profiles
 *     friends.c    friend commands and lists               history.c    GET /v1/history
 *     sharing.c    sharing, which is read back before the answer
 */
#ifndef INGEST_GATEWAY_H
#define INGEST_GATEWAY_H

#include "copies/copies.h"
#include "ingest/settings.h"
#include "json/json.h"
#include "kafka/producer.h"
#include "service/peers.h"
#include "service/service.h"

struct gateway {
    struct service *service;
    struct ingest_settings settings;
    struct auth *auth;
    struct kafka_producer *producer;
    struct copies *copies;
    struct peers *routers, *sinks;
    struct http_server *server;
    struct sharing_answer *sharing_answers;
    struct loop_timer *second, *drain_timer;
    int drain_ticks;
    struct buffer record; /* scratch for encoding */
    struct metrics *metrics;
    struct metric *reports, *refused, *commands;
};

/* A request with who sent it. parameter: the {user} in the path, -1 if there is none. */
struct call {
    struct gateway *gateway;
    struct http_request *request;
    struct auth_claims claims;
    int64_t parameter;
};

/* write.c: several records whose acknowledgements one answer waits for. When all are known, done is called with the
 * last one's partition and offset: code 0, or the first failure; it answers the request. Freed after done. */
struct write;
struct write *write_new(struct gateway *gateway, struct http_request *request, void *context,
                        void (*done)(struct gateway *gateway, struct http_request *request, void *context, int code,
                                     int32_t partition, int64_t offset));
/* The record that was encoded into gateway->record. */
void write_send(struct write *write, const struct topic *topic, int64_t key_user);
void write_end(struct write *write); /* no more records follow; done may be called inside */
void write_delivered(void *gateway, void *opaque, int code, const struct topic *topic, int32_t partition,
                     int64_t offset); /* the producer's callback */
/* The problem for a failed write: 503 with Retry-After, or 500. */
void write_problem(struct http_request *request, int code);

/* sharing.c: the copy has read a change; once a second; no more will be read. */
void sharing_noticed(void *gateway, int64_t user, enum sharing_mode mode, int64_t offset);
void sharing_second(void *gateway);
void sharing_give_up(struct gateway *gateway);

/* Parses the body as a JSON object; NULL: the problem was sent. Free with json_decref. */
json_t *call_body(const struct call *call);
/* The calling user; -1: the problem was sent, because the token names no user. */
int64_t call_user(const struct call *call);
/* An answer that came from a peer, passed on. */
void call_pass_on(struct http_request *request, int code, unsigned status, const char *reply, size_t size);
/* An integer of the query string, *value unchanged if absent. false: the problem was sent. */
bool call_query_int(const struct call *call, const char *name, int64_t *value);

typedef void endpoint(const struct call *call);
endpoint post_locations, get_profile, put_profile, get_profile_of, get_sharing, put_sharing, get_friends, put_friend,
    delete_friend, put_block, delete_block, post_friendship, get_history;

#endif

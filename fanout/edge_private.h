/* Shared by edge.c (the daemon) and edge_parts.c (makes its parts); phones, door and deliveries look at it. */
#pragma once

#include "fanout/deliveries.h"
#include "fanout/door.h"
#include "fanout/phones.h"
#include "fanout/routes.h"
#include "fanout/screens.h"
#include "fanout/sessions.h"
#include "service/auth.h"
#include "users/sign_ins.h"
#include "users/user_copies.h"

/* How far the server is in its end. */
enum closing { OPEN, CLOSING, CLOSED };

struct edge {
    struct service *service;
    struct fanout_settings settings;
    struct topics_shape shape;
    struct auth *auth;
    struct sign_ins *sign_ins; /* NULL: user ids are numbers */
    struct user_copies *copies;
    struct kafka_producer *producer;
    struct kafka_consumer *consumer;
    enum closing closing;
    struct protocol_clock clock;
    struct screen_set screens;
    struct sessions *sessions;
    struct routes *routes;
    struct door *door;
    struct phone_server *phones;
    struct deliveries *deliveries;
    bool draining;
    struct loop_timer *drain; /* NULL: not begun, or over */
    int64_t drain_began_ms;   /* clock_coarse_ms */
    size_t drain_sessions, drain_told;
    struct loop_timer *tick;
};

/* Makes all parts and connects them; phones may come then. When it fails, edge_free_parts frees those that are there. */
int edge_make_parts(struct edge *edge, struct error *error);
void edge_free_parts(struct edge *edge);

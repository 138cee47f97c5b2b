/* A places process, as its parts see it. Loop's thread. */
#pragma once

#include "base/loop.h"
#include "owner/checkpoints.h"
#include "owner/settings.h"
#include "places/answers.h"
#include "places/places.h"
#include "places/settings.h"

struct places {
    struct service *service;
    const struct places_settings *settings;
    const struct owner_settings *owning;
    int32_t partitions;
    struct epochs *epochs; /* the owner's */
    struct checkpoints *checkpoints;
    struct place_stores *stores;
    struct kafka_producer *dead_letters;
    struct deciding_places *deciding;
    struct tasks *tasks;
    struct place_answers *answers;
    struct loop_timer *second, *tenth;
    bool started; /* the stores are open, and all parts are made */
    bool draining;
};

/* topology.c */
enum { PLACES_ROWS, PLACES_STATES, PLACES_EVENTS, PLACES_STORES }; /* the order of the topology's stores */
extern const struct tasks_product PLACES_TOPOLOGY;
void places_failed(void *places, const char *doing, const struct error *error);

/* An invented city: people with homes, work, errands and friends nearby. The same seed gives the same people. Pure; user ids are 1 to
 * count. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "geo/geo.h"

struct city;

struct city *city_new(int64_t people, uint64_t seed); /* around 52.52 N, 13.405 E */
void city_free(struct city *city);

int64_t city_people(const struct city *city);
const char *city_name(const struct city *city, int64_t user);

/* The friendships, each once: calls pair for each; stops at the first that returns not 0, and returns it. */
int city_friends(const struct city *city, int (*pair)(void *context, int64_t a, int64_t b), void *context);

/* The user's place at a time (ms of the day or since the epoch, as long as it rises): moves at walking and driving pace along
 * streets (tools/load/streets.h), between places of their own. The same time gives the same place. */
struct geo_point city_place(const struct city *city, int64_t user, int64_t time_ms);

#include "service/http_places.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum { SIZES = 33, NO_SIZE = -1 };

/* A network is in a list for each queue in which it has connections; the list is of networks of about its size. */
struct http_network {
    uint64_t key;
    unsigned count; /* in queues, and in none */
    struct {
        struct http_place *first, *last;
        int size; /* whose list it is in; NO_SIZE: in none */
        struct http_network *previous, *next;
    } queues[HTTP_QUEUES];
};

struct http_places {
    struct map *networks;
    struct http_network *sizes[HTTP_QUEUES][SIZES];
};

struct http_places *http_places_new(void) {
    struct http_places *places = mem_zero(1, sizeof *places);
    places->networks = map_new();
    return places;
}

void http_places_free(struct http_places *places) {
    if (!places) return;
    map_free(places->networks);
    free(places);
}

static void unlist(struct http_places *places, struct http_network *network, int queue) {
    struct http_network *next = network->queues[queue].next, *previous = network->queues[queue].previous;
    if (network->queues[queue].size == NO_SIZE) return;
    if (next) next->queues[queue].previous = previous;
    if (previous)
        previous->queues[queue].next = next;
    else
        places->sizes[queue][network->queues[queue].size] = next;
    network->queues[queue].size = NO_SIZE;
}

/* Puts the network into the list where it belongs now. */
static void list(struct http_places *places, struct http_network *network, int queue) {
    int size = network->queues[queue].first ? 32 - __builtin_clz(network->count) : NO_SIZE;
    if (size == network->queues[queue].size) return;
    unlist(places, network, queue);
    if (size == NO_SIZE) return;
    struct http_network *first = places->sizes[queue][size];
    network->queues[queue].size = size;
    network->queues[queue].previous = NULL;
    network->queues[queue].next = first;
    if (first) first->queues[queue].previous = network;
    places->sizes[queue][size] = network;
}

void http_place_take(struct http_places *places, struct http_place *place, uint64_t key) {
    struct http_network *network = map_pointer(places->networks, key);
    if (!network) {
        network = MEM_NEW(&(struct http_network){.key = key, .queues = {{.size = NO_SIZE}, {.size = NO_SIZE}}});
        *map_put(places->networks, key, NULL) = (uintptr_t)network;
    }
    network->count++;
    *place = (struct http_place){.network = network, .queue = HTTP_QUEUE_NONE};
    for (int queue = 0; queue < HTTP_QUEUES; queue++) list(places, network, queue);
}

static void take_out(struct http_place *place) {
    struct http_network *network = place->network;
    if (place->queue == HTTP_QUEUE_NONE) return;
    if (place->next)
        place->next->previous = place->previous;
    else
        network->queues[place->queue].last = place->previous;
    if (place->previous)
        place->previous->next = place->next;
    else
        network->queues[place->queue].first = place->next;
}

void http_place_move(struct http_places *places, struct http_place *place, enum http_queue queue) {
    struct http_network *network = place->network;
    enum http_queue before = place->queue;
    take_out(place);
    place->queue = queue;
    if (queue != HTTP_QUEUE_NONE) {
        place->next = NULL;
        place->previous = network->queues[queue].last;
        *(place->previous ? &place->previous->next : &network->queues[queue].first) = place;
        network->queues[queue].last = place;
        list(places, network, (int)queue);
    }
    if (before != queue && before != HTTP_QUEUE_NONE) list(places, network, (int)before);
}

void http_place_leave(struct http_places *places, struct http_place *place) {
    struct http_network *network = place->network;
    take_out(place);
    network->count--;
    for (int queue = 0; queue < HTTP_QUEUES; queue++) list(places, network, queue);
    if (network->count) return;
    map_remove(places->networks, network->key, NULL);
    free(network);
}

uint64_t http_place_network(const struct http_place *place) { return place->network->key; }

struct http_place *http_places_first(const struct http_places *places) {
    for (int queue = 0; queue < HTTP_QUEUES; queue++)
        for (int size = SIZES - 1; size >= 0; size--)
            if (places->sizes[queue][size]) return places->sizes[queue][size]->queues[queue].first;
    return NULL;
}

struct http_place *http_places_first_of(const struct http_places *places, uint64_t key) {
    const struct http_network *network = map_pointer(places->networks, key);
    if (!network) return NULL;
    return network->queues[HTTP_QUEUE_IDLE].first ? network->queues[HTTP_QUEUE_IDLE].first
                                                  : network->queues[HTTP_QUEUE_COMING].first;
}

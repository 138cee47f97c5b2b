/* The documents' design on Redis: a peer of `./dev bench router`.
 *
 *     bench-redis SOCKET SEED PRESENT REPORTERS HANDLERS ROUNDS SERVER-PID
 *
 * Every user has a Pub/Sub channel. A handler (as many as the router has routes, with the same users on each) has one
 * connection that is subscribed to the channels of its users' friends, once each however many of its users follow it, and
 * one to publish on; both are pipelined. A report is published by its user's handler; each handler that hears it finds its
 * users who follow, and computes who is near: then it knows what to show. All handlers live in this one process, behind one
 * epoll, which serves them better than 64 processes would be served: reads are larger and caches shared. Ids and positions are
 * binary. Friends who are absent are not subscribed for: nobody publishes there. Reports are in memory before the clock starts.
 *
 * Prints CPU seconds of Redis and of this process for the reports alone, and how many followers were near.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/map.h"
#include "base/mem.h"
#include "bench/peers/redis/redis.h"
#include "bench/router_world.h"
#include "geo/geo.h"

enum { UNDER_WAY = 20000, SUBSCRIBE_AT_ONCE = 1000, EVENTS = 64, NAME = 8, SAYS = 16 };

struct follower {
    int32_t number; /* of those present */
};

struct handler {
    redisContext *listening, *publishing;
    struct map *channels;       /* reporter id -> its followers here: first << 16 | count */
    struct follower *followers; /* channel by channel */
    size_t count, capacity;
};

struct report {
    uint8_t name[NAME], says[SAYS];
    int32_t handler, number;
};

struct peer {
    struct world world;
    struct handler *handlers;
    struct geo_point *positions; /* by number of those present: each handler's own users' */
    struct report *reports;
    size_t report_count;
    uint64_t heard, near, answered;
    size_t subscribed;
};

static void follow(struct handler *handler, int64_t reporter, int32_t number) {
    if (handler->count == handler->capacity) {
        handler->capacity = handler->capacity ? handler->capacity * 2 : 1024;
        handler->followers = mem_resize(handler->followers, handler->capacity, sizeof *handler->followers);
    }
    uint64_t *place = map_put(handler->channels, (uint64_t)reporter, NULL);
    if (!*place) *place = (uint64_t)handler->count << 16; // reporter by reporter, so that its followers lie in a row
    ++*place;
    handler->followers[handler->count++] = (struct follower){.number = number};
}

static void make_followers(struct peer *peer) {
    const struct world *world = &peer->world;
    for (int64_t i = 0; i < world->reporters; i++) {
        int64_t index = world_reporter_index(world, i), first = index / WORLD_NEIGHBOURS * WORLD_NEIGHBOURS;
        for (int64_t other = first; other < first + WORLD_NEIGHBOURS; other += WORLD_PRESENT_ONE_IN) {
            if (other == index || other >= world->present * WORLD_PRESENT_ONE_IN) continue;
            if (world_friends(world, index, other))
                follow(&peer->handlers[world_route(world, world_id(other))], world_id(index),
                       (int32_t)(other / WORLD_PRESENT_ONE_IN));
        }
    }
    for (int64_t i = 0; i < world->present; i++) {
        struct location event = world_location(world, world_present_index(i), -1);
        peer->positions[i] = (struct geo_point){event.lat, event.lng};
    }
}

static void make_reports(struct peer *peer, int64_t rounds) {
    const struct world *world = &peer->world;
    peer->report_count = (size_t)(rounds * world->reporters);
    peer->reports = mem_alloc(peer->report_count * sizeof *peer->reports);
    for (size_t i = 0; i < peer->report_count; i++) {
        int64_t round = (int64_t)i / world->reporters, turn = (int64_t)i % world->reporters;
        int64_t index = world_reporter_index(world, world_speaker(world, round, turn));
        struct location event = world_location(world, index, round);
        struct report *report = &peer->reports[i];
        memcpy(report->name, &event.user, NAME);
        memcpy(report->says, &event.lat, 4);
        memcpy(report->says + 4, &event.lng, 4);
        memcpy(report->says + 8, &event.time, 8);
        report->handler = event.route;
        report->number = (int32_t)(index / WORLD_PRESENT_ONE_IN);
    }
}

static void subscribe(struct peer *peer, struct handler *handler) {
    uint8_t(*names)[NAME] = mem_alloc(SUBSCRIBE_AT_ONCE * sizeof *names);
    const char *words[SUBSCRIBE_AT_ONCE + 1] = {"SUBSCRIBE"};
    size_t sizes[SUBSCRIBE_AT_ONCE + 1] = {9}, cursor = 0;
    uint64_t user, value;
    bool more = true;
    while (more) {
        int count = 0;
        while (count < SUBSCRIBE_AT_ONCE && (more = map_next(handler->channels, &cursor, &user, &value))) {
            memcpy(names[count], &user, NAME);
            words[count + 1] = (const char *)names[count];
            sizes[++count] = NAME;
        }
        if (!count) break;
        redisAppendCommandArgv(handler->listening, count + 1, words, sizes);
        for (int i = 0; i < count; i++) {
            void *reply;
            if (redisGetReply(handler->listening, &reply)) bench_fail("subscribing");
            freeReplyObject(reply);
        }
        peer->subscribed += (size_t)count;
    }
    free(names);
}

/* A friend's report, here: who of this handler's users has the friend near? */
static void hear(struct peer *peer, struct handler *handler, const redisReply *reply) {
    int64_t user;
    struct geo_point at;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 || reply->element[1]->len != NAME)
        bench_fail("a strange message");
    memcpy(&user, reply->element[1]->str, NAME);
    memcpy(&at.lat, reply->element[2]->str, 4);
    memcpy(&at.lng, reply->element[2]->str + 4, 4);
    const uint64_t *place = map_find(handler->channels, (uint64_t)user);
    const struct follower *follower = &handler->followers[*place >> 16];
    struct geo_circle circle = geo_circle(at, GEO_RADIUS_DEFAULT_M);
    for (uint64_t i = 0; i < (*place & 0xffff); i++)
        peer->near += geo_near(&circle, peer->positions[follower[i].number]);
    peer->heard++;
}

static void read_from(struct peer *peer, struct handler *handler, bool listening) {
    redisContext *context = listening ? handler->listening : handler->publishing;
    void *reply;
    if (redisBufferRead(context)) bench_fail("reading from Redis");
    while (!redisGetReplyFromReader(context, &reply) && reply) {
        if (listening)
            hear(peer, handler, reply);
        else
            peer->answered++;
        freeReplyObject(reply);
    }
}

static void publish(struct peer *peer, const struct report *report) {
    struct handler *handler = &peer->handlers[report->handler];
    const char *words[] = {"PUBLISH", (const char *)report->name, (const char *)report->says};
    const size_t sizes[] = {7, NAME, SAYS};
    memcpy(&peer->positions[report->number].lat, report->says, 4);
    memcpy(&peer->positions[report->number].lng, report->says + 4, 4);
    redisAppendCommandArgv(handler->publishing, 3, words, sizes);
}

/* How many will hear all reports: the end is when they have. */
static uint64_t listeners(const struct peer *peer) {
    uint64_t count = 0;
    for (size_t i = 0; i < peer->report_count; i++) {
        uint64_t user;
        memcpy(&user, peer->reports[i].name, NAME);
        for (int32_t h = 0; h < peer->world.routes; h++) count += map_find(peer->handlers[h].channels, user) != NULL;
    }
    return count;
}

static void run(struct peer *peer, int epoll, uint64_t expected) {
    struct epoll_event events[EVENTS];
    size_t sent = 0;
    while (peer->heard < expected || peer->answered < peer->report_count) {
        size_t before = sent;
        while (sent < peer->report_count && sent - peer->answered < UNDER_WAY) publish(peer, &peer->reports[sent++]);
        for (int32_t h = 0; sent > before && h < peer->world.routes; h++) {
            int done = 0;
            while (!done && !redisBufferWrite(peer->handlers[h].publishing, &done)) continue;
        }
        int count = epoll_wait(epoll, events, EVENTS, 1000);
        for (int i = 0; i < count; i++)
            read_from(peer, &peer->handlers[events[i].data.u32 / 2], events[i].data.u32 % 2 == 0);
    }
}

int main(int argc, char **argv) {
    if (argc != 8) bench_fail("see its head for the arguments");
    struct peer peer = {.world = {.seed = strtoull(argv[2], NULL, 10),
                                  .present = atoll(argv[3]),
                                  .reporters = atoll(argv[4]),
                                  .routes = atoi(argv[5]),
                                  .time = 1}};
    peer.handlers = mem_zero((size_t)peer.world.routes, sizeof *peer.handlers);
    peer.positions = mem_zero((size_t)peer.world.present, sizeof *peer.positions);
    int epoll = epoll_create1(0);
    for (int32_t h = 0; h < peer.world.routes; h++) peer.handlers[h].channels = map_new();
    make_followers(&peer);
    make_reports(&peer, atoll(argv[6]));
    for (int32_t h = 0; h < peer.world.routes; h++) {
        struct handler *handler = &peer.handlers[h];
        handler->listening = redis_connect(argv[1]);
        handler->publishing = redis_connect(argv[1]);
        subscribe(&peer, handler);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)h * 2};
        epoll_ctl(epoll, EPOLL_CTL_ADD, handler->listening->fd, &event);
        event.data.u32++;
        epoll_ctl(epoll, EPOLL_CTL_ADD, handler->publishing->fd, &event);
    }
    uint64_t expected = listeners(&peer);
    double redis = redis_server_s(argv[7]), ours = bench_cpu_s();
    run(&peer, epoll, expected);
    printf(
        "{\"reports\":%zu,\"near\":%llu,\"messages\":%llu,\"subscriptions\":%zu,\"redis_s\":%.3f,\"handlers_s\":%.3f}\n",
        peer.report_count, (unsigned long long)peer.near, (unsigned long long)peer.heard, peer.subscribed,
        redis_server_s(argv[7]) - redis, bench_cpu_s() - ours);
    return 0; // the system takes the rest back
}

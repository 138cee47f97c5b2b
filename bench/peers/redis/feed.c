/* Home timelines as capped lists of Redis: a peer of `./dev bench feed`.
 *
 *     bench-redis-feed SOCKET PEOPLE FOLLOWING POSTS PAGES SERVER-PID
 *
 *     followers:A   a string: the followers' ids, 8 bytes each       inbox:R   a list: author and id of posts, 16 bytes, newest first
 *     post:I        a string: the text
 *
 * A post reads its author's followers, stores its text, and pushes itself to each follower's list, all in one pipeline; a list is trimmed
 * to 800 with every push (`trimmed`), or with each 16th push on average (`seldom`). A page reads the newest 20 of a list, and their
 * texts with one MGET; as many pages are asked for at once as fit into a pipeline. Redis stores nothing on the disk. Keys and values
 * are binary.
 *
 * Prints CPU seconds of Redis and of this process.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench/feed_world.h"
#include "bench/peers/redis/redis.h"

enum { AT_ONCE = 50, PAGE = 20, TEXT = 140, REF = 16, SELDOM = 16, LOAD_AT_ONCE = 500 };

struct peer {
    redisContext *redis;
    struct feed_world world;
    const char *server;
    uint64_t entries, drawn;
};

/* ---- followers ---- */

static void load_followers(struct peer *peer) {
    int64_t *ids = mem_alloc((size_t)peer->world.following * sizeof *ids);
    size_t under_way = 0;
    for (int64_t person = 0; person < peer->world.people; person++) {
        size_t count = feed_world_following(&peer->world, person, peer->world.following, ids);
        int64_t reader = feed_world_id(person);
        for (size_t i = 0; i < count; i++) {
            char key[REDIS_KEY];
            redis_key(key, 'f', ids[i]);
            const char *words[] = {"APPEND", key, (const char *)&reader};
            redisAppendCommandArgv(peer->redis, 3, words, (const size_t[]){6, REDIS_KEY, sizeof reader});
            if (++under_way == LOAD_AT_ONCE) {
                redis_skip(peer->redis, under_way);
                under_way = 0;
            }
        }
    }
    redis_skip(peer->redis, under_way);
    free(ids);
}

/* ---- pushes ---- */

static size_t push_to(struct peer *peer, int64_t reader, const char ref[REF], bool seldom) {
    char key[REDIS_KEY];
    redis_key(key, 'i', reader);
    const char *push[] = {"LPUSH", key, ref}, *trim[] = {"LTRIM", key, "0", "799"};
    redisAppendCommandArgv(peer->redis, 3, push, (const size_t[]){5, REDIS_KEY, REF});
    if (seldom && hash_u64(peer->drawn++) % SELDOM) return 1;
    redisAppendCommandArgv(peer->redis, 4, trim, (const size_t[]){5, REDIS_KEY, 1, 3});
    return 2;
}

static void post(struct peer *peer, int64_t number, bool seldom) {
    char followers_key[REDIS_KEY], post_key[REDIS_KEY], ref[REF], text[TEXT];
    int64_t author = feed_world_author(&peer->world, number), id = feed_world_post_id(&peer->world, number), reader;
    redis_key(followers_key, 'f', author);
    redis_key(post_key, 'p', id);
    memcpy(ref, &author, sizeof author);
    memcpy(ref + sizeof author, &id, sizeof id);
    memset(text, 'x', sizeof text);
    const char *get[] = {"GET", followers_key}, *set[] = {"SET", post_key, text};
    redisAppendCommandArgv(peer->redis, 2, get, (const size_t[]){3, REDIS_KEY});
    redisAppendCommandArgv(peer->redis, 3, set, (const size_t[]){3, REDIS_KEY, TEXT});
    redisReply *followers = redis_reply(peer->redis);
    size_t under_way = 1;
    for (size_t at = 0; at + sizeof reader <= followers->len; at += sizeof reader) {
        memcpy(&reader, followers->str + at, sizeof reader);
        under_way += push_to(peer, reader, ref, seldom);
        peer->entries++;
    }
    freeReplyObject(followers);
    redis_skip(peer->redis, under_way);
}

static void measure_pushes(struct peer *peer, int64_t first, int64_t posts, bool seldom, const char *name) {
    double client = bench_cpu_s(), server = redis_server_s(peer->server);
    uint64_t entries = peer->entries;
    for (int64_t i = 0; i < posts; i++) post(peer, first + i, seldom);
    printf("\"%s\":{\"entries\":%llu,\"server_s\":%.3f,\"client_s\":%.3f},", name,
           (unsigned long long)(peer->entries - entries), redis_server_s(peer->server) - server,
           bench_cpu_s() - client);
}

/* ---- pages ---- */

static size_t ask_for_texts(struct peer *peer) {
    redisReply *list = redis_reply(peer->redis);
    char keys[PAGE][REDIS_KEY];
    const char *words[PAGE + 1] = {"MGET"};
    size_t sizes[PAGE + 1] = {4}, count = list->elements;
    for (size_t i = 0; i < count; i++) {
        int64_t id;
        memcpy(&id, list->element[i]->str + sizeof id, sizeof id);
        redis_key(keys[i], 'p', id);
        words[i + 1] = keys[i];
        sizes[i + 1] = REDIS_KEY;
    }
    redisAppendCommandArgv(peer->redis, (int)count + 1, words, sizes);
    freeReplyObject(list);
    return count;
}

static void measure_pages(struct peer *peer, int64_t pages) {
    double client = bench_cpu_s(), server = redis_server_s(peer->server);
    uint64_t shown = 0;
    for (int64_t i = 0; i < pages; i += AT_ONCE) {
        for (int64_t k = 0; k < AT_ONCE; k++) {
            char key[REDIS_KEY];
            redis_key(key, 'i', feed_world_id((int64_t)(hash_u64((uint64_t)(i + k)) % (uint64_t)peer->world.people)));
            const char *words[] = {"LRANGE", key, "0", "19"};
            redisAppendCommandArgv(peer->redis, 4, words, (const size_t[]){6, REDIS_KEY, 1, 2});
        }
        for (int64_t k = 0; k < AT_ONCE; k++) shown += ask_for_texts(peer);
        redis_skip(peer->redis, AT_ONCE);
    }
    printf("\"pages\":{\"pages\":%lld,\"shown\":%llu,\"server_s\":%.3f,\"client_s\":%.3f}", (long long)pages,
           (unsigned long long)shown, redis_server_s(peer->server) - server, bench_cpu_s() - client);
}

int main(int argc, char **argv) {
    if (argc != 7) bench_fail("its head says which arguments there are");
    struct peer peer = {
        .world = {.people = atoll(argv[2]), .following = atoll(argv[3]), .partitions = 12, .step_us = 300},
        .server = argv[6]};
    int64_t posts = atoll(argv[4]);
    peer.world.begin_ms = clock_wall_ms();
    peer.redis = redis_connect(argv[1]);
    load_followers(&peer);
    for (int64_t i = 0; i < posts; i++) post(&peer, i, false); // the lists fill up
    putchar('{');
    measure_pushes(&peer, posts, posts, false, "trimmed");
    measure_pushes(&peer, 2 * posts, posts, true, "seldom");
    measure_pages(&peer, atoll(argv[5]) / AT_ONCE * AT_ONCE);
    puts("}");
    redisFree(peer.redis);
    return 0;
}

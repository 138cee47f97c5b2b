/* Threads of comments as sorted sets of Redis: a peer of `./dev bench comments`.
 *
 *     bench-redis-comments SOCKET SUBJECTS COMMENTS OPERATIONS SERVER-PID
 *
 *     heat:S   a sorted set: the ids of a subject's roots by heat      under:C  a sorted set: the ids of a root's replies by number
 *     comment  a string for each comment: its row and its text         subject:S  a hash of counters
 *
 * A write counts the comment, stores its string and adds it to its set, in one pipeline. A page reads the hottest 20 of a set, the
 * first 3 of each one's replies, and all strings with one MGET; as many pages are asked for at once as fit into a pipeline. Redis stores
 * nothing on the disk. Keys are binary. Prints CPU seconds of Redis and of this process.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "bench/peers/redis/redis.h"

enum { AT_ONCE = 50, PAGE = 20, REPLIES = 3, ROW = 160, LOAD_AT_ONCE = 500, PAGE_MAX = PAGE * (1 + REPLIES) };

struct peer {
    redisContext *redis;
    int64_t subjects;
    int64_t *roots; /* the newest root of each subject; 0: none */
    const char *server;
    size_t under_way;
};

/* The comments of a page. */
struct page {
    int64_t ids[PAGE_MAX];
    size_t count;
};

static void skip_replies(struct peer *peer) {
    redis_skip(peer->redis, peer->under_way);
    peer->under_way = 0;
}

static int64_t draw(int64_t number, uint64_t what, int64_t count) {
    return (int64_t)(hash_u64(hash_u64((uint64_t)number) + what) % (uint64_t)count);
}

/* ---- writes ---- */

/* Half of the comments are under the first subject; each third one answers the newest root of its subject. */
static void write_one(struct peer *peer, int64_t number) {
    char counters[REDIS_KEY], set[REDIS_KEY], key[REDIS_KEY], row[ROW], score[24];
    int64_t subject = draw(number, 1, 2) ? 0 : 1 + draw(number, 2, peer->subjects - 1), id = number + 1;
    bool reply = number % 3 == 2 && peer->roots[subject];
    redis_key(counters, 's', subject);
    redis_key(set, reply ? 'u' : 'h', reply ? peer->roots[subject] : subject);
    redis_key(key, 'c', id);
    memset(row, 'x', sizeof row);
    int digits = snprintf(score, sizeof score, "%lld", (long long)number);
    const char *count[] = {"HINCRBY", counters, "visible", "1"}, *store[] = {"SET", key, row},
               *add[] = {"ZADD", set, score, (const char *)&id};
    redisAppendCommandArgv(peer->redis, 4, count, (const size_t[]){7, REDIS_KEY, 7, 1});
    redisAppendCommandArgv(peer->redis, 3, store, (const size_t[]){3, REDIS_KEY, ROW});
    redisAppendCommandArgv(peer->redis, 4, add, (const size_t[]){4, REDIS_KEY, (size_t)digits, sizeof id});
    peer->under_way += 3;
    if (!reply) peer->roots[subject] = id;
}

static void measure_writes(struct peer *peer, int64_t first, int64_t count) {
    double client = bench_cpu_s(), server = redis_server_s(peer->server);
    for (int64_t i = 0; i < count; i++) {
        write_one(peer, first + i);
        skip_replies(peer);
    }
    printf("\"writes\":{\"count\":%lld,\"server_s\":%.3f,\"client_s\":%.3f},", (long long)count,
           redis_server_s(peer->server) - server, bench_cpu_s() - client);
}

/* ---- pages ---- */

static void take_ids(struct peer *peer, struct page *page) {
    redisReply *list = redis_reply(peer->redis);
    for (size_t i = 0; i < list->elements; i++)
        memcpy(&page->ids[page->count++], list->element[i]->str, sizeof(int64_t));
    freeReplyObject(list);
}

static void ask_for_rows(struct peer *peer, const struct page *page) {
    char keys[PAGE_MAX][REDIS_KEY];
    const char *words[PAGE_MAX + 1] = {"MGET"};
    size_t sizes[PAGE_MAX + 1] = {4};
    for (size_t i = 0; i < page->count; i++) {
        redis_key(keys[i], 'c', page->ids[i]);
        words[i + 1] = keys[i];
        sizes[i + 1] = REDIS_KEY;
    }
    if (page->count) redisAppendCommandArgv(peer->redis, (int)page->count + 1, words, sizes);
    peer->under_way += page->count > 0;
}

static void read_pages(struct peer *peer, int64_t first) {
    struct page pages[AT_ONCE] = {{.count = 0}};
    for (int64_t k = 0; k < AT_ONCE; k++) {
        char key[REDIS_KEY];
        redis_key(key, 'h', 1 + draw(first + k, 3, peer->subjects - 1));
        const char *words[] = {"ZREVRANGE", key, "0", "19"};
        redisAppendCommandArgv(peer->redis, 4, words, (const size_t[]){9, REDIS_KEY, 1, 2});
    }
    for (int k = 0; k < AT_ONCE; k++) take_ids(peer, &pages[k]);
    size_t roots[AT_ONCE];
    for (int k = 0; k < AT_ONCE; k++) {
        roots[k] = pages[k].count;
        for (size_t i = 0; i < roots[k]; i++) {
            char key[REDIS_KEY];
            redis_key(key, 'u', pages[k].ids[i]);
            const char *words[] = {"ZRANGE", key, "0", "2"};
            redisAppendCommandArgv(peer->redis, 4, words, (const size_t[]){6, REDIS_KEY, 1, 1});
        }
    }
    for (int k = 0; k < AT_ONCE; k++)
        for (size_t i = 0; i < roots[k]; i++) take_ids(peer, &pages[k]);
    for (int k = 0; k < AT_ONCE; k++) ask_for_rows(peer, &pages[k]);
    skip_replies(peer);
}

static void measure_pages(struct peer *peer, int64_t count) {
    double client = bench_cpu_s(), server = redis_server_s(peer->server);
    for (int64_t i = 0; i < count; i += AT_ONCE) read_pages(peer, i);
    printf("\"pages\":{\"count\":%lld,\"server_s\":%.3f,\"client_s\":%.3f}", (long long)count,
           redis_server_s(peer->server) - server, bench_cpu_s() - client);
}

int main(int argc, char **argv) {
    if (argc != 6) bench_fail("its head says which arguments there are");
    struct peer peer = {.subjects = atoll(argv[2]), .server = argv[5]};
    int64_t comments = atoll(argv[3]), operations = atoll(argv[4]) / AT_ONCE * AT_ONCE;
    peer.roots = mem_zero((size_t)peer.subjects, sizeof *peer.roots);
    peer.redis = redis_connect(argv[1]);
    for (int64_t i = 0; i < comments; i++) {
        write_one(&peer, i);
        if (peer.under_way >= LOAD_AT_ONCE) skip_replies(&peer);
    }
    skip_replies(&peer);
    putchar('{');
    measure_writes(&peer, comments, operations);
    measure_pages(&peer, operations);
    puts("}");
    redisFree(peer.redis);
    free(peer.roots);
    return 0;
}

/* The directory is asked for anew in the background as soon as it is used while older than FRESH_MS; a request that meets no
 * owner, or the wrong one, waits for an answer that is younger than the request's own trouble, and is then tried once more:
 *
 *     peers_fetch -> known? -> ask the owner -> 421, refused -> waiting -> directory read -> ask the owner -> done
 *                    unknown -----------------------------------^
 */
#include "service/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "kafka/consumer.h"
#include "question/question.h"
#include "service/peer_client.h"

enum { FRESH_MS = 3000, AGAIN_MS = 300, DESCRIBE_TIMEOUT_MS = 2000 };

struct peer_request {
    struct peers *peers;
    int32_t partition;
    char *path;
    int64_t deadline_us;
    int64_t waits_since_us;
    bool retried; // this is its second and last attempt
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
    struct peer_request *next; // of the waiting ones
};

struct peers {
    uv_loop_t *loop;
    struct peer_client *client;
    struct question *look; // who is in the group; admin, name and group are its worker thread's
    struct kafka_admin *admin;
    char *name;
    struct kafka_group group;
    const struct topic *topic;
    int partitions;
    char **owners;   // host:port by partition; NULL: nobody
    int32_t *lowest; // by partition
    bool known;      // Kafka has answered
    bool wanted;     // the next look waits for its time
    bool closing;
    int64_t looked_us; // when the last look began
    struct peer_request *waiting;
    struct peer_request *expired; // those that waited for too long, until they are told
    struct loop_timer *limit;     // goes off at limit_us, the earliest deadline of those that wait
    int64_t limit_us;
    bool telling; // expire is at work, and frees the directory at its end if it is closing
};

static void refresh(struct peers *peers);

static void request_done(struct peer_request *request, int code, unsigned status, const char *reply, size_t size) {
    request->done(request->context, code, status, reply, size);
    free(request->path);
    free(request);
}

static void push(struct peer_request **list, struct peer_request *request) {
    request->next = *list;
    *list = request;
}

static struct peer_request *pop(struct peer_request **list) {
    struct peer_request *request = *list;
    if (request) *list = request->next;
    return request;
}

/* Adds to those that wait, until the request's deadline at most. */
static void keep_waiting(struct peer_request *request) {
    struct peers *peers = request->peers;
    bool first = !peers->waiting;
    push(&peers->waiting, request);
    if (!first && request->deadline_us >= peers->limit_us) return;
    int64_t left_us = request->deadline_us - clock_monotonic_us();
    peers->limit_us = request->deadline_us;
    loop_timer_again(peers->limit, left_us > 0 ? (uint64_t)left_us / 1000 + 1 : 1, 0);
}

static void request_wait(struct peer_request *request) {
    request->waits_since_us = clock_monotonic_us();
    keep_waiting(request);
    refresh(request->peers);
}

/* Kafka has not answered in time. */
static void expire(void *context) {
    struct peers *peers = context;
    struct peer_request *waiting = peers->waiting, *request;
    int64_t now_us = clock_monotonic_us();
    peers->waiting = NULL;
    while ((request = pop(&waiting))) {
        if (request->deadline_us <= now_us)
            push(&peers->expired, request);
        else
            keep_waiting(request);
    }
    peers->telling = true;
    while ((request = pop(&peers->expired))) request_done(request, -ETIMEDOUT, 0, NULL, 0);
    peers->telling = false;
    if (peers->closing) question_free(peers->look); // a done has called peers_free
}

static void on_reply(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct peer_request *request = context;
    bool elsewhere = code == -ECONNREFUSED || code == -EIO || (code == 0 && status == 421);
    if (elsewhere && !request->retried && !request->peers->closing) {
        request->retried = true;
        request_wait(request);
    } else if (code == 0 && status == 421)
        request_done(request, -EHOSTUNREACH, 0, NULL, 0);
    else
        request_done(request, code, status, reply, size);
}

static void request_send(struct peer_request *request, const char *owner) {
    struct peers *peers = request->peers;
    int64_t left_ms = (request->deadline_us - clock_monotonic_us()) / 1000;
    if (left_ms <= 0) {
        request_done(request, -ETIMEDOUT, 0, NULL, 0);
        return;
    }
    peer_client_get(peers->client, owner, request->path, (int)left_ms, on_reply, request);
}

static void owners_clear(struct peers *peers) {
    for (int i = 0; i < peers->partitions; i++) {
        free(peers->owners[i]);
        peers->owners[i] = NULL;
    }
}

static void find_lowest(struct peers *peers) {
    for (int i = 0; i < peers->partitions; i++) {
        int j = 0;
        while (j < i && !(peers->owners[j] && peers->owners[i] && strcmp(peers->owners[j], peers->owners[i]) == 0)) j++;
        peers->lowest[i] = j;
    }
}

static void owners_read(struct peers *peers) {
    owners_clear(peers);
    for (size_t i = 0; i < peers->group.count; i++) {
        const struct kafka_member *member = &peers->group.members[i];
        const char *at = member->client_id ? strrchr(member->client_id, '@') : NULL;
        for (size_t j = 0; at && j < member->owned_count; j++) {
            const struct kafka_position *owned = &member->owned[j];
            if (owned->topic != peers->topic || owned->partition < 0 || owned->partition >= peers->partitions) continue;
            free(peers->owners[owned->partition]);
            peers->owners[owned->partition] = mem_string(at + 1);
        }
    }
    find_lowest(peers);
}

static void cancel_all(struct peer_request **list) {
    struct peer_request *request;
    while ((request = pop(list))) request_done(request, -ECANCELED, 0, NULL, 0);
}

/* A request that began to wait while the look was under way may have come for what changed since; it waits for the next one,
 * unless this is its first attempt and an owner is known now. */
static void request_resume(struct peer_request *request) {
    struct peers *peers = request->peers;
    bool late = request->waits_since_us > peers->looked_us;
    const char *owner = peers->owners[request->partition];
    if (late && (request->retried || !owner)) {
        keep_waiting(request);
        return;
    }
    request->retried |= !late;
    if (owner)
        request_send(request, owner);
    else
        request_done(request, -EHOSTUNREACH, 0, NULL, 0);
}

static void resume_waiting(struct peers *peers) {
    struct peer_request *waiting = peers->waiting, *request;
    peers->waiting = NULL;
    while ((request = pop(&waiting))) {
        // One that is done may have called peers_free, which cannot see those that are still walked here.
        if (peers->closing)
            request_done(request, -ECANCELED, 0, NULL, 0);
        else
            request_resume(request);
    }
    if (peers->waiting) refresh(peers);
}

static void look_prepare(void *context) {
    struct peers *peers = context;
    peers->wanted = false;
    peers->looked_us = clock_monotonic_us();
}

static int look_ask(void *context, struct error *error) {
    struct peers *peers = context;
    return kafka_group_describe(peers->admin, peers->name, &peers->group, DESCRIBE_TIMEOUT_MS, error);
}

/* Also where Kafka gave no answer: those that wait take what is known. */
static void look_failed(void *context, int code, const char *reason) { resume_waiting(context); }

static void look_answered(void *context) {
    struct peers *peers = context;
    owners_read(peers);
    peers->known = true;
    kafka_group_clear(&peers->group);
    resume_waiting(peers);
}

/* Looks now, or as soon as the last look is long enough ago: a group without an owner is no reason to storm the broker. */
static void refresh(struct peers *peers) {
    int64_t age_ms = (clock_monotonic_us() - peers->looked_us) / 1000;
    if (question_busy(peers->look) || peers->wanted) return;
    peers->wanted = true;
    if (age_ms >= AGAIN_MS)
        question_ask(peers->look);
    else
        question_ask_later(peers->look, (uint64_t)(AGAIN_MS - age_ms));
}

static void peers_destroy(void *context) {
    struct peers *peers = context;
    kafka_admin_free(peers->admin);
    kafka_group_clear(&peers->group);
    free(peers->name);
    owners_clear(peers);
    free(peers->owners);
    free(peers->lowest);
    free(peers);
}

int peers_new(const struct peers_options *options, struct peers **peers, struct error *error) {
    struct kafka_admin *admin;
    int code = kafka_admin_new(options->settings, &admin, error);
    if (code) return code;
    struct peers *made = mem_alloc(sizeof *made);
    *made = (struct peers){
        .loop = options->loop,
        .client = peer_client_new(options->loop, options->token),
        .look = question_new(&(struct question_options){
            .loop = options->loop,
            .context = made,
            .prepare = look_prepare,
            .ask = look_ask,
            .answered = look_answered,
            .failed = look_failed,
            .freed = peers_destroy,
        }),
        .admin = admin,
        .name = mem_string(options->group),
        .topic = options->topic,
        .partitions = options->partitions,
        .owners = mem_zero((size_t)options->partitions, sizeof *made->owners),
        .lowest = mem_zero((size_t)options->partitions, sizeof *made->lowest),
    };
    made->limit = loop_timer_new(options->loop, 0, 0, expire, made);
    loop_timer_stop(made->limit);
    find_lowest(made);
    // The first look is at once, so that the first request finds a directory.
    question_ask(made->look);
    *peers = made;
    return 0;
}

void peers_free(struct peers *peers) {
    if (!peers) return;
    peers->closing = true;
    peer_client_free(peers->client);
    loop_timer_free(peers->limit);
    cancel_all(&peers->waiting);
    cancel_all(&peers->expired);
    if (!peers->telling) question_free(peers->look);
}

const int32_t *peers_lowest(const struct peers *peers) { return peers->lowest; }

int32_t peers_of_user(const struct peers *peers, int64_t user) { return hash_user_partition(user, peers->partitions); }

int32_t peers_of_subject(const struct peers *peers, const char *subject) {
    return hash_partition(subject, strlen(subject), peers->partitions);
}

void peers_prepare(struct peers *peers) {
    if (clock_monotonic_us() - peers->looked_us > (int64_t)FRESH_MS * 1000) refresh(peers);
}

bool peers_complete(struct peers *peers) {
    if (!peers) return true;
    peers_prepare(peers);
    for (int i = 0; peers->known && i < peers->partitions; i++)
        if (!peers->owners[i]) return false;
    return true;
}

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    struct peer_request *request = MEM_NEW(&(struct peer_request){
        .peers = peers,
        .partition = partition,
        .path = mem_string(path),
        .deadline_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000,
        .done = done,
        .context = context,
    });
    if (partition < 0 || partition >= peers->partitions) { // a stranger has made it up
        request_done(request, -EHOSTUNREACH, 0, NULL, 0);
        return;
    }
    const char *owner = peers->owners[partition];
    if (!owner) {
        request_wait(request);
        return;
    }
    peers_prepare(peers);
    request_send(request, owner);
}

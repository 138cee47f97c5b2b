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
#include "service/http.h"

enum { FRESH_MS = 3000, AGAIN_MS = 300, DESCRIBE_TIMEOUT_MS = 2000 };

struct request {
    struct peers *peers;
    int32_t partition;
    char *path;
    int64_t deadline_us;
    int64_t waits_since_us;
    bool retried; // this is its second and last attempt
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
    struct request *next; // of the waiting ones
};

/* A look at the group, by a worker thread: `group` is the worker's until it is done. */
struct look {
    struct kafka_admin *admin;
    char *name;
    struct kafka_group group;
    int code;
};

struct peers {
    uv_loop_t *loop;
    struct http_client *client;
    struct loop_timer *again; // NULL, or the next look, when one that was wanted would come too soon after the last
    struct look look;
    const struct topic *topic;
    int partitions;
    char *token;       // NULL: none
    char **owners;     // host:port by partition; NULL: nobody
    bool looking;      // a look is under way
    bool closing;      // free everything when it comes back
    int64_t looked_us; // when the last look began
    struct request *waiting;
};

static void refresh(struct peers *peers);

static void request_done(struct request *request, int code, unsigned status, const char *reply, size_t size) {
    request->done(request->context, code, status, reply, size);
    free(request->path);
    free(request);
}

static void request_wait(struct request *request) {
    struct peers *peers = request->peers;
    request->waits_since_us = clock_monotonic_us();
    request->next = peers->waiting;
    peers->waiting = request;
    refresh(peers);
}

static void on_reply(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct request *request = context;
    bool elsewhere = code == -ECONNREFUSED || code == -EIO || (code == 0 && status == 421);
    if (elsewhere && !request->retried && !request->peers->closing) {
        request->retried = true;
        request_wait(request);
    } else if (code == 0 && status == 421)
        request_done(request, -EHOSTUNREACH, 0, NULL, 0);
    else
        request_done(request, code, status, reply, size);
}

static void request_send(struct request *request, const char *owner) {
    struct peers *peers = request->peers;
    int64_t left_ms = (request->deadline_us - clock_monotonic_us()) / 1000;
    if (left_ms <= 0) {
        request_done(request, -ETIMEDOUT, 0, NULL, 0);
        return;
    }
    char *url = mem_format("http://%s%s", owner, request->path);
    http_fetch(peers->client, "GET", url, peers->token, NULL, (int)left_ms, on_reply, request);
    free(url);
}

static void owners_clear(struct peers *peers) {
    for (int i = 0; i < peers->partitions; i++) {
        free(peers->owners[i]);
        peers->owners[i] = NULL;
    }
}

static void owners_read(struct peers *peers, const struct kafka_group *group) {
    owners_clear(peers);
    for (size_t i = 0; i < group->count; i++) {
        const struct kafka_member *member = &group->members[i];
        const char *at = member->client_id ? strrchr(member->client_id, '@') : NULL;
        for (size_t j = 0; at && j < member->owned_count; j++) {
            const struct kafka_position *owned = &member->owned[j];
            if (owned->topic != peers->topic || owned->partition < 0 || owned->partition >= peers->partitions) continue;
            free(peers->owners[owned->partition]);
            peers->owners[owned->partition] = mem_string(at + 1);
        }
    }
}

static void look_work(void *context) {
    struct look *look = &((struct peers *)context)->look;
    look->code = kafka_group_describe(look->admin, look->name, &look->group, DESCRIBE_TIMEOUT_MS, NULL);
}

static void peers_destroy(struct peers *peers) {
    kafka_admin_free(peers->look.admin);
    free(peers->look.name);
    owners_clear(peers);
    free(peers->owners);
    free(peers->token);
    free(peers);
}

static void cancel_waiting(struct peers *peers) {
    while (peers->waiting) {
        struct request *request = peers->waiting;
        peers->waiting = request->next;
        request_done(request, -ECANCELED, 0, NULL, 0);
    }
}

/* A request that began to wait while the look was under way may have come for what changed since; it waits for the next one,
 * unless this is its first attempt and an owner is known now. */
static void request_resume(struct request *request) {
    struct peers *peers = request->peers;
    bool late = request->waits_since_us > peers->looked_us;
    const char *owner = peers->owners[request->partition];
    if (late && (request->retried || !owner)) {
        request->next = peers->waiting;
        peers->waiting = request;
        return;
    }
    request->retried |= !late;
    if (owner)
        request_send(request, owner);
    else
        request_done(request, -EHOSTUNREACH, 0, NULL, 0);
}

static void look_done(void *context) {
    struct peers *peers = context;
    if (peers->look.code == 0) {
        owners_read(peers, &peers->look.group);
        kafka_group_clear(&peers->look.group);
    }
    struct request *waiting = peers->waiting;
    peers->waiting = NULL;
    while (waiting) {
        struct request *request = waiting;
        waiting = request->next;
        if (peers->closing)
            request_done(request, -ECANCELED, 0, NULL, 0);
        else
            request_resume(request);
    }
    // Only now: a callback above that called peers_free must not have taken away what this function walks.
    peers->looking = false;
    if (peers->closing)
        peers_destroy(peers);
    else if (peers->waiting)
        refresh(peers);
}

static void look(struct peers *peers) {
    if (peers->looking) return;
    peers->looking = true;
    peers->looked_us = clock_monotonic_us();
    loop_work(peers->loop, look_work, look_done, peers);
}

static void look_again(void *context) {
    struct peers *peers = context;
    loop_timer_free(peers->again);
    peers->again = NULL;
    look(peers);
}

/* Looks now, or as soon as the last look is long enough ago: a group without an owner is no reason to storm the broker. */
static void refresh(struct peers *peers) {
    int64_t age_ms = (clock_monotonic_us() - peers->looked_us) / 1000;
    if (age_ms >= AGAIN_MS)
        look(peers);
    else if (!peers->again && !peers->looking)
        peers->again = loop_timer_new(peers->loop, (uint64_t)(AGAIN_MS - age_ms), 0, look_again, peers);
}

int peers_new(const struct peers_options *options, struct peers **peers, struct error *error) {
    struct kafka_admin *admin;
    int code = kafka_admin_new(options->settings, &admin, error);
    if (code) return code;
    struct peers *made = mem_alloc(sizeof *made);
    *made = (struct peers){
        .loop = options->loop,
        .client = http_client_new(options->loop),
        .look = {.admin = admin, .name = mem_string(options->group)},
        .topic = options->topic,
        .partitions = options->partitions,
        .token = options->token && *options->token ? mem_string(options->token) : NULL,
        .owners = mem_zero((size_t)options->partitions, sizeof *made->owners),
    };
    // The first look is at once, so that the first request finds a directory.
    look(made);
    *peers = made;
    return 0;
}

void peers_free(struct peers *peers) {
    if (!peers) return;
    peers->closing = true;
    http_client_free(peers->client);
    loop_timer_free(peers->again);
    cancel_waiting(peers);
    if (!peers->looking) peers_destroy(peers);
}

void peers_fetch(struct peers *peers, int64_t user, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    struct request *request = mem_alloc(sizeof *request);
    *request = (struct request){
        .peers = peers,
        .partition = hash_user_partition(user, peers->partitions),
        .path = mem_string(path),
        .deadline_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000,
        .done = done,
        .context = context,
    };
    const char *owner = peers->owners[request->partition];
    if (!owner) {
        request_wait(request);
        return;
    }
    if (clock_monotonic_us() - peers->looked_us > (int64_t)FRESH_MS * 1000) refresh(peers);
    request_send(request, owner);
}

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "router/standby.h"
#include "router/state.h"

enum {
    FRESH_MS = 5000, /* between two looks at a group that is as it should be */
    SOON_MS = 300,   /* while it is not: it is being balanced, or this process prepares */
    ASK_TIMEOUT_MS = 2000,
    PATIENCE_MS = 15000, /* a group that does not settle is joined all the same */
    REPLICAS_MAX = 16
};

/* A look at the group, by a worker thread: `group` is the worker's until it is done.
 *
 *     before joining:  nobody is there, or this instance's partitions wait for it --> prepared
 *                      others serve --> stand by for what would be ours --> all of it up to date --> prepared
 *     as a member:     stand by for what the members' order says
 *     about to end:    others serve --> hand over; nobody else does --> just end
 *
 * A member that has handed over is known by what it owns instead (ownership_leave). When its process has ended the group
 * keeps its place until the session times out, and every change of members would wait for it as long: so who is to join, or
 * to hand over, waits for that before, while others serve, or it does so itself. */
struct standby {
    struct router *router;
    void (*on_prepared)(struct router *router);
    struct kafka_admin *admin;
    struct loop_timer *timer;
    struct kafka_group group;
    int code;
    bool looking, again; /* again: something has changed since the look under way began */
    bool prepared, chosen, told_unknown;
    bool parting;       /* somebody has handed over, and has still a place */
    bool ending, asked; /* this process is to end; the look under way began after that */
    enum standby_end end;
    int64_t began_us;
    bool *wanted; /* by partition: to be kept here */
};

static void look_work(void *context) {
    struct standby *standby = context;
    standby->code = kafka_group_describe(standby->admin, standby->router->settings->group_id, &standby->group,
                                         ASK_TIMEOUT_MS, NULL);
}

static bool owns(const struct kafka_member *member, const struct topic *topic) {
    for (size_t i = 0; i < member->owned_count; i++) {
        if (member->owned[i].topic == topic) return true;
    }
    return false;
}

static void prepared(struct standby *standby, const char *why) {
    standby->prepared = true;
    log_info(standby->router->log, "joining the group", LOG_TEXT("because", why));
    standby->on_prepared(standby->router);
}

/* ---- who is there ---- */

static bool same_instance(const struct router *router, const struct kafka_member *member) {
    const char *mine = router->common->group_instance_id;
    return *mine && member->instance_id && !strcmp(mine, member->instance_id);
}

/* The members among whom locations are shared, sorted, this process among them: as the member it is, or would be. */
static struct standby_member *members_of(struct standby *standby, char *own_id, size_t *count, bool *found) {
    struct router *router = standby->router;
    const char *id = router->ownership ? ownership_member(router->ownership) : NULL;
    struct standby_member *members = mem_zero(standby->group.count + 1, sizeof *members);
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        members[i] = (struct standby_member){
            .id = member->id,
            .instance = member->instance_id,
            .self = router->ownership ? id && !strcmp(id, member->id) : same_instance(router, member),
            .serves = owns(member, &TOPIC_LOCATIONS),
            .left = owns(member, &TOPIC_SHARING),
        };
    }
    *count = standby_counted(members, standby->group.count);
    *found = false;
    for (size_t i = 0; i < *count; i++) *found |= members[i].self;
    if (!router->ownership && !*found)
        members[(*count)++] =
            (struct standby_member){.id = own_id, .instance = router->common->group_instance_id, .self = true};
    standby_sort(members, *count);
    return members;
}

/* The assignor is given; an owner that is not who it should be means that members of another kind are in the group. */
static bool as_computed(struct standby *standby, const struct standby_member *members, size_t count) {
    int32_t partitions = standby->router->partitions;
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        for (size_t o = 0; o < member->owned_count; o++) {
            const struct kafka_position *owned = &member->owned[o];
            if (owned->topic != &TOPIC_LOCATIONS || owned->partition >= partitions) continue;
            const char *computed = members[standby_owner(count, partitions, owned->partition)].id;
            if (strcmp(computed, member->id)) return false;
        }
    }
    return true;
}

/* What this member stands by for; of one that has yet to join, what it would own as well. */
static void choose(struct standby *standby, const struct standby_member *members, size_t count) {
    struct router *router = standby->router;
    size_t list[REPLICAS_MAX], replicas = (size_t)router->settings->standby_replicas;
    for (int32_t p = 0; p < router->partitions; p++) {
        size_t others = standby_list(count, router->partitions, p, list, replicas);
        standby->wanted[p] = !router->ownership && members[standby_owner(count, router->partitions, p)].self;
        for (size_t i = 0; i < others; i++) standby->wanted[p] |= members[list[i]].self;
    }
    standby->chosen = true;
}

static void keep_wanted(struct standby *standby) {
    struct router *router = standby->router;
    struct error error;
    int code = 0;
    for (int32_t p = 0; !code && p < router->partitions; p++) {
        if (partition_owned(&router->parts[p])) continue;
        if (standby->wanted[p])
            code = relations_standby(router->relations, p, &error);
        else if (relations_stands_by(router->relations, p))
            relations_detach(router->relations, p);
    }
    if (!code) code = relations_read(router->relations, &error);
    if (!code) return;
    log_error(router->log, "friend lists cannot be kept", LOG_TEXT("reason", error.text));
    service_fail(router->service, "friend lists cannot be kept");
}

/* ---- looks ---- */

static bool waited_for(const struct standby *standby) {
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        if (same_instance(standby->router, member) && owns(member, &TOPIC_LOCATIONS)) return true;
    }
    return false;
}

static bool served(const struct standby *standby) {
    for (size_t i = 0; i < standby->group.count; i++) {
        if (owns(&standby->group.members[i], &TOPIC_LOCATIONS)) return true;
    }
    return false;
}

static bool is_self(const struct standby *standby, const struct kafka_member *member) {
    const char *id = ownership_member(standby->router->ownership);
    return id && !strcmp(id, member->id);
}

static enum standby_end how_to_end(const struct standby *standby) {
    if (!standby->router->ownership) return STANDBY_END;
    bool others = false;
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        others |= !is_self(standby, member) && owns(member, &TOPIC_LOCATIONS);
    }
    if (!others) return STANDBY_END;
    return standby->parting || strcmp(standby->group.state, "Stable") ? STANDBY_WAIT : STANDBY_HAND_OVER;
}

static bool somebody_parts(const struct standby *standby) {
    for (size_t i = 0; i < standby->group.count; i++) {
        if (owns(&standby->group.members[i], &TOPIC_SHARING)) return true;
    }
    return false;
}

/* A look that was answered. False: the group is not as it will be. */
static bool take_look(struct standby *standby) {
    struct router *router = standby->router;
    bool stable = !strcmp(standby->group.state, "Stable"), found;
    if (!standby->prepared && !standby->group.count) prepared(standby, "it is empty");
    if (!standby->prepared && waited_for(standby)) prepared(standby, "this instance's partitions wait for it");
    if (!standby->prepared && stable && !standby->parting && !served(standby)) prepared(standby, "nobody serves");
    if (!stable || (router->ownership && !ownership_assigned(router->ownership))) return false;
    char *own_id = mem_format("%s-", router->kafka->client_id ? router->kafka->client_id : "");
    size_t count;
    struct standby_member *members = members_of(standby, own_id, &count, &found);
    bool usable = !router->ownership || found;
    if (usable && router->ownership && !as_computed(standby, members, count)) {
        if (!standby->told_unknown)
            log_warn(router->log, "nobody stands by: the group's members are not given what `range` would give them");
        standby->told_unknown = true;
    } else if (usable) {
        choose(standby, members, count);
        keep_wanted(standby);
    }
    free(members);
    free(own_id);
    return usable;
}

static void look(void *context);

static void look_done(void *context) {
    struct standby *standby = context;
    bool settled = false;
    standby->looking = false;
    if (!standby->code) {
        standby->parting = somebody_parts(standby);
        if (standby->asked) standby->end = how_to_end(standby);
        if (!standby->router->draining && !standby->again) settled = take_look(standby);
        kafka_group_clear(&standby->group);
    }
    bool impatient = clock_monotonic_us() - standby->began_us > PATIENCE_MS * 1000LL;
    if (!standby->prepared && !standby->chosen && impatient && !standby->router->draining)
        prepared(standby, "it does not settle");
    loop_timer_again(standby->timer, settled && standby->prepared ? FRESH_MS : SOON_MS, 0);
    standby->again = false;
}

static void look(void *context) {
    struct standby *standby = context;
    if (standby->looking || (standby->router->draining && !standby->ending)) return;
    if (standby->end != STANDBY_WAIT) return;
    standby->looking = true;
    standby->asked = standby->ending;
    loop_work(standby->router->loop, look_work, look_done, standby);
}

void standby_look(struct standby *standby) {
    if (!standby) return;
    standby->again = standby->looking;
    if (!standby->looking) loop_timer_again(standby->timer, SOON_MS, 0);
}

void standby_progress(struct standby *standby) {
    if (!standby || standby->prepared || !standby->chosen || standby->parting || standby->router->draining) return;
    for (int32_t p = 0; p < standby->router->partitions; p++) {
        if (standby->wanted[p] && relations_standby_lag(standby->router->relations, p)) return;
    }
    prepared(standby, "the friend lists of what will be its own are read");
}

enum standby_end standby_end(struct standby *standby) {
    if (!standby) return STANDBY_END;
    if (!standby->ending) loop_timer_again(standby->timer, 0, 0);
    standby->ending = true;
    return standby->end;
}

/* ---- beginning and end ---- */

int standby_new(struct router *router, void (*on_prepared)(struct router *router), struct standby **out,
                struct error *error) {
    struct standby *standby = mem_alloc(sizeof *standby);
    *standby = (struct standby){
        .router = router,
        .on_prepared = on_prepared,
        .timer = loop_timer_new(router->loop, 0, 0, look, standby),
        .began_us = clock_monotonic_us(),
        .wanted = mem_zero((size_t)router->partitions, sizeof *standby->wanted),
    };
    int code = kafka_admin_new(router->kafka, &standby->admin, error);
    if (code) {
        standby_free(standby);
        return code;
    }
    *out = standby;
    return 0;
}

void standby_free(struct standby *standby) {
    if (!standby) return;
    loop_timer_free(standby->timer);
    kafka_admin_free(standby->admin);
    free(standby->wanted);
    free(standby);
}

bool standby_busy(const struct standby *standby) { return standby && standby->looking; }

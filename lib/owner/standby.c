#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kafka/admin.h"
#include "owner/members.h"
#include "owner/private.h"
#include "question/question.h"

enum {
    FRESH_MS = 5000, /* between two looks at a group that is as it should be */
    SOON_MS = 300,   /* while it is not: it is being balanced, or this process prepares */
    ASK_TIMEOUT_MS = 2000,
    PATIENCE_MS = 15000, /* a group that does not settle is joined all the same */
    REPLICAS_MAX = 16
};

/* A look at the group, by a worker thread: `group` is the worker's until the question is answered.
 *
 *     before joining:  nobody is there, or this instance's partitions wait for it --> prepared
 *                      others serve --> stand by for what would be ours --> all of it up to date --> prepared
 *     as a member:     stand by for what the members' order says
 *     about to end:    others serve --> hand over; nobody else does --> just end
 *
 * A member that has handed over is known by what it owns instead (options.leaving). When its process has ended, the group keeps its
 * place until the session times out, and every change of members would wait for it as long. So a process that is to join, or to
 * hand over, waits for that before, while others serve. */
struct standby {
    struct owner *owner;
    struct kafka_admin *admin;
    struct question *question;
    struct kafka_group group;
    bool prepared, chosen, told_unknown;
    bool parting;       /* somebody has handed over, and still has a place */
    bool ending, asked; /* this process is to end; the look under way began after that */
    enum standby_way way;
    int64_t began_us;
    bool *wanted; /* by partition: to be kept here */
};

static const struct topic *shared_topic(const struct standby *standby) {
    const struct owner *owner = standby->owner;
    return owner->input_count ? owner->inputs[0] : owner->commands[0];
}

static bool owns_any(const struct kafka_member *member, const struct topic *topic) {
    for (size_t i = 0; i < member->owned_count; i++)
        if (member->owned[i].topic == topic) return true;
    return false;
}

static bool serves(const struct standby *standby, const struct kafka_member *member) {
    return owns_any(member, shared_topic(standby));
}

static bool has_left(const struct standby *standby, const struct kafka_member *member) {
    return owns_any(member, standby->owner->options.leaving);
}

static void prepared(struct standby *standby, const char *why) {
    standby->prepared = true;
    log_info(standby->owner->options.log, "joining the group", LOG_TEXT("because", why));
    PRODUCT(standby->owner, prepared);
}

/* ---- who is there ---- */

static bool same_instance(const struct owner *owner, const struct kafka_member *member) {
    const char *mine = owner->options.instance_id;
    return *mine && member->instance_id && !strcmp(mine, member->instance_id);
}

/* The members among whom locations are shared, sorted, this process among them: as the member it is, or would be. */
static struct member *members_of(struct standby *standby, char *own_id, size_t *count, bool *found) {
    struct owner *owner = standby->owner;
    const char *id = owner->consumer ? inputs_member(owner) : NULL;
    struct member *members = mem_zero(standby->group.count + 1, sizeof *members);
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        members[i] = (struct member){
            .id = member->id,
            .instance = member->instance_id,
            .self = owner->consumer ? id && !strcmp(id, member->id) : same_instance(owner, member),
            .serves = serves(standby, member),
            .left = has_left(standby, member),
        };
    }
    *count = members_counted(members, standby->group.count);
    *found = false;
    for (size_t i = 0; i < *count; i++) *found |= members[i].self;
    if (!owner->consumer && !*found)
        members[(*count)++] = (struct member){.id = own_id, .instance = owner->options.instance_id, .self = true};
    members_sort(members, *count);
    return members;
}

/* Whether all owners are as computed. The assignor is known, so another owner means that members of another kind are in the group. */
static bool as_computed(struct standby *standby, const struct member *members, size_t count) {
    int32_t partitions = standby->owner->options.partitions;
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        for (size_t o = 0; o < member->owned_count; o++) {
            const struct kafka_position *owned = &member->owned[o];
            if (owned->topic != shared_topic(standby) || owned->partition >= partitions) continue;
            const char *computed = members[members_owner(count, partitions, owned->partition)].id;
            if (strcmp(computed, member->id)) return false;
        }
    }
    return true;
}

/* Chooses the partitions for which this member stands by. If it has yet to join, it also chooses those that it would own. */
static void choose(struct standby *standby, const struct member *members, size_t count) {
    struct owner *owner = standby->owner;
    size_t list[REPLICAS_MAX], replicas = owner->options.standbys;
    for (int32_t p = 0; p < owner->options.partitions; p++) {
        size_t others = members_standbys(count, owner->options.partitions, p, list, replicas);
        standby->wanted[p] = !owner->consumer && members[members_owner(count, owner->options.partitions, p)].self;
        for (size_t i = 0; i < others; i++) standby->wanted[p] |= members[list[i]].self;
    }
    standby->chosen = true;
}

static void keep_wanted(struct standby *standby) {
    struct owner *owner = standby->owner;
    struct error error;
    int code = 0;
    for (int32_t p = 0; !code && p < owner->options.partitions; p++) {
        if (stages_owned(owner->stages, p)) continue;
        if (standby->wanted[p])
            code = changelogs_stand_by(owner, p, &error);
        else if (owner->standing[p])
            changelogs_drop(owner, p);
    }
    if (!code) code = changelogs_read(owner, &error);
    if (code) owner_failed(owner, "state cannot be kept", &error);
}

/* ---- looks ---- */

static bool waited_for(const struct standby *standby) {
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        if (same_instance(standby->owner, member) && serves(standby, member)) return true;
    }
    return false;
}

static bool served(const struct standby *standby) {
    for (size_t i = 0; i < standby->group.count; i++)
        if (serves(standby, &standby->group.members[i])) return true;
    return false;
}

static bool is_self(const struct standby *standby, const struct kafka_member *member) {
    const char *id = inputs_member(standby->owner);
    return id && !strcmp(id, member->id);
}

static enum standby_way how_to_end(const struct standby *standby) {
    if (!standby->owner->consumer) return STANDBY_END;
    bool others = false;
    for (size_t i = 0; i < standby->group.count; i++) {
        const struct kafka_member *member = &standby->group.members[i];
        others |= !is_self(standby, member) && serves(standby, member);
    }
    if (!others) return STANDBY_END;
    return standby->parting || strcmp(standby->group.state, "Stable") ? STANDBY_WAIT : STANDBY_HAND_OVER;
}

static bool somebody_parts(const struct standby *standby) {
    for (size_t i = 0; i < standby->group.count; i++)
        if (has_left(standby, &standby->group.members[i])) return true;
    return false;
}

/* A look that was answered. False: the group is not as it will be. */
static bool take_look(struct standby *standby) {
    struct owner *owner = standby->owner;
    bool stable = !strcmp(standby->group.state, "Stable"), found;
    if (!standby->prepared && !standby->group.count) prepared(standby, "it is empty");
    if (!standby->prepared && waited_for(standby)) prepared(standby, "this instance's partitions wait for it");
    if (!standby->prepared && stable && !standby->parting && !served(standby)) prepared(standby, "nobody serves");
    if (!stable || (owner->consumer && !owner->assigned)) return false;
    char *own_id = mem_format("%s-", owner->options.kafka->client_id ? owner->options.kafka->client_id : "");
    size_t count;
    struct member *members = members_of(standby, own_id, &count, &found);
    bool usable = !owner->consumer || found;
    if (usable && owner->consumer && !as_computed(standby, members, count)) {
        if (!standby->told_unknown)
            log_warn(owner->options.log,
                     "nobody stands by: the group's members are not given what `range` would give them");
        standby->told_unknown = true;
    } else if (usable) {
        choose(standby, members, count);
        keep_wanted(standby);
    }
    free(members);
    free(own_id);
    return usable;
}

/* The next look, unless the process is to end and knows how. */
static void look_on(struct standby *standby, bool settled) {
    const struct owner *owner = standby->owner;
    bool impatient = clock_monotonic_us() - standby->began_us > PATIENCE_MS * 1000LL;
    if (!standby->prepared && !standby->chosen && impatient && !owner->draining)
        prepared(standby, "it does not settle");
    if ((owner->draining && !standby->ending) || standby->way != STANDBY_WAIT) return;
    question_ask_later(standby->question, settled && standby->prepared ? FRESH_MS : SOON_MS);
}

static void answered(void *context) {
    struct standby *standby = context;
    const struct owner *owner = standby->owner;
    bool settled = false;
    standby->parting = somebody_parts(standby);
    if (standby->asked) standby->way = how_to_end(standby);
    if (!owner->draining) settled = take_look(standby);
    kafka_group_clear(&standby->group);
    look_on(standby, settled);
}

static void failed(void *context, int code, const char *reason) { look_on(context, false); }

static void prepare(void *context) {
    struct standby *standby = context;
    kafka_group_clear(&standby->group); // of an answer that was dropped
    standby->asked = standby->ending;
}

static int ask(void *context, struct error *error) {
    struct standby *standby = context;
    return kafka_group_describe(standby->admin, standby->owner->options.group, &standby->group, ASK_TIMEOUT_MS, error);
}

void standby_look(struct standby *standby) {
    if (!standby) return;
    if (question_busy(standby->question))
        question_ask(standby->question);
    else
        question_ask_later(standby->question, SOON_MS);
}

void standby_progress(struct standby *standby) {
    if (!standby || standby->prepared || !standby->chosen || standby->parting || standby->owner->draining) return;
    for (int32_t p = 0; p < standby->owner->options.partitions; p++)
        if (standby->wanted[p] && changelogs_standby_lag(standby->owner, p)) return;
    prepared(standby, "the state of what will be its own is read");
}

enum standby_way standby_way_to_end(struct standby *standby) {
    if (!standby) return STANDBY_END;
    bool first = !standby->ending;
    standby->ending = true;
    if (first) question_ask(standby->question);
    return standby->way;
}

/* ---- beginning and end ---- */

int standby_new(struct owner *owner, struct standby **out, struct error *error) {
    struct standby *standby = MEM_NEW(&(struct standby){
        .owner = owner,
        .began_us = clock_monotonic_us(),
        .wanted = mem_zero((size_t)owner->options.partitions, sizeof *standby->wanted),
    });
    struct question_options question = {
        .loop = owner->options.loop,
        .context = standby,
        .prepare = prepare,
        .ask = ask,
        .answered = answered,
        .failed = failed,
    };
    standby->question = question_new(&question);
    int code = kafka_admin_new(owner->options.kafka, &standby->admin, error);
    if (code) {
        standby_free(standby);
        return code;
    }
    question_ask(standby->question);
    *out = standby;
    return 0;
}

void standby_stop(struct standby *standby) {
    if (standby) question_cancel(standby->question);
}

void standby_free(struct standby *standby) {
    if (!standby) return;
    question_free(standby->question);
    kafka_admin_free(standby->admin);
    kafka_group_clear(&standby->group);
    free(standby->wanted);
    free(standby);
}

bool standby_busy(const struct standby *standby) { return standby && question_busy(standby->question); }

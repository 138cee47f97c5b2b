/* The protocol between routers and edges under trouble (docs/EXACTNESS.md): random histories are driven through the real presence,
 * join and nearby code and compared with brute force. Routers have skewed views, die and are taken over; deliveries get lost;
 * users have up to eight sessions, which change route and end; people opt out and in, make friends and part, mute each other, and choose
 * who sees them rounded. Then everything is delivered, every active user reports twice, by any session, and every screen of every session
 * must be exact. Without digests, and without words, the same histories must go wrong: a check that
 * cannot fail proves nothing. The same again with routers that are far behind now and then, and hold reports until newer ones take their
 * place (backlog.h). tests/models/devices.py is about sessions alone, with edges that die and processes of the version before.
 *
 * STARLING_HISTORIES sets how many of each kind (default 2,500).
 */
#include "fanout/nearby/nearby.h"
#include "router/backlog.h"
#include "router/join.h"
#include "unit/kit/kit.h"

enum {
    USERS = 8,
    PARTITIONS = 4,
    ROUTES = 4,
    ROUTERS = 2,
    INACTIVE = 40,
    WORD = INACTIVE / 3, /* a session that has said nothing for so long says REJOIN */
    SESSIONS = 8,
    STEPS = 400,
    ROUNDS = 2,
    STRIKES = 2,
    PRECISION = 5 /* cells of more than half the radius */
};
#define TICK 100000 /* one unit of the world's clock, in the protocol's ms; the report counter stays below it */
#define RADIUS_M 8046.72
#define UNIT_E7 (RADIUS_M / 10 / 111195.08 * 1e7) /* a tenth of the radius along a meridian */

struct friend_change {
    int a, b;
    bool friends;
    uint8_t rounding; /* a's bits for b */
};
struct sharing_change {
    int user;
    int64_t opted;
    bool on;
};

enum message_kind { MOVE, ROSTER, DIGEST, SELF, LEFT, PARTED };
struct message {
    enum message_kind kind;
    int user;        /* whose sessions it is for */
    int64_t session; /* of ROSTER, DIGEST, SELF: the session meant */
    int about;       /* MOVE, LEFT, PARTED: the friend */
    struct geo_point at;
    int64_t time;
    bool complete, rounded;
    uint64_t hash;
    int count; /* of the roster's friends, or of the digest */
    struct roster_friend friends[USERS];
    bool rounded_friends[USERS];
};

#define LIST(type)                                                                                                     \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        int count, room;                                                                                               \
    }
#define PUSH(list, ...)                                                                                                \
    do {                                                                                                               \
        if ((list).count == (list).room) {                                                                             \
            (list).room = (list).room ? (list).room * 2 : 32;                                                          \
            (list).items = mem_resize((list).items, (size_t)(list).room, sizeof *(list).items);                        \
        }                                                                                                              \
        (list).items[(list).count++] = __VA_ARGS__;                                                                    \
    } while (0)

struct router {
    struct presence *presence;
    bool owned[PARTITIONS];
    int position[PARTITIONS], graph_position[PARTITIONS], sharing_position[PARTITIONS];
    struct backlog *backlog;
    bool behind;
};

struct session {
    int user, route;
    int64_t number, word; /* word: when it said anything last */
    bool open, located;
    bool unheard; /* its edge has not read yet what is muted */
    struct nearby nearby;
};

struct record {
    struct location event;
    int64_t arrived;
};

struct world {
    uint64_t random, hiding; /* hiding: of its own, so that histories are the same without it */
    double loss;
    bool calm, chaos, digests, overload, wordless;
    int64_t now, reports;
    LIST(struct record) logs[PARTITIONS];
    LIST(struct friend_change) graph_logs[PARTITIONS];
    LIST(struct sharing_change) sharing_logs[PARTITIONS];
    LIST(struct message) deliveries[ROUTES];
    int delivered[ROUTES], committed[PARTITIONS];
    bool friends[USERS][USERS];      /* the truth */
    bool lists[USERS][USERS];        /* what the owners have applied */
    bool muted[USERS][USERS];        /* by the first one */
    bool rounds[USERS][USERS];       /* the first one is seen rounded by the second: the truth */
    uint8_t roundings[USERS][USERS]; /* what the owners have applied */
    double x[USERS];
    bool sharing[USERS];
    int64_t opted[USERS];
    bool reported[USERS];
    int64_t last_ms[USERS];
    struct geo_point last[USERS];
    struct router routers[ROUTERS];
    LIST(struct session *) sessions;
    struct lists *screens;
    struct join_result result;
    uint64_t moves, repairs, joins, skipped;
    uint64_t many; /* screens that were compared while the user had another one */
};

/* ---- chance ---- */

static uint64_t random_u64(struct world *w) { return hash_u64(w->random++); }
static int random_int(struct world *w, int below) { return (int)(random_u64(w) % (uint64_t)below); }
static double random_real(struct world *w) { return (double)(random_u64(w) >> 11) / 9007199254740992.0; }
static double random_gauss(struct world *w, double sigma) {
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += random_real(w);
    return (sum - 6) * sigma;
}

/* ---- the world's clock and places ---- */

static int64_t now_ms(const struct world *w) { return w->now * TICK + TICK - 1; }
static int64_t report_ms(struct world *w) { return w->now * TICK + ++w->reports; }
static struct geo_point place(double x) { return (struct geo_point){(int32_t)(x * UNIT_E7), 0}; }

static struct join_context context(struct world *w, struct router *r) {
    return (struct join_context){
        .presence = r->presence,
        .now = now_ms(w),
        .inactive_ms = (int64_t)INACTIVE * TICK,
        .radius_m = RADIUS_M,
        .rounded = grid_of(PRECISION),
        .warm = true,
        .digests = w->digests,
    };
}

/* ---- routers ---- */

static void put_message(struct world *w, int route, struct message message) {
    w->moves += message.kind == MOVE;
    if (random_real(w) >= w->loss) PUSH(w->deliveries[route], message);
}

static void answer(struct world *w, const struct join_result *r, const struct join_answer *to) {
    int user = (int)r->user;
    if (to->self)
        put_message(w, to->route,
                    (struct message){.kind = SELF, .user = user, .session = to->session, .at = r->at, .time = r->time});
    if (r->roster) {
        struct message m = {.kind = ROSTER,
                            .user = user,
                            .session = to->session,
                            .complete = r->complete,
                            .count = (int)r->roster_count};
        if (r->roster_count) memcpy(m.friends, r->roster_friends, r->roster_count * sizeof *r->roster_friends);
        for (size_t i = 0, k = 0; k < r->roster_rounded_count; i++) {
            m.rounded_friends[i] = r->roster_friends[i].user == r->roster_rounded[k];
            k += m.rounded_friends[i];
        }
        put_message(w, to->route, m);
    }
    if (r->digest)
        put_message(w, to->route,
                    (struct message){.kind = DIGEST,
                                     .user = user,
                                     .session = to->session,
                                     .time = r->time,
                                     .count = r->digest_count,
                                     .hash = r->digest_hash});
}

static void send_result(struct world *w, const struct join_result *r, bool left) {
    int user = (int)r->user;
    for (size_t i = 0; i < r->recipient_count; i++) {
        put_message(w, r->recipients[i].destination,
                    (struct message){.kind = left ? LEFT : MOVE,
                                     .user = (int)r->recipients[i].user,
                                     .about = user,
                                     .at = r->at,
                                     .time = r->time});
    }
    for (size_t i = 0; i < r->rounded_recipient_count; i++) {
        put_message(w, r->rounded_recipients[i].destination,
                    (struct message){.kind = MOVE,
                                     .user = (int)r->rounded_recipients[i].user,
                                     .about = user,
                                     .at = r->rounded_at,
                                     .time = r->time,
                                     .rounded = true});
    }
    for (size_t i = 0; i < r->answer_count; i++) answer(w, r, &r->answers[i]);
}

static size_t friend_list(const struct world *w, int user, int64_t *list) {
    size_t count = 0;
    for (int b = 0; b < USERS; b++) {
        if (w->lists[user][b]) list[count++] = b;
    }
    return count;
}

static void router_join(struct world *w, struct router *r, const struct location *event, int64_t arrived) {
    struct join_context c = context(w, r);
    w->joins++;
    if (join_event(&c, event, arrived, &w->result)) {
        int64_t list[USERS];
        struct rounding some[USERS];
        struct rounding_list roundings = {.items = some};
        size_t count = friend_list(w, (int)event->user, list);
        for (size_t i = 0; i < count; i++) {
            uint8_t bits = w->roundings[event->user][list[i]];
            if (bits) some[roundings.count++] = (struct rounding){list[i], bits};
        }
        join_reserve(&w->result, count);
        join_friends(&c, list, count, &roundings, &w->result);
    }
    send_result(w, &w->result, w->result.left);
}

/* As reports.c does it. */
static void router_befriend(struct world *w, struct router *r, struct friend_change change) {
    bool was = w->lists[change.a][change.b];
    uint8_t changed = w->roundings[change.a][change.b] ^ change.rounding;
    w->lists[change.a][change.b] = change.friends;
    w->roundings[change.a][change.b] = change.rounding;
    if (change.friends) {
        struct join_context c = context(w, r);
        if (!was || changed & ROUNDING_THEIRS) {
            join_befriended(&c, change.a, change.b, change.rounding, &w->result);
            send_result(w, &w->result, false);
        }
        if (was && changed & ROUNDING_MINE) {
            join_rounded(&c, change.a, change.b, change.rounding & ROUNDING_MINE, &w->result);
            send_result(w, &w->result, false);
        }
        return;
    }
    int32_t routes[DEVICES_MAX];
    const struct presence_slot *slot = presence_find(r->presence, change.a);
    size_t count = slot ? presence_routes(r->presence, slot, routes) : 0;
    for (size_t i = 0; i < count; i++)
        put_message(w, routes[i], (struct message){.kind = PARTED, .user = change.a, .about = change.b});
}

/* As overload.c does it. */
static void settle(struct world *w, struct router *r) {
    struct backlog_item item;
    while (backlog_take_oldest(r->backlog, &item)) router_join(w, r, &item.event, item.timestamp);
}

static bool hold(struct world *w, struct router *r, int partition, const struct record *record) {
    const struct location *event = &record->event;
    struct backlog_item item;
    if (backlog_supersede(r->backlog, event))
        w->skipped++;
    else if (backlog_take(r->backlog, event->user, &item))
        router_join(w, r, &item.event, item.timestamp);
    bool costly = w->overload && hash_u64(w->hiding++) % 8 == 0; // its user's joins cost too much
    if (!(r->behind || costly) || event->kind != LOCATION_REPORT) return false;
    item = (struct backlog_item){
        .event = *event, .partition = partition, .offset = r->position[partition] - 1, .timestamp = record->arrived};
    backlog_put(r->backlog, &item);
    return true;
}

/* What of a partition is handled, and may be committed. */
static int handled(const struct router *r, int partition) {
    int64_t offsets[PARTITIONS];
    for (int p = 0; p < PARTITIONS; p++) offsets[p] = r->position[p];
    backlog_lower(r->backlog, offsets, PARTITIONS);
    return (int)offsets[partition];
}

static void log_event_of(struct world *w, struct location event) {
    PUSH(w->logs[event.user % PARTITIONS], (struct record){event, now_ms(w)});
}

enum input { LOCATIONS, GRAPH, SHARING };

static bool router_step(struct world *w, struct router *r) {
    struct {
        enum input input;
        int partition;
    } behind[3 * PARTITIONS];
    int count = 0;
    for (int p = 0; p < PARTITIONS; p++) {
        if (r->position[p] < w->logs[p].count) behind[count].input = LOCATIONS, behind[count++].partition = p;
        if (!r->owned[p]) continue;
        if (r->graph_position[p] < w->graph_logs[p].count) behind[count].input = GRAPH, behind[count++].partition = p;
        if (r->sharing_position[p] < w->sharing_logs[p].count)
            behind[count].input = SHARING, behind[count++].partition = p;
    }
    if (!count) return false;
    int chosen = random_int(w, count), p = behind[chosen].partition;
    switch (behind[chosen].input) {
    case GRAPH: router_befriend(w, r, w->graph_logs[p].items[r->graph_position[p]++]); break;
    case SHARING: {
        struct sharing_change change = w->sharing_logs[p].items[r->sharing_position[p]++];
        if (!change.on)
            log_event_of(w, (struct location){.user = change.user,
                                              .kind = LOCATION_LEAVE,
                                              .time = now_ms(w),
                                              .route = -1,
                                              .opted = change.opted});
        break;
    }
    case LOCATIONS: {
        struct record record = w->logs[p].items[r->position[p]++];
        if (!r->owned[p]) {
            presence_apply(r->presence, &record.event, record.arrived, NULL, NULL);
            break;
        }
        if (!hold(w, r, p, &record)) router_join(w, r, &record.event, record.arrived);
        if (random_real(w) < .3 && w->committed[p] < handled(r, p)) w->committed[p] = handled(r, p);
    }
    }
    return true;
}

/* One router dies, the other takes its partitions; it starts again, warms up, and is given two. */
static void take_over(struct world *w) {
    int dead = random_int(w, ROUTERS);
    struct router *a = &w->routers[dead], *b = &w->routers[1 - dead];
    struct backlog_item lost;
    while (backlog_take_oldest(a->backlog, &lost)) continue;
    settle(w, b);
    for (int p = 0; p < PARTITIONS; p++) {
        if (!a->owned[p]) continue;
        if (b->position[p] > w->committed[p]) b->position[p] = w->committed[p];
        b->graph_position[p] = a->graph_position[p]; /* the store, or a restore, brings the new owner here */
        b->sharing_position[p] = random_int(w, a->sharing_position[p] + 1);
        b->owned[p] = true;
        a->owned[p] = false;
    }
    presence_free(a->presence);
    a->presence = presence_new((int64_t)INACTIVE * TICK);
    for (int p = 0; p < PARTITIONS; p++) {
        int end = random_int(w, 2) ? w->committed[p] : w->logs[p].count;
        for (int i = 0; i < end; i++) {
            const struct record *record = &w->logs[p].items[i];
            presence_apply(a->presence, &record->event, record->arrived, NULL, NULL);
        }
        a->position[p] = end;
    }
    presence_sweep(a->presence, now_ms(w), SIZE_MAX);
    for (int given = 0; given < 2; given++) {
        int p = random_int(w, PARTITIONS);
        if (!b->owned[p]) continue;
        b->owned[p] = false;
        a->owned[p] = true;
        if (a->position[p] > w->committed[p]) a->position[p] = w->committed[p];
        a->graph_position[p] = b->graph_position[p];
        a->sharing_position[p] = b->sharing_position[p];
    }
}

/* ---- phones and their sessions ---- */

/* A record of a session; a session that has long said none says REJOIN. */
static void say(struct world *w, struct session *s, enum location_kind kind, int64_t opted) {
    s->word = w->now;
    log_event_of(w, (struct location){.user = s->user,
                                      .kind = kind,
                                      .lat = s->nearby.at.lat,
                                      .lng = s->nearby.at.lng,
                                      .time = s->nearby.time,
                                      .session = s->number,
                                      .route = s->route,
                                      .opted = opted});
}

/* Where the user is, as far as the user has opted in: the newest report that says so. */
static void count_report(struct world *w, int user, struct geo_point at, int64_t time) {
    if (w->reported[user] && time < w->last_ms[user]) return;
    w->reported[user] = true;
    w->last_ms[user] = time;
    w->last[user] = at;
}

/* A report by a session, or (NULL) by HTTP; opted < 0: as the gateway knows it now. */
static void report(struct world *w, int user, struct session *s, bool move, int64_t opted) {
    if (move) {
        double step[] = {random_gauss(w, 3), random_gauss(w, .5), random_real(w) < .2 ? random_real(w) * 50 - 25 : 0};
        w->x[user] += step[random_int(w, 3)];
    }
    int64_t time = report_ms(w);
    struct geo_point at = place(w->x[user]);
    if (opted < 0) count_report(w, user, at, time);
    if (opted < 0) opted = w->opted[user];
    if (s) {
        enum location_kind kind = s->located ? LOCATION_REPORT : LOCATION_JOIN;
        s->located = true;
        nearby_locate(&s->nearby, at, time);
        say(w, s, kind, opted);
        return;
    }
    log_event_of(w, (struct location){.user = user,
                                      .kind = LOCATION_REPORT,
                                      .lat = at.lat,
                                      .lng = at.lng,
                                      .time = time,
                                      .route = -1,
                                      .opted = opted});
}

/* One that is older than the session's place: it is for history. */
static void report_late(struct world *w, const struct session *s) {
    struct geo_point at = place(w->x[s->user] + 3);
    log_event_of(w, (struct location){.user = s->user,
                                      .kind = LOCATION_REPORT,
                                      .lat = at.lat,
                                      .lng = at.lng,
                                      .time = s->nearby.time > 2 * TICK ? s->nearby.time - 2 * TICK : 0,
                                      .route = -1,
                                      .opted = w->opted[s->user]});
}

static void rejoin(struct world *w, struct session *s) { say(w, s, LOCATION_REJOIN, w->opted[s->user]); }

/* The session's edge has read what is muted. */
static void hear_mutes(const struct world *w, struct session *s) {
    s->unheard = false;
    for (int b = 0; b < USERS; b++) nearby_mute(&s->nearby, b, w->muted[s->user][b]);
}

/* Edges read it at their own times. */
static void mute(struct world *w) {
    int a = (int)(hash_u64(w->hiding++) % USERS), b = (int)(hash_u64(w->hiding++) % USERS);
    w->muted[a][b] = !w->muted[a][b];
    for (int i = 0; i < w->sessions.count; i++) {
        struct session *s = w->sessions.items[i];
        if (s->user != a) continue;
        s->unheard = true;
        if (hash_u64(w->hiding++) % 2) hear_mutes(w, s);
    }
}

/* The open sessions of a user, oldest first. */
static int sessions_of(const struct world *w, int user, struct session **mine) {
    int count = 0;
    for (int i = 0; i < w->sessions.count; i++) {
        struct session *s = w->sessions.items[i];
        if (s->open && s->user == user) mine[count++] = s;
    }
    return count;
}

static void open_session(struct world *w, int user) {
    struct session *mine[SESSIONS];
    if (sessions_of(w, user, mine) == SESSIONS) return;
    struct session *s = mem_zero(1, sizeof *s);
    *s = (struct session){.user = user,
                          .route = random_int(w, ROUTES),
                          .number = (int64_t)(hash_u64(w->hiding++) >> 2) + 1, /* the clocks of edges differ */
                          .open = true};
    nearby_init(&s->nearby, w->screens, RADIUS_M);
    hear_mutes(w, s);
    PUSH(w->sessions, s);
    if (w->sharing[user])
        report(w, user, s, hash_u64(w->hiding++) % 2, -1);
    else
        nearby_locate(&s->nearby, place(w->x[user]), report_ms(w)); /* kept, until the user opts in */
}

static void close_session(struct world *w, struct session *s, bool quit) {
    s->open = false;
    if (quit)
        log_event_of(w, (struct location){.user = s->user,
                                          .kind = LOCATION_QUIT,
                                          .session = s->number,
                                          .route = s->route,
                                          .opted = w->opted[s->user]});
}

/* What edges do once they have heard, each session's in its own time or, if the user is in again by then, never (optouts.c). */
static void hide(struct world *w) {
    struct map *off = map_new();
    for (int user = 0; user < USERS; user++)
        if (!w->sharing[user]) map_put(off, (uint64_t)user, NULL);
    lists_void(w->screens, off);
    for (int i = 0; i < w->sessions.count; i++)
        if (hash_u64(w->hiding++) % 2) nearby_change_all(&w->sessions.items[i]->nearby, off);
    map_free(off);
}

static void share(struct world *w, int user, bool on) {
    int p = user % PARTITIONS;
    struct session *mine[SESSIONS];
    int count = sessions_of(w, user, mine);
    /* Sharing that ends by its `until` has no record of its own: the LEAVE names the record that let the user in, and so do late
     * reports. */
    bool ends = !on && w->opted[user] && hash_u64(w->hiding++) % 2;
    w->sharing[user] = on;
    if (!ends) w->opted[user] = w->sharing_logs[p].count + 1;
    PUSH(w->sharing_logs[p], (struct sharing_change){user, w->opted[user], on});
    if (on) {
        bool newest_first = hash_u64(w->hiding++) % 2;
        for (int i = 0; i < count; i++) {
            struct session *s = mine[newest_first ? count - 1 - i : i];
            nearby_unbar_all(&s->nearby);
            count_report(w, user, s->nearby.at, s->nearby.time);
            s->located = true;
            say(w, s, LOCATION_JOIN, w->opted[user]);
        }
        return;
    }
    if (random_int(w, 2))
        report(w, user, count ? mine[0] : NULL, false, w->opted[user] - !ends); /* an edge that has not heard yet */
    for (int i = 0; i < count; i++) {
        nearby_clear(&mine[i]->nearby);
        mine[i]->located = false;
    }
    w->reported[user] = false;
    hide(w);
}

static uint8_t rounding_of(const struct world *w, int a, int b) {
    return (uint8_t)((w->rounds[a][b] ? ROUNDING_MINE : 0) | (w->rounds[b][a] ? ROUNDING_THEIRS : 0));
}

static void log_pair(struct world *w, int a, int b) {
    bool friends = w->friends[a][b];
    PUSH(w->graph_logs[a % PARTITIONS], (struct friend_change){a, b, friends, rounding_of(w, a, b)});
    PUSH(w->graph_logs[b % PARTITIONS], (struct friend_change){b, a, friends, rounding_of(w, b, a)});
}

static void befriend(struct world *w) {
    int a = random_int(w, USERS), b = random_int(w, USERS);
    if (a == b) return;
    bool friends = !w->friends[a][b];
    w->friends[a][b] = w->friends[b][a] = friends;
    w->rounds[a][b] = w->rounds[b][a] = false;
    log_pair(w, a, b);
}

static void choose_rounding(struct world *w) {
    int a = (int)(hash_u64(w->hiding++) % USERS), b = (int)(hash_u64(w->hiding++) % USERS);
    if (!w->friends[a][b]) return;
    w->rounds[a][b] = !w->rounds[a][b];
    log_pair(w, a, b);
}

static void roster(struct session *s, const struct message *m) {
    nearby_roster_start(&s->nearby);
    for (int i = 0; i < m->count; i++) {
        const struct roster_friend *f = &m->friends[i];
        nearby_roster_entry(&s->nearby, f->user, (struct geo_point){f->lat, f->lng}, f->time, m->rounded_friends[i]);
    }
    nearby_roster_end(&s->nearby, m->complete);
}

static void note(struct world *w, struct session *s, const struct message *m) {
    if (!lists_room(w->screens)) {
        for (int i = 0; i < w->sessions.count; i++) nearby_settle(&w->sessions.items[i]->nearby);
        lists_forget(w->screens);
    }
    uint32_t move = lists_put(
        w->screens, &(struct lists_move){.user = m->about, .at = m->at, .time = m->time, .rounded = m->rounded});
    nearby_note(&s->nearby, move, m->time);
}

static void receive(struct world *w, struct session *s, const struct message *m) {
    if (!w->sharing[s->user]) return;
    switch (m->kind) {
    case MOVE: note(w, s, m); return;
    case LEFT: nearby_remove(&s->nearby, m->about); return;
    case PARTED: nearby_part(&s->nearby, m->about); return;
    default: break;
    }
    if (m->session != s->number) return;
    if (m->kind == SELF) {
        if (m->time > s->nearby.time) nearby_locate(&s->nearby, m->at, m->time);
    } else if (m->kind == ROSTER) {
        roster(s, m);
    } else {
        nearby_expire(&s->nearby, now_ms(w), (int64_t)INACTIVE * TICK);
        if (nearby_digest(&s->nearby, m->time, m->count, m->hash, STRIKES)) {
            w->repairs++;
            rejoin(w, s);
        }
    }
}

static bool edge_step(struct world *w) {
    int behind[ROUTES], count = 0;
    for (int r = 0; r < ROUTES; r++) {
        if (w->delivered[r] < w->deliveries[r].count) behind[count++] = r;
    }
    if (!count) return false;
    int route = behind[random_int(w, count)];
    struct message m = w->deliveries[route].items[w->delivered[route]++];
    struct session *mine[SESSIONS];
    int open = sessions_of(w, m.user, mine);
    for (int i = 0; i < open; i++) {
        if (mine[i]->route == route) receive(w, mine[i], &m);
    }
    return true;
}

/* ---- a history ---- */

static void drain(struct world *w) {
    bool moving = true;
    for (int i = 0; i < w->sessions.count; i++) {
        if (w->sessions.items[i]->unheard) hear_mutes(w, w->sessions.items[i]);
    }
    while (moving) {
        moving = false;
        int first = random_int(w, ROUTERS);
        for (int i = 0; i < ROUTERS; i++) moving |= router_step(w, &w->routers[(first + i) % ROUTERS]);
        moving |= edge_step(w);
        for (int i = 0; !moving && i < ROUTERS; i++) {
            w->routers[i].behind = false;
            moving |= backlog_count(w->routers[i].backlog) > 0;
            settle(w, &w->routers[i]);
        }
    }
}

static void advance(struct world *w, int units) {
    while (units--) {
        w->now++;
        for (int i = 0; i < ROUTERS; i++) presence_sweep(w->routers[i].presence, now_ms(w), SIZE_MAX);
        for (int i = 0; i < w->sessions.count && !w->wordless; i++) {
            struct session *s = w->sessions.items[i];
            if (s->open && s->located && w->sharing[s->user] && w->now - s->word >= WORD) rejoin(w, s);
        }
        if (w->calm) drain(w);
    }
}

static void live(struct world *w, int user, struct session **mine, int count) {
    if (!w->sharing[user]) return;
    if (count && hash_u64(w->hiding++) % 16 == 0) report_late(w, mine[0]);
    if (count)
        report(w, user, mine[random_int(w, count)], true, -1);
    else
        open_session(w, user);
}

static void trouble(struct world *w, double k, int user, struct session **mine, int count) {
    if (k < .96)
        take_over(w);
    else if (k < .965)
        share(w, user, !w->sharing[user]);
    else if (k < .975)
        befriend(w);
    else if (k < .98)
        open_session(w, user);
    else if (k < .985) {
        if (w->sharing[user]) report(w, user, NULL, true, -1);
    } else if (count && w->sharing[user]) {
        mine[0]->route = random_int(w, ROUTES);
        rejoin(w, mine[0]);
    }
}

static void step(struct world *w) {
    double k = random_real(w);
    int user = random_int(w, USERS);
    struct session *mine[SESSIONS];
    int count = sessions_of(w, user, mine);
    if (w->overload && random_int(w, 20) == 0) {
        struct router *r = &w->routers[random_int(w, ROUTERS)];
        r->behind = !r->behind;
        if (!r->behind) settle(w, r);
    }
    if (w->overload && hash_u64(w->hiding++) % 40 == 0) settle(w, &w->routers[hash_u64(w->hiding++) % ROUTERS]);
    if (w->chaos && hash_u64(w->hiding++) % 20 == 0) hide(w);
    if (hash_u64(w->hiding++) % 20 == 0) mute(w);
    if (hash_u64(w->hiding++) % 20 == 0) choose_rounding(w);
    if (k < .35) {
        live(w, user, mine, count);
        advance(w, random_int(w, 3) == 0);
    } else if (k < .6)
        router_step(w, &w->routers[random_int(w, ROUTERS)]);
    else if (k < .9)
        edge_step(w);
    else if (k < .93) {
        if (count) close_session(w, mine[count - 1], random_real(w) < .7);
    } else if (k < .94)
        advance(w, (int[]){5, 20, 60}[random_int(w, 3)]);
    else if (w->chaos)
        trouble(w, k, user, mine, count);
}

static bool is_live(const struct world *w, int user) {
    return w->reported[user] && now_ms(w) - w->last_ms[user] < (int64_t)INACTIVE * TICK && w->sharing[user];
}

/* The screen of an open session against brute force. */
static bool screen_wrong(struct world *w, struct session *s) {
    nearby_expire(&s->nearby, now_ms(w), (int64_t)INACTIVE * TICK);
    const struct grid grid = grid_of(PRECISION);
    for (int b = 0; b < USERS; b++) {
        bool rounded = w->rounds[b][s->user];
        struct geo_point place = rounding_place(&grid, w->last[b], rounded);
        bool want = is_live(w, s->user) && b != s->user && w->friends[s->user][b] && is_live(w, b) &&
                    geo_distance(place, w->last[s->user]) <= RADIUS_M;
        const struct nearby_friend *there = nearby_find(&s->nearby, b);
        bool held = there && there->flags & NEARBY_HELD, shown = held && !(there->flags & NEARBY_MUTED);
        if (want != held || (want && !w->muted[s->user][b]) != shown) return true;
        if (held && !(there->flags & NEARBY_ROUNDED) == rounded) return true;
        /* The newest place is promised of those who have reported since: without a session nobody does. */
        struct session *theirs[SESSIONS];
        if (held && sessions_of(w, b, theirs) && (there->at.lat != place.lat || there->at.lng != place.lng))
            return true;
    }
    return false;
}

static bool wrong(struct world *w) {
    for (int user = 0; user < USERS; user++) {
        struct session *mine[SESSIONS];
        int count = sessions_of(w, user, mine);
        bool checked = is_live(w, user) || !w->sharing[user];
        for (int i = 0; checked && i < count; i++)
            if (screen_wrong(w, mine[i])) return true;
        w->many += checked && count > 1 ? (uint64_t)count : 0;
    }
    return false;
}

static struct world *world_new(uint64_t seed, double loss, bool chaos, bool digests, bool overload) {
    struct world *w = mem_zero(1, sizeof *w);
    *w = (struct world){.random = seed << 32,
                        .hiding = ~seed << 32,
                        .loss = loss,
                        .chaos = chaos,
                        .digests = digests,
                        .overload = overload};
    join_result_init(&w->result);
    w->screens = lists_new();
    for (int a = 0; a < USERS; a++) {
        w->x[a] = random_real(w) * 40;
        w->sharing[a] = true;
        for (int b = 0; b < a; b++) w->friends[a][b] = w->friends[b][a] = random_real(w) < .6;
    }
    for (int a = 0; a < USERS; a++)
        for (int b = 0; b < USERS; b++) w->rounds[a][b] = w->friends[a][b] && hash_u64(w->hiding++) % 4 == 0;
    for (int a = 0; a < USERS; a++)
        for (int b = 0; b < USERS; b++) w->roundings[a][b] = rounding_of(w, a, b);
    memcpy(w->lists, w->friends, sizeof w->lists);
    for (int r = 0; r < ROUTERS; r++) {
        w->routers[r].presence = presence_new((int64_t)INACTIVE * TICK);
        w->routers[r].backlog = backlog_new(USERS);
        for (int p = 0; p < PARTITIONS; p++) w->routers[r].owned[p] = p / 2 == r;
    }
    return w;
}

static void world_free(struct world *w) {
    for (int p = 0; p < PARTITIONS; p++) {
        free(w->logs[p].items);
        free(w->graph_logs[p].items);
        free(w->sharing_logs[p].items);
    }
    for (int r = 0; r < ROUTES; r++) free(w->deliveries[r].items);
    for (int r = 0; r < ROUTERS; r++) {
        presence_free(w->routers[r].presence);
        backlog_free(w->routers[r].backlog);
    }
    for (int i = 0; i < w->sessions.count; i++) {
        nearby_free(&w->sessions.items[i]->nearby);
        free(w->sessions.items[i]);
    }
    free(w->sessions.items);
    lists_free(w->screens);
    join_result_free(&w->result);
    free(w);
}

/* By the first session of each active user, or by any. */
static void everybody_reports(struct world *w, bool any) {
    for (int user = 0; user < USERS; user++) {
        struct session *mine[SESSIONS];
        int count = sessions_of(w, user, mine);
        if (count && is_live(w, user)) report(w, user, mine[any ? random_int(w, count) : 0], !any, -1);
    }
}

static bool history(uint64_t seed, double loss, bool chaos, bool digests, bool overload, bool wordless,
                    struct world *totals) {
    struct world *w = world_new(seed, loss, chaos, digests, overload);
    w->wordless = wordless;
    for (int i = 0; i < STEPS; i++) step(w);
    for (int round = 0; round < 4;
         round++) { /* one session of each user walks, the others are silent for longer than the window */
        everybody_reports(w, false);
        advance(w, WORD);
        drain(w);
    }
    w->loss = 0;
    for (int round = 0; round < ROUNDS; round++) {
        everybody_reports(w, true);
        drain(w);
    }
    bool bad = wrong(w);
    totals->moves += w->moves;
    totals->repairs += w->repairs;
    totals->joins += w->joins;
    totals->skipped += w->skipped;
    totals->many += w->many;
    world_free(w);
    return bad;
}

/* Calm running: everything is delivered before the next thing happens. Then every screen is exact at once, without a digest:
 * what no repair has to make good is told right in the first place. Returns the step that went wrong, or STEPS. */
static int calm_history(uint64_t seed, uint64_t *many) {
    struct world *w = world_new(seed, 0, true, false, false);
    int at;
    w->calm = true;
    for (at = 0; at < STEPS; at++) {
        double k = random_real(w);
        int user = random_int(w, USERS);
        struct session *mine[SESSIONS];
        int count = sessions_of(w, user, mine);
        if (k < .7)
            live(w, user, mine, count);
        else if (k < .76) {
            if (count) close_session(w, mine[count - 1], random_real(w) < .7);
        } else if (k < .8)
            advance(w, (int[]){1, 5, 20, 60}[random_int(w, 4)]);
        else
            trouble(w, .96 + (k - .8) / 5, user, mine, count);
        if (hash_u64(w->hiding++) % 20 == 0) mute(w);
        if (hash_u64(w->hiding++) % 10 == 0) choose_rounding(w);
        drain(w);
        if (wrong(w)) break;
    }
    *many += w->many;
    world_free(w);
    return at;
}

static struct world check_with(const char *name, double loss, bool chaos, bool overload) {
    struct world totals = {0};
    int bad = 0, n = (int)kit_histories(2500);
    for (int seed = 0; seed < n; seed++) {
        if (!history((uint64_t)seed, loss, chaos, true, overload, false, &totals)) continue;
        if (bad++ < 5) print_message("wrong: %s, seed %d\n", name, seed);
    }
    print_message("%s: %d of %d wrong, %.4f repairs a move\n", name, bad, n,
                  (double)totals.repairs / (double)totals.moves);
    assert_int_equal(bad, 0);
    assert_true(!chaos || totals.many > (uint64_t)n); /* a screen or more in each history is one of several */
    return totals;
}

static void check(const char *name, double loss, bool chaos) { check_with(name, loss, chaos, false); }

TEST(skewed_views) { check("skewed views only", 0, false); }
TEST(all_trouble) { check("all trouble, nothing lost", 0, true); }
TEST(little_loss) { check("all trouble, 2% lost", .02, true); }
TEST(much_loss) { check("all trouble, 20% lost", .2, true); }

TEST(far_behind) {
    check_with("far behind now and then", 0, false, true);
    struct world totals = check_with("far behind, all trouble, 2% lost", .02, true, true);
    print_message("%.1f%% of reports were not joined\n",
                  100 * (double)totals.skipped / (double)(totals.skipped + totals.joins));
    assert_true(totals.skipped > totals.joins / 50);
}

TEST(calm_running_needs_no_repair) {
    int bad = 0, n = (int)kit_histories(2500) / 4 + 1;
    uint64_t many = 0;
    for (int seed = 0; seed < n; seed++) {
        int at = calm_history((uint64_t)seed, &many);
        if (at < STEPS && bad++ < 5) print_message("wrong: calm running, seed %d, step %d\n", seed, at);
    }
    print_message("calm running, no digests, every step: %d of %d wrong\n", bad, n);
    assert_int_equal(bad, 0);
    assert_true(many > (uint64_t)n * 100);
}

TEST(without_digests_it_fails) {
    struct world totals = {0};
    int bad = 0, n = (int)kit_histories(2500) / 20 + 100;
    for (int seed = 0; seed < n; seed++) bad += history((uint64_t)seed, .2, true, false, false, false, &totals);
    print_message("20%% lost, no digests: %d of %d wrong\n", bad, n);
    assert_true(bad > n / 50);
}

/* Silent sessions are forgotten. */
TEST(without_words_it_fails) {
    struct world totals = {0};
    int bad = 0, n = (int)kit_histories(2500) / 20 + 100;
    for (int seed = 0; seed < n; seed++) bad += history((uint64_t)seed, .02, true, true, false, true, &totals);
    print_message("2%% lost, no words: %d of %d wrong\n", bad, n);
    assert_true(bad > n / 50);
}

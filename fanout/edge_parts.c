/* Makes the parts of an edge, connects them, and takes them apart. */
#include "event/topics.h"
#include "fanout/edge_private.h"
#include "ws/ws.h"

enum { ASK_TIMEOUT_MS = 2000, PRODUCER_FLUSH_MS = 5000, GATHER_SHARE = 50, GATHER_MAX_MS = 20 };

/* ---- the copies, the producer and the consumer: their callbacks, for all screens ---- */

static void copies_are_ready(void *context) {
    struct edge *edge = context;
    service_ready(edge->service, "copies", true);
    door_update(edge->door);
}

static void sharing_changed(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    struct edge *edge = context;
    SCREENS_CALL(&edge->screens, sharing, user, mode);
    sessions_flush_ready(edge->sessions);
}

static void profile_changed(void *context, int64_t user) {
    SCREENS_CALL(&((struct edge *)context)->screens, profile, user);
}

static void mute_changed(void *context, int64_t user, int64_t other, bool muted) {
    struct edge *edge = context;
    SCREENS_CALL(&edge->screens, muted, user, other, muted);
    sessions_flush_ready(edge->sessions);
}

static void produced(void *context, void *opaque, int code, const struct topic *topic, int32_t partition,
                     int64_t offset) {
    struct edge *edge = context;
    SCREENS_CALL(&edge->screens, produced, opaque, code, topic);
}

static void records(void *context, const struct kafka_record *batch, size_t count) {
    struct edge *edge = context;
    deliveries_apply(edge->deliveries, batch, count);
    sessions_flush_ready(edge->sessions);
}

static void assigned(void *context, const struct kafka_position *owned, size_t count) {
    struct edge *edge = context;
    routes_assigned(edge->routes, owned, count);
}

static void revoked(void *context, bool lost) {
    struct edge *edge = context;
    routes_revoked(edge->routes);
    service_ready(edge->service, "routes", false);
}

/* By time, as librdkafka's question for watermarks waits for a broker that is away whatever timeout it is given. */
static int ask_ends(void *context, struct kafka_position *positions, size_t count, struct error *error) {
    struct edge *edge = context;
    return kafka_consumer_offsets_at(edge->consumer, positions, count, INT64_MAX, ASK_TIMEOUT_MS, error);
}

static int read_routes(void *context, const struct kafka_position *positions, size_t count, struct error *error) {
    struct edge *edge = context;
    return kafka_consumer_read(edge->consumer, positions, count, error);
}

static int64_t position_of(void *context, int32_t partition) {
    struct edge *edge = context;
    return kafka_consumer_position(edge->consumer, &TOPIC_DELIVERIES, partition);
}

/* Ends the process: only a new one can be a member of the group again. */
static void given_up(void *context, const char *reason) { service_fail(((struct edge *)context)->service, reason); }

/* Sessions whose route is gone get another one; with no route at all they are of no use here. */
static void routes_changed(void *context) {
    struct edge *edge = context;
    struct sessions *sessions = edge->sessions;
    for (struct session *session = sessions_first(sessions); session; session = session_next(session)) {
        if (!session_greeted(session) || session_leaving(session)) continue;
        if (routes_has(edge->routes, session_route(session))) continue;
        session_reroute(sessions, session, routes_choose(edge->routes));
        if (session_route(session) == ROUTE_NONE)
            session_leave(sessions, session, WS_RESTART, "no_route", door_delay(edge->door, 0));
    }
    SCREENS_CALL(&edge->screens, routes, routes_first(edge->routes));
    door_update(edge->door);
    service_ready(edge->service, "routes", routes_count(edge->routes) > 0);
}

/* ---- beginning and end ---- */

static void refused(void *context, const char *reason, uint64_t network) {
    const struct edge *edge = context;
    service_refused(edge->service, reason, network);
}

static void make_modules(struct edge *edge) {
    for (size_t i = 0; SCREENS[i]; i++) edge->screens.at[edge->screens.count++].screen = SCREENS[i];
    edge->sessions = sessions_new(&(struct sessions_options){
        .loop = service_loop(edge->service),
        .metrics = service_metrics(edge->service),
        .settings = &edge->settings,
        .screens = &edge->screens,
        .context = edge,
        .refused = refused,
        .tracer = service_kafka(edge->service)->tracer,
    });
    edge->routes = routes_new(&(struct routes_options){
        .loop = service_loop(edge->service),
        .log = service_log(edge->service),
        .metrics = service_metrics(edge->service),
        .used = edge->settings.routes,
        .context = edge,
        .changed = routes_changed,
        .ends = ask_ends,
        .read = read_routes,
        .position = position_of,
    });
    edge->door = door_new(edge);
    edge->deliveries = deliveries_new(edge);
}

/* An edge that lets updates wait for a window lets them wait for a fiftieth of it on each way through Kafka: a request there
 * costs as much as tens of reports. */
static int gathering_ms(const struct edge *edge) {
    int64_t share = edge->settings.flush_ms / GATHER_SHARE;
    return (int)(share < GATHER_MAX_MS ? share : GATHER_MAX_MS);
}

static int start_producer(struct edge *edge, struct error *error) {
    return kafka_producer_new(
        &(struct kafka_producer_options){
            .loop = service_loop(edge->service),
            .settings = service_kafka(edge->service),
            .metrics = service_metrics(edge->service),
            .linger_ms = gathering_ms(edge),
            .context = edge,
            .on_delivered = produced,
        },
        &edge->producer, error);
}

static int64_t protocol_time(void *context) { return protocol_now(&((const struct edge *)context)->clock); }

static int start_copies(struct edge *edge, struct error *error) {
    return user_copies_new(
        &(struct user_copies_options){
            .loop = service_loop(edge->service),
            .settings = service_kafka(edge->service),
            .data_dir = service_settings(edge->service)->data_dir,
            .partitions = edge->shape.partitions[TOPIC_SPACE_USERS],
            .log = service_log(edge->service),
            .metrics = service_metrics(edge->service),
            .dead_letters = edge->producer,
            .context = edge,
            .now = protocol_time,
            .on_ready = copies_are_ready,
            .on_sharing = sharing_changed,
            .on_profile = profile_changed,
            .on_mute = mute_changed,
        },
        &edge->copies, error);
}

static int start_sign_ins(struct edge *edge, struct error *error) {
    const struct feed_screen_settings *feed = FEED_SCREEN_SECTION.values;
    return sign_ins_new(edge->service, feed->group, edge->shape.partitions[TOPIC_SPACE_USERS], &edge->sign_ins, error);
}

static int start_screens(struct edge *edge, struct error *error) {
    int result = 0;
    for (size_t i = 0; i < edge->screens.count && !result; i++) {
        result = edge->screens.at[i].screen->start(
            &(struct screen_options){
                .service = edge->service,
                .settings = &edge->settings,
                .clock = &edge->clock,
                .shape = &edge->shape,
                .modes = user_copies_modes(edge->copies),
                .profiles = user_copies_profiles(edge->copies),
                .mutes = user_copies_mutes(edge->copies),
                .producer = edge->producer,
                .linger_ms = gathering_ms(edge),
                .sessions = edge->sessions,
                .offset = sessions_offset(edge->sessions, i),
                .place = (unsigned)i,
            },
            &edge->screens.at[i].product, error);
    }
    return result;
}

static int start_consumer(struct edge *edge, struct error *error) {
    static const struct topic *const SUBSCRIBED[] = {&TOPIC_DELIVERIES};
    return kafka_consumer_new(
        &(struct kafka_consumer_options){
            .loop = service_loop(edge->service),
            .settings = service_kafka(edge->service),
            .group = edge->settings.group,
            .instance_id = service_settings(edge->service)->group_instance_id,
            .subscribe = SUBSCRIBED,
            .subscribe_count = ARRAY_SIZE(SUBSCRIBED),
            .gather_ms = gathering_ms(edge),
            .context = edge,
            .on_records = records,
            .on_assigned = assigned,
            .on_revoked = revoked,
            .on_fatal = given_up,
        },
        &edge->consumer, error);
}

static int start_phones(struct edge *edge, struct error *error) {
    service_tell_shared(edge->service, "edge.listen", edge->settings.listen);
    int result = phones_new(edge, &edge->phones, error);
    if (result) return result;
    service_ready(edge->service, "listener", true);
    door_attach(edge->door, phones_server(edge->phones));
    return 0;
}

int edge_make_parts(struct edge *edge, struct error *error) {
    make_modules(edge);
    int result = service_auth(edge->service, &edge->auth, error);
    if (result == 0) result = start_producer(edge, error);
    if (result == 0) result = start_copies(edge, error);
    if (result == 0) result = start_sign_ins(edge, error);
    if (result == 0) result = start_screens(edge, error);
    if (result == 0) result = start_consumer(edge, error);
    if (result == 0) result = start_phones(edge, error);
    return result;
}

void edge_free_parts(struct edge *edge) {
    sign_ins_stop(edge->sign_ins);
    sessions_free_all(edge->sessions);
    phones_free(edge->phones);
    kafka_consumer_free(edge->consumer);
    screens_stop(&edge->screens);
    door_free(edge->door);
    routes_free(edge->routes);
    deliveries_free(edge->deliveries);
    sessions_free(edge->sessions);
    sign_ins_free(edge->sign_ins);
    user_copies_free(edge->copies);
    kafka_producer_free(edge->producer, PRODUCER_FLUSH_MS);
}

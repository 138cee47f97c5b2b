#include "unit/fanout/world.h"

#include "unit/kit/kit.h"

static struct view *view_of(const struct fanout_world *world, const struct session *session) {
    return session_part(session, sessions_offset(world->sessions, 0));
}

static void close_view(void *context, struct session *session) {
    struct fanout_world *world = context;
    optouts_forget(world->optouts, view_of(world, session));
    view_close(world->views, world->uplink, view_of(world, session));
}

static const struct screen SCREEN = {.name = "world", .session_bytes = sizeof(struct view), .free = close_view};

static bool shows_details(void *context, int64_t user) {
    (void)user;
    return ((const struct fanout_world *)context)->shows_details;
}

static bool shares(void *context, int64_t user, int64_t *opted) {
    const struct fanout_world *world = context;
    *opted = 0;
    return world->shares;
}

static bool up(void *context) {
    const struct fanout_world *world = context;
    return world->up;
}

static int send_record(void *context, const void *key, size_t key_size, const void *value, size_t size, void *opaque) {
    struct fanout_world *world = context;
    struct error error;
    if (world->refuse_after == 0) return -EAGAIN;
    if (world->refuse_after > 0) world->refuse_after--;
    if (world->said_count == world->said_room) {
        world->said_room = world->said_room ? world->said_room * 2 : 64;
        world->said = mem_resize(world->said, world->said_room, sizeof *world->said);
    }
    return event_decode_location(world->codec, value, size, &world->said[world->said_count++], &error);
}

static void moved(void *context, struct reporter *reporter) {
    struct fanout_world *world = context;
    view_moved(world->views, view_of_reporter(reporter));
}

struct fanout_world *fanout_world_of(int32_t partitions) {
    struct fanout_world *world = mem_zero(1, sizeof *world);
    uv_loop_init(&world->loop);
    world->metrics = metrics_new();
    world->settings = (struct fanout_settings){.flush_ms = WORLD_FLUSH_MS, .hello_s = WORLD_TOKEN_MS / 1000};
    world->clock.stream = true;
    world->up = world->shares = true;
    world->refuse_after = -1;
    world->codec = codec_new();
    world->screens.count = 1;
    world->screens.at[0] = (struct screen_running){.screen = &SCREEN, .product = world};
    world->sessions = sessions_new(&(struct sessions_options){
        .loop = &world->loop, .metrics = world->metrics, .settings = &world->settings, .screens = &world->screens});
    world->views = views_new(&(struct views_options){.sessions = world->sessions,
                                                     .clock = &world->clock,
                                                     .offset = sessions_offset(world->sessions, 0),
                                                     .radius_m = 1000,
                                                     .inactive_ms = 600000,
                                                     .first_page_ms = WORLD_TOKEN_MS});
    world->uplink = uplink_new(&(struct uplink_options){.loop = &world->loop,
                                                        .metrics = world->metrics,
                                                        .sessions = world->sessions,
                                                        .inactive_ms = INT64_C(6) * WORLD_TOKEN_MS,
                                                        .partitions = partitions,
                                                        .gather_most_ms = 250,
                                                        .context = world,
                                                        .shares = shares,
                                                        .shows_details = shows_details,
                                                        .up = up,
                                                        .send = send_record,
                                                        .moved = moved});
    world->optouts = optouts_new(world->views);
    kit_after(fanout_world_free, world);
    return world;
}

struct fanout_world *fanout_world_new(void) {
    return fanout_world_of(0);
}

void fanout_world_free(void *it) {
    struct fanout_world *world = it;
    kit_forget(world);
    sessions_free_all(world->sessions);
    optouts_free(world->optouts);
    uplink_free(world->uplink);
    views_free(world->views);
    sessions_free(world->sessions);
    codec_free(world->codec);
    kit_loop_end(&world->loop);
    metrics_free(world->metrics);
    free(world->said);
    free(world);
}

struct view *fanout_world_view(const struct fanout_world *world, const struct session *session) {
    return view_of(world, session);
}

void fanout_world_report(struct fanout_world *world, struct session *session, int64_t time) {
    uplink_report(world->uplink, view_reporter(view_of(world, session)),
                  &(struct report){.at = {0, 0}, .time = time, .accuracy = -1, .details = {DETAILS_NONE}});
}

struct session *fanout_world_arrive(struct fanout_world *world, int64_t user, bool with_view) {
    struct session *session = session_new(world->sessions, NULL);
    session_greet(world->sessions, session, user, 0);
    session_renew(world->sessions, session, WORLD_TOKEN_MS, 0);
    if (!with_view) return session;
    view_open(world->views, world->uplink, view_of(world, session), world->shares);
    fanout_world_report(world, session, 1);
    return session;
}

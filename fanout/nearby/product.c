/* Makes nearby's modules, connects them with each other and with the core.
 *
 *     phone ---- hello, location, more ----> request.c ----> uplink.c ----> locations
 *           <--- nearby, update <--- frames.c <--- view.c <--- items.c <--- deliveries
 *
 *     nearby.c  one session's list      faces.c    friends' entries as text
 *     lists.c   what lists share        optouts.c  who opts out leaves all lists
 */
#include "fanout/screens.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "fanout/nearby/faces.h"
#include "fanout/nearby/items.h"
#include "fanout/nearby/optouts.h"
#include "fanout/nearby/uplink.h"
#include "fanout/nearby/view.h"
#include "json/place.h"

enum {
    TICK_MS = 10,
    GATHER_SHARE = 4, /* of a window, for which updates wait anyway, reports wait for others so long at most */
    GATHER_MAX_MS = 250
};

struct nearby_screen {
    struct screen_options core;
    struct place_times times;
    struct codec *codec;
    struct faces *faces;
    struct views *views;
    struct uplink *uplink;
    struct optouts *optouts;
    struct items items;
    struct loop_timer *tick; /* begins passes of opt-outs */
    struct loop_idle *hider; /* while one is under way */
};

static struct view *view_of(const struct nearby_screen *product, const struct session *session) {
    return session_part(session, product->core.offset);
}

/* ---- what the uplink needs ---- */

static bool shares(void *context, int64_t user, int64_t *opted) {
    const struct nearby_screen *product = context;
    return sharing_modes_find(product->core.modes, user, opted) != SHARING_OFF;
}

static bool shows_details(void *context, int64_t user) {
    const struct nearby_screen *product = context;
    return sharing_modes_details(product->core.modes, user);
}

static bool broker_up(void *context) {
    const struct nearby_screen *product = context;
    return kafka_producer_up(product->core.producer);
}

static int send_location(void *context, const void *key, size_t key_size, const void *value, size_t size,
                         void *opaque) {
    struct nearby_screen *product = context;
    struct tracer *tracer = sessions_tracer(product->core.sessions);
    struct trace_scope scope;
    bool traced = tracer_begin(tracer, NULL, clock_wall_ns(), &scope);
    struct trace_scope *before = tracer_enter(tracer, traced ? &scope : NULL);
    int code = kafka_producer_send(product->core.producer, &TOPIC_LOCATIONS, KAFKA_PARTITION_BY_KEY, key, key_size,
                                   value, size, opaque);
    tracer_enter(tracer, before);
    if (traced)
        tracer_finish(tracer, &scope,
                      &(struct trace_facts){.kind = TRACE_SERVER, .name = "location", .failed = code != 0});
    return code;
}

static void moved(void *context, struct reporter *reporter) {
    struct nearby_screen *product = context;
    view_moved(product->views, view_of_reporter(reporter));
}

/* ---- phones ---- */

static bool shares_now(struct nearby_screen *product, const struct session *session) {
    int64_t opted;
    return shares(product, session_user(session), &opted);
}

static void open_view(struct nearby_screen *product, struct session *session) {
    struct view *view = view_of(product, session);
    if (view_is_open(view)) return;
    view_open(product->views, product->uplink, view, shares_now(product, session));
    struct mutes_list muted = mutes_of(product->core.mutes, session_user(session));
    for (size_t i = 0; i < muted.count; i++) nearby_mute(view_list(view), muted.items[i], true);
}

static void take_report(struct nearby_screen *product, struct session *session, const struct report *report) {
    struct view *view = view_of(product, session);
    struct report taken = *report;
    int64_t now = clock_wall_ms();
    place_cap_time(&product->times, &taken.time, &now);
    uplink_report(product->uplink, view_reporter(view), &taken);
    if (!shares_now(product, session)) view_first_page(product->views, view); /* no router will answer */
}

/* Tells the phone of a time that it should not have sent; whether it did. */
static bool refuse_time(struct nearby_screen *product, struct session *session, int64_t time) {
    struct error error;
    if (place_check_time(&product->times, time, clock_wall_ms(), &error) == 0) return false;
    session_send_error(product->core.sessions, session, "bad_time", error.text);
    return true;
}

static int check(const json_t *hello, const char **code, struct error *error) {
    struct report report;
    int result = nearby_hello_parse(hello, &report, code, error);
    return result == -ENOENT ? 0 : result;
}

static void hello(void *context, struct session *session, const json_t *message) {
    struct nearby_screen *product = context;
    struct report report;
    struct error error;
    const char *code;
    struct view *view = view_of(product, session);
    int64_t before = nearby_hello_before(message);
    if (before && !view_is_open(view)) uplink_follow(view_reporter(view), before);
    if (nearby_hello_parse(message, &report, &code, &error)) return; /* without a place */
    open_view(product, session);
    if (refuse_time(product, session, report.time)) {
        if (!shares_now(product, session)) view_first_page(product->views, view);
    } else {
        take_report(product, session, &report);
    }
}

static int want_page(struct nearby_screen *product, struct session *session, struct nearby_cursor after,
                     const char **code, struct error *error) {
    struct view *view = view_of(product, session);
    *code = "no_position";
    if (!view_is_open(view)) return error_set(error, -EINVAL, "say where you are first");
    view_want_page(product->views, view, after);
    return 0;
}

static int message(void *context, struct session *session, const char *type, const json_t *object, const char **code,
                   struct error *error) {
    struct nearby_screen *product = context;
    struct nearby_request request;
    int result = nearby_request_parse(type, object, &request, code, error);
    if (result) return result;
    if (request.type == NEARBY_MORE) return want_page(product, session, request.after, code, error);
    if (refuse_time(product, session, request.report.time)) return 0;
    open_view(product, session);
    take_report(product, session, &request.report);
    return 0;
}

/* ---- Kafka ---- */

static int delivery(void *context, int32_t route, const struct deliver_envelope *envelope) {
    const struct nearby_screen *product = context;
    return items_apply(&product->items, route, envelope);
}

static void produced(void *context, void *opaque, int code, const struct topic *topic) {
    struct nearby_screen *product = context;
    if (topic == &TOPIC_LOCATIONS) uplink_produced(product->uplink, opaque, code);
}

static void opt_out(struct nearby_screen *product, struct view *view) {
    uplink_opted_out(product->uplink, view_reporter(view));
    view_empty(product->views, view);
}

static void opt_in(struct nearby_screen *product, struct view *view) {
    uplink_show(product->uplink, view_reporter(view));
    if (uplink_joined(view_reporter(view))) return;
    nearby_unbar_all(view_list(view));
    uplink_opted_in(product->uplink, view_reporter(view));
}

static void on_sharing(void *context, int64_t user, enum sharing_mode mode) {
    struct nearby_screen *product = context;
    struct session *session = sessions_of(product->core.sessions, user);
    for (; session; session = session_twin(session)) {
        struct view *view = view_of(product, session);
        if (!view_is_open(view)) continue;
        view_share(view, mode != SHARING_OFF);
        if (mode == SHARING_OFF)
            opt_out(product, view);
        else
            opt_in(product, view);
    }
    bool anew = faces_show(product->faces, user, shows_details(product, user));
    if (mode == SHARING_OFF)
        optouts_add(product->optouts, user);
    else
        optouts_return(product->optouts, user);
    if (anew && mode != SHARING_OFF) optouts_tell_anew(product->optouts, user);
}

static void on_profile(void *context, int64_t user) { faces_forget(((struct nearby_screen *)context)->faces, user); }

static void on_muted(void *context, int64_t user, int64_t other, bool muted) {
    struct nearby_screen *product = context;
    struct session *session = sessions_of(product->core.sessions, user);
    for (; session; session = session_twin(session)) {
        struct view *view = view_of(product, session);
        if (!view_is_open(view)) continue;
        nearby_mute(view_list(view), other, muted);
        view_changed(product->views, view);
    }
}

/* ---- frames and time ---- */

static struct screen_filled fill(void *context, struct session *session, struct buffer *frame) {
    struct nearby_screen *product = context;
    return view_fill(product->views, view_of(product, session), frame);
}

static void fetch(void *context, const struct session *session, enum screen_ahead ahead) {
    const struct nearby_screen *product = context;
    const struct view *view = view_of(product, session);
    switch (ahead) {
    case SCREEN_NEXT:
        if (view_is_open(view)) view_fetch_slots(view);
        break;
    case SCREEN_SECOND:
        if (view_is_open(view)) view_fetch_tags(view);
        break;
    case SCREEN_THIRD: view_fetch(view); break;
    }
}

static int64_t deadline(const void *context, const struct session *session) {
    const struct nearby_screen *product = context;
    struct view *view = view_of(product, session);
    if (!view_is_open(view)) return INT64_MAX;
    int64_t page = view_deadline(view), record = uplink_deadline(view_reporter(view));
    return page < record ? page : record;
}

static void due(void *context, struct session *session) {
    struct nearby_screen *product = context;
    struct view *view = view_of(product, session);
    if (!view_is_open(view)) return;
    uplink_due(product->uplink, view_reporter(view));
    view_due(product->views, view);
}

static void expire(void *context) { views_expire(((struct nearby_screen *)context)->views); }

static void begin_pass(void *context) {
    struct nearby_screen *product = context;
    if (optouts_begin(product->optouts, clock_coarse_ms())) loop_idle_on(product->hider, 1);
}

static void hide_more(void *context) {
    struct nearby_screen *product = context;
    loop_idle_on(product->hider, optouts_slice(product->optouts));
    sessions_flush_ready(product->core.sessions);
}

/* ---- a session's life ---- */

static void tell_uplink(struct nearby_screen *product, struct session *session,
                        void (*tell)(struct uplink *uplink, struct reporter *reporter)) {
    struct view *view = view_of(product, session);
    if (view_is_open(view)) tell(product->uplink, view_reporter(view));
}

static void routed(void *context, struct session *session) { tell_uplink(context, session, uplink_rejoin_soon); }

static void leave(void *context, struct session *session) { tell_uplink(context, session, uplink_leave); }

static void closed(void *context, struct session *session) { tell_uplink(context, session, uplink_quit); }

static void close_view(void *context, struct session *session) {
    struct nearby_screen *product = context;
    struct view *view = view_of(product, session);
    if (!view_is_open(view)) return;
    optouts_forget(product->optouts, view);
    view_close(product->views, product->uplink, view);
}

/* ---- the product's own ---- */

static void stop(void *context) {
    struct nearby_screen *product = context;
    if (!product) return;
    loop_timer_free(product->tick);
    loop_idle_free(product->hider);
    optouts_free(product->optouts);
    uplink_free(product->uplink);
    views_free(product->views);
    faces_free(product->faces);
    codec_free(product->codec);
    free(product);
}

static int start(const struct screen_options *options, void **made, struct error *error) {
    const struct service_settings *common = service_settings(options->service);
    const struct fanout_settings *settings = options->settings;
    struct nearby_screen *product =
        MEM_NEW(&(struct nearby_screen){.core = *options,
                                        .times = {.any = options->clock->stream, .past_days = common->report_past_days},
                                        .codec = codec_new(),
                                        .faces = faces_new(options->profiles, (size_t)settings->faces_mb << 20)});
    product->views = views_new(&(struct views_options){
        .sessions = options->sessions,
        .clock = options->clock,
        .offset = options->offset,
        .place = options->place,
        .radius_m = common->radius_m,
        .inactive_ms = common->inactive_after_s * 1000,
        .first_page_ms = settings->first_page_ms,
        .faces = product->faces,
    });
    product->uplink = uplink_new(&(struct uplink_options){
        .loop = service_loop(options->service),
        .metrics = service_metrics(options->service),
        .sessions = options->sessions,
        .min_report_ms = settings->min_report_ms,
        .inactive_ms = common->inactive_after_s * 1000,
        .linger_ms = options->linger_ms,
        .gather_most_ms =
            settings->flush_ms / GATHER_SHARE < GATHER_MAX_MS ? settings->flush_ms / GATHER_SHARE : GATHER_MAX_MS,
        .partitions = options->shape->partitions[TOPIC_LOCATIONS.space],
        .context = product,
        .shares = shares,
        .shows_details = shows_details,
        .up = broker_up,
        .send = send_location,
        .moved = moved,
    });
    product->optouts = optouts_new(product->views);
    product->items = (struct items){
        .sessions = options->sessions,
        .views = product->views,
        .uplink = product->uplink,
        .modes = options->modes,
        .faces = product->faces,
        .codec = product->codec,
        .clock = options->clock,
        .offset = options->offset,
        .inactive_ms = common->inactive_after_s * 1000,
        .strikes = (uint32_t)settings->strikes,
    };
    product->tick = loop_timer_new(service_loop(options->service), TICK_MS, TICK_MS, begin_pass, product);
    product->hider = loop_idle_new(service_loop(options->service), hide_more, product);
    *made = product;
    return 0;
}

const struct screen NEARBY_SCREEN = {
    .name = "nearby",
    .kind = SCREEN_NEARBY,
    .session_bytes = sizeof(struct view),
    .start = start,
    .stop = stop,
    .check = check,
    .hello = hello,
    .message = message,
    .delivery = delivery,
    .produced = produced,
    .sharing = on_sharing,
    .profile = on_profile,
    .muted = on_muted,
    .fill = fill,
    .fetch = fetch,
    .deadline = deadline,
    .due = due,
    .expire = expire,
    .routed = routed,
    .leave = leave,
    .closed = closed,
    .free = close_view,
};

/* `starling watch` shows the list of one user's phone in a terminal, and new notices. It is one more device of that user. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/instant.h"
#include "base/mem.h"
#include "cli/audit.h"
#include "cli/past.h"
#include "cli/phone.h"
#include "cli/phone_frame.h"
#include "cli/reader.h"
#include "cli/screen.h"
#include "cli/terminal.h"
#include "users/device.h"

enum { LOOK_BACK_MS = 24 * 3600 * 1000 /* for a last position, when none is given */ };

struct live_watch {
    const struct cli *cli;
    int64_t user;
    const char *device; /* its name */
    struct geo_point at;
    bool placed; /* `at` is known */
    struct phone_socket *phone;
    struct loop_timer *report;
    struct watch_screen *screen;
    struct buffer frame, picture;
    bool page;                 /* redrawn in the terminal; else a line for each change */
    struct terminal *terminal; /* NULL: no page, or not yet, or no longer */
    int64_t clock_ahead_ms;    /* the server's clock before ours */
    int64_t radius_m;
    int64_t unread;      /* notices; -1: not known */
    int64_t notified_ms; /* those of before were shown, or were there before us */
    struct error *error;
};

static int64_t now_ms(const struct live_watch *watch) { return clock_wall_ms() + watch->clock_ahead_ms; }

/* ---- showing ---- */

static void draw(void *context) {
    struct live_watch *watch = context;
    if (!watch->terminal) return;
    size_t count;
    int rows, columns;
    terminal_size(&rows, &columns);
    screen_sorted(watch->screen, &count);
    struct buffer heading = {.data = NULL};
    buffer_format(&heading, "User %" PRId64 " at %.5f, %.5f: %zu near within %" PRId64 " m", watch->user,
                  watch->at.lat / 1e7, watch->at.lng / 1e7, count, watch->radius_m);
    if (watch->unread >= 0) buffer_format(&heading, ", %" PRId64 " unread", watch->unread);
    if (!phone_welcomed(watch->phone)) buffer_string(&heading, " (connecting)");
    buffer_clear(&watch->picture);
    screen_draw(watch->screen, &watch->picture, buffer_cstring(&heading), now_ms(watch), rows);
    terminal_draw(watch->terminal, (const char *)watch->picture.data, watch->picture.size);
    buffer_free(&heading);
}

/* A line, when the output is no terminal. */
static void note(struct live_watch *watch, const char *what) {
    char when[INSTANT_TEXT_SIZE];
    if (watch->page) return;
    printf("%s %s\n", instant_format(clock_wall_ms(), when), what);
    fflush(stdout);
}

static void on_change(void *context, enum screen_change change, const struct screen_friend *who) {
    static const char *const WORDS[] = {[SCREEN_CAME] = "near", [SCREEN_MOVED] = "moved", [SCREEN_LEFT] = "gone"};
    struct live_watch *watch = context;
    if (watch->page) return;
    struct buffer line = {.data = NULL};
    buffer_format(&line, "%s %" PRId64, WORDS[change], who->user);
    if (change != SCREEN_LEFT) {
        buffer_byte(&line, ' ');
        screen_put_distance(&line, who->distance_m);
        buffer_byte(&line, ' ');
        terminal_put_text(&line, who->name);
    }
    note(watch, buffer_cstring(&line));
    buffer_free(&line);
}

/* ---- to the server ---- */

static void hello(void *context, struct buffer *frame, const char *token) {
    struct live_watch *watch = context;
    screen_begin(watch->screen);
    phone_frame_hello(frame, token, watch->device, watch->at, now_ms(watch));
}

/* Keeps the user active, as a phone does. */
static void send_report(void *context) {
    struct live_watch *watch = context;
    if (!phone_welcomed(watch->phone)) return;
    phone_frame_location(&watch->frame, watch->at, now_ms(watch));
    phone_send(watch->phone, &watch->frame); // one that is lost does not matter: the next follows
}

/* ---- from the server ---- */

static int take_welcome(struct live_watch *watch, const json_t *frame) {
    int64_t server_time, report_every_s;
    double radius_m;
    if (json_want_int(frame, "server_time", 0, INT64_MAX, &server_time, NULL) ||
        json_want_int(frame, "report_every_s", 1, 86400, &report_every_s, NULL) ||
        json_want_real(frame, "radius_m", 0, 1e9, &radius_m, NULL)) {
        return -EBADMSG;
    }
    watch->clock_ahead_ms = server_time - clock_wall_ms();
    watch->radius_m = (int64_t)radius_m;
    if (watch->unread < 0) watch->notified_ms = server_time;
    loop_timer_again(watch->report, (uint64_t)report_every_s * 1000, (uint64_t)report_every_s * 1000);
    note(watch, "connected");
    phone_frame_watch_notices(&watch->frame);
    phone_send(watch->phone, &watch->frame);
    return 0;
}

static int take_notice(struct live_watch *watch, const json_t *item, int64_t *newest_ms) {
    const char *what;
    int64_t user, time, count = 1;
    if (json_want_text(item, "what", &what, NULL) || json_want_int(item, "user", 0, INT64_MAX, &user, NULL) ||
        json_want_int(item, "time", 0, INT64_MAX, &time, NULL) ||
        json_want_int(item, "count", 2, INT64_MAX, &count, NULL) == -EINVAL)
        return -EBADMSG;
    if (time <= watch->notified_ms) return 0;
    if (time > *newest_ms) *newest_ms = time;
    struct buffer line = {.data = NULL};
    buffer_string(&line, "notice ");
    terminal_put_text(&line, what);
    buffer_format(&line, " %" PRId64, user);
    if (count > 1) buffer_format(&line, " of %" PRId64, count);
    note(watch, buffer_cstring(&line));
    buffer_free(&line);
    return 0;
}

static int take_notices(struct live_watch *watch, const json_t *frame) {
    const json_t *items = json_object_get(frame, "items");
    int64_t newest_ms = watch->notified_ms, unread;
    if (json_want_int(frame, "unread", 0, INT64_MAX, &unread, NULL) || !json_is_array(items)) return -EBADMSG;
    for (size_t i = json_array_size(items); i-- > 0;) // the oldest first
        if (take_notice(watch, json_array_get(items, i), &newest_ms)) return -EBADMSG;
    watch->notified_ms = newest_ms;
    if (unread == watch->unread) return 0;
    watch->unread = unread;
    char line[32];
    snprintf(line, sizeof line, "unread %" PRId64, unread);
    note(watch, line);
    return 0;
}

static int take_nearby(struct live_watch *watch, const json_t *frame) {
    const char *next = NULL;
    int code = screen_nearby(watch->screen, frame, &next);
    if (code || !next) return code;
    phone_frame_more(&watch->frame, next);
    phone_send(watch->phone, &watch->frame);
    return 0;
}

static int take(void *context, const char *type, const json_t *frame) {
    struct live_watch *watch = context;
    int code = 0; // a newer server may say more than we know
    if (!strcmp(type, "welcome")) code = take_welcome(watch, frame);
    if (!strcmp(type, "nearby")) code = take_nearby(watch, frame);
    if (!strcmp(type, "notices")) code = take_notices(watch, frame);
    if (!strcmp(type, "update")) code = screen_update(watch->screen, frame);
    draw(watch);
    return code;
}

static void lost(void *context) {
    note(context, "disconnected");
    draw(context);
}

/* ---- the command ---- */

static int begin(void *context, struct phone_socket *phone, uv_loop_t *loop, struct error *error) {
    struct live_watch *watch = context;
    watch->phone = phone;
    // The server's welcome says how often; until then nothing is reported.
    watch->report = loop_timer_new(loop, 1, 0, send_report, watch);
    if (watch->page)
        watch->terminal =
            terminal_new(&(struct terminal_options){.loop = loop, .context = watch, .redraw = draw, .on_key = NULL});
    draw(watch);
    return 0;
}

static void end(void *context) {
    struct live_watch *watch = context;
    loop_timer_free(watch->report);
    terminal_free(watch->terminal);
    watch->terminal = NULL;
}

static void keep_place(void *context, const struct track_report *report) {
    struct live_watch *watch = context;
    watch->at = (struct geo_point){.lat = report->lat, .lng = report->lng};
    watch->placed = true;
}

/* Finds the last place of the user. */
static int find_place(struct live_watch *watch) {
    int64_t now = clock_wall_ms();
    const struct past_question question = {
        .user = watch->user,
        .from_ms = now - LOOK_BACK_MS,
        .to_ms = INT64_MAX,
        .context = watch,
        .take = keep_place,
    };
    struct past *past = NULL;
    int code = past_new(watch->cli, &past, watch->error);
    if (!code) code = past_read(past, &question, watch->error);
    past_free(past);
    if (code == -EHOSTDOWN) return code;
    if (code) return error_prefix(watch->error, code, "where the user is, without --at");
    if (watch->placed) return 0;
    return error_set(watch->error, -ENOENT, "the user has reported nothing for a day: give --at LAT,LNG");
}

static int start(struct live_watch *watch, struct phone_options *phone) {
    const struct watch_screen_options options = {.context = watch, .on_change = on_change};
    // With the user's own token the operator is not needed.
    struct topics_shape shape;
    int code = phone->token ? 0 : reader_shape(watch->cli, &shape, watch->error);
    if (!code && !phone->token) code = audit_read(watch->cli, "", &watch->user, 1, watch->error);
    if (!code && !watch->placed) code = find_place(watch);
    if (!code) {
        watch->screen = screen_new(&options);
        screen_place(watch->screen, watch->at);
        code = phone_run(phone, watch->error);
    }
    screen_free(watch->screen);
    buffer_free(&watch->frame);
    buffer_free(&watch->picture);
    return code ? cli_fail(&WATCH_COMMAND, 1, "%s", watch->error->text) : 0;
}

static int run(struct cli *cli, int argc, char **argv) {
    const char *at = NULL;
    struct error error = {.text = ""};
    struct live_watch watch = {
        .cli = cli, .error = &error, .device = "starling watch", .page = terminal_is_there(), .unread = -1};
    struct phone_options phone = {.cli = cli,
                                  .context = &watch,
                                  .start = begin,
                                  .end = end,
                                  .hello = hello,
                                  .take = take,
                                  .lost = lost,
                                  .second = draw};
    const struct cli_option options[] = {
        {"at", "LAT,LNG", "where the user is, in degrees (where they last reported)", &at, NULL},
        {"ws", "URL", "WebSocket address of the edge (ws.url)", &phone.url, NULL},
        {"token", "TOKEN", "the user's token (signed with auth.hs256.key.file)", &phone.token, NULL},
        {"device", "NAME", "of this session on the user's list of devices (starling watch)", &watch.device, NULL},
        {"ca", "FILE", "PEM file of the authorities to trust for wss://", &phone.authorities, NULL},
    };
    int code = cli_open(cli, &WATCH_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    if (!phone.url) phone.url = cli->settings.ws_url;
    if (cli_one_user(cli, &watch.user)) return CLI_WRONG_USAGE;
    if (at && !cli_place(at, &watch.at)) return CLI_WRONG(&WATCH_COMMAND, "--at %s: must be LAT,LNG in degrees", at);
    if (strncmp(phone.url, "ws://", 5) && strncmp(phone.url, "wss://", 6))
        return CLI_WRONG(&WATCH_COMMAND, "--ws %s: must begin with ws:// or wss://", phone.url);
    if (!device_name_is(watch.device, strlen(watch.device)))
        return CLI_WRONG(&WATCH_COMMAND, "--device must be 1 to %d bytes of text without control characters",
                         DEVICE_NAME_MAX);
    watch.placed = at != NULL;
    phone.user = watch.user;
    return start(&watch, &phone);
}

const struct cli_command WATCH_COMMAND = {
    .name = "watch",
    .synopsis = "USER [--at LAT,LNG] [--ws URL] [--token TOKEN] [--device NAME] [--ca FILE]",
    .summary = "a user's list, and new notices, as they come",
    .run = run,
};

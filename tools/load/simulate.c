/* `starling-load simulate`: a trace of real people, or a city that never was, as thousands of phones. */
#include "tools/load/simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/load/city.h"
#include "tools/load/city_map.h"
#include "tools/load/handsets.h"
#include "tools/load/population.h"
#include "tools/load/simulate_options.h"
#include "tools/load/social.h"
#include "tools/load/trace.h"

enum {
    PUMP_MS = 10,
    PUMP_MAX = 500,     /* reports a turn when as fast as possible */
    UNSENT_MAX = 50,    /* sockets that may be stuffed before the pump waits */
    OFFLINE_MAX = 300,  /* phones that may be on their way before the pump waits */
    QUIET_US = 3000000, /* no frame for this long: everything has arrived */
    PATIENCE_US = 120000000,
    SAY_EVERY_US = 5000000,
    AWAY_MS = 15000, /* of a phone that has hung up */
    TOKEN_TTL_MS = 24 * 3600 * 1000,
    PATH_MAX_BYTES = 4096
};

/* The phones pass through these phases; at the last end, people come to rest in the feed, too. */
enum phase { MOVING, GATHERING, SETTLING, DONE, RESTING, OVER };

struct simulation {
    struct simulate_options options;
    const struct cli *cli;
    uv_loop_t loop;
    struct handsets *phones;
    struct trace trace;
    struct city *city;
    struct population *population; /* NULL: neither imported nor in the feed */
    struct social *social;         /* NULL: nobody uses the feed */
    struct loop_timer *pump;
    uv_signal_t interrupt, terminate;
    enum phase phase;
    size_t next;        /* fix of the trace */
    int end;            /* of options.ends_s: where it goes now */
    int64_t *city_due;  /* when each person reports next, ms on the monotonic clock */
    int64_t hung_up_us; /* up to when phones have hung up (options.churn) */
    int64_t started_us, phase_us, said_us;
    int64_t rounds_done;
    bool interrupted;
    int result;
};

static int64_t elapsed_us(int64_t since_us) { return clock_monotonic_us() - since_us; }

/* ---- moving ---- */

static bool exists(const char *path) { return path && access(path, F_OK) == 0; }

static bool crowded(const struct simulation *s) {
    struct handsets_counts counts = handsets_counts(s->phones);
    return counts.unsent > UNSENT_MAX || counts.known - counts.superseded - counts.online > OFFLINE_MAX;
}

/* The trace up to where its clock is. False: all of it up to the next end was reported. */
static bool move_trace(struct simulation *s) {
    double factor = s->options.factor;
    int64_t start = (s->end ? s->options.ends_s[s->end - 1] : s->options.from_s) * 1000,
            end = s->options.ends_s[s->end] * 1000;
    int64_t until = factor > 0 ? start + (int64_t)((double)elapsed_us(s->started_us) / 1000 * factor) : end;
    if (until > end) until = end;
    for (int i = 0; s->next < s->trace.count && s->trace.fixes[s->next].time <= until; i++) {
        if (factor <= 0 && (i == PUMP_MAX || crowded(s))) break;
        const struct fix *fix = &s->trace.fixes[s->next++];
        handsets_report(s->phones, fix->user, fix->at, fix->time);
    }
    return s->next < s->trace.count && s->trace.fixes[s->next].time <= end;
}

static void move_city(struct simulation *s) {
    int64_t now = clock_monotonic_us() / 1000, wall = clock_wall_ms();
    for (int64_t user = 1; user <= city_people(s->city); user++) {
        if (s->city_due[user] > now) continue;
        /* Everybody keeps their own beat, however long the set-up took: all at once would be a wall of reports. */
        s->city_due[user] += s->options.every_ms * ((now - s->city_due[user]) / s->options.every_ms + 1);
        handsets_report(s->phones, user, city_place(s->city, user, wall), wall);
    }
}

static void churn(struct simulation *s) {
    double each_us = 60e6 / (s->options.churn * (double)city_people(s->city)); /* from one phone to the next */
    double due = (double)elapsed_us(s->hung_up_us) / each_us;
    if (due < 1) return;
    handsets_hang_up(s->phones, (size_t)due, AWAY_MS);
    s->hung_up_us += (int64_t)((double)(size_t)due * each_us);
}

/* False: the simulation is over. Its time counts from the moment when people begin to post and to read. */
static bool live_on(struct simulation *s) {
    if (s->city && !s->options.no_phones) move_city(s);
    if (s->city && s->options.churn > 0) churn(s);
    if (s->social && social_learning(s->social)) {
        s->started_us = clock_monotonic_us();
        return true;
    }
    if (s->options.wait_for && !exists(s->options.wait_for)) return true;
    return !s->options.duration_s || elapsed_us(s->started_us) < s->options.duration_s * 1000000;
}

/* ---- the end: everybody is there, repeats its place, and all is quiet ---- */

static void enter(struct simulation *s, enum phase phase) {
    s->phase = phase;
    s->phase_us = clock_monotonic_us();
}

static void fail(struct simulation *s, const char *reason) {
    struct handsets_counts counts = handsets_counts(s->phones);
    s->result = cli_fail(&SIMULATE_COMMAND, 1, "%s (%zu of %zu phones online)", reason, counts.online, counts.known);
    enter(s, DONE);
}

static bool gathered(const struct simulation *s) {
    struct handsets_counts counts = handsets_counts(s->phones);
    return counts.online + counts.superseded >= counts.known && counts.unsent == 0;
}

static bool quiet(const struct simulation *s) {
    int64_t last = handsets_counts(s->phones).last_frame_us;
    return elapsed_us(last > s->phase_us ? last : s->phase_us) > QUIET_US;
}

static void gather(struct simulation *s) {
    if (s->options.wait_for && !exists(s->options.wait_for)) {
        s->phase_us = clock_monotonic_us(); /* patience starts when it is there */
        return;
    }
    if (gathered(s))
        enter(s, SETTLING);
    else if (elapsed_us(s->phase_us) > PATIENCE_US)
        fail(s, "not all phones could connect");
}

static void settle(struct simulation *s) {
    if (!quiet(s)) {
        if (elapsed_us(s->phase_us) > PATIENCE_US) fail(s, "the servers did not come to rest");
        return;
    }
    if (s->rounds_done >= s->options.rounds && !exists(s->options.settle_while)) {
        enter(s, DONE);
        return;
    }
    s->rounds_done++;
    fprintf(stderr, "simulate: every phone repeats its place (round %" PRId64 ")\n", s->rounds_done);
    handsets_repeat(s->phones);
    enter(s, SETTLING);
}

static void write_line(void *context, int64_t user, int64_t friend, double distance_m) {
    fprintf(context, "%" PRId64 ",%" PRId64 ",%.4f\n", user, friend, distance_m);
}

/* The file's name with {until} replaced by the end that was reached. */
static void list_path(const struct simulation *s, char path[PATH_MAX_BYTES]) {
    const char *mark = strstr(s->options.lists, "{until}");
    if (!mark)
        snprintf(path, PATH_MAX_BYTES, "%s", s->options.lists);
    else
        snprintf(path, PATH_MAX_BYTES, "%.*s%" PRId64 "%s", (int)(mark - s->options.lists), s->options.lists,
                 s->options.ends_s[s->end], mark + strlen("{until}"));
}

static void write_lists(struct simulation *s) {
    char path[PATH_MAX_BYTES];
    if (!s->options.lists || s->result || s->interrupted) return;
    list_path(s, path);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs("user,friend,distance_m\n", file);
        handsets_screens(s->phones, write_line, file);
    }
    if (!file || fclose(file)) s->result = cli_fail(&SIMULATE_COMMAND, 1, "cannot write %s", path);
}

/* An end is reached: its lists are written, and the trace goes on to the next. At the last one all comes to rest. */
static void arrive(struct simulation *s) {
    write_lists(s);
    if (!s->options.trace || s->interrupted || s->result || s->end + 1 >= s->options.end_count) {
        bool rests = s->social && !s->interrupted && !s->result;
        if (rests) social_rest(s->social);
        enter(s, rests ? RESTING : OVER);
        return;
    }
    s->end++;
    s->rounds_done = 0;
    s->started_us = clock_monotonic_us();
    enter(s, MOVING);
}

/* ---- the loop ---- */

static void say_phones(const struct simulation *s) {
    struct handsets_counts counts = handsets_counts(s->phones);
    fprintf(stderr,
            "simulate: %zu phones, %zu online, %" PRIu64 " reports, %" PRIu64 " frames with %" PRIu64
            " entries, %" PRIu64 " connections lost\n",
            counts.known, counts.online, counts.reports, counts.frames, counts.entries, counts.closed);
    if (counts.errors) fprintf(stderr, "simulate: %" PRIu64 " frames were errors or not understood\n", counts.errors);
}

static void say(struct simulation *s) {
    if (elapsed_us(s->said_us) < SAY_EVERY_US && s->phase != DONE && s->phase != OVER) return;
    s->said_us = clock_monotonic_us();
    if (!s->options.no_phones) say_phones(s);
    if (s->social) social_say(s->social);
}

static void closed(void *context) {
    struct simulation *s = context;
    uv_close((uv_handle_t *)&s->interrupt, NULL);
    uv_close((uv_handle_t *)&s->terminate, NULL);
}

/* Everything was done, or it was interrupted. */
static void end(struct simulation *s) {
    if (s->social && !social_well(s->social) && !s->result)
        s->result = cli_fail(&SIMULATE_COMMAND, 1, "the feed was not as it must be");
    social_free(s->social);
    s->social = NULL;
    loop_timer_free(s->pump);
    s->pump = NULL;
    handsets_shutdown(s->phones, closed, s);
}

static void pump(void *context) {
    struct simulation *s = context;
    if (s->phase == MOVING && (s->interrupted || !(s->options.trace ? move_trace(s) : live_on(s)))) {
        enter(s, s->interrupted || (!s->options.lists && !s->options.rounds) ? DONE : GATHERING);
    } else if (s->interrupted && s->phase < DONE) {
        enter(s, DONE);
    }
    if (s->phase == GATHERING)
        gather(s);
    else if (s->phase == SETTLING)
        settle(s);
    else if (s->phase == RESTING && (s->interrupted || social_over(s->social)))
        enter(s, OVER);
    say(s);
    if (s->phase == DONE) arrive(s);
    if (s->phase == OVER) end(s);
}

static void interrupted(uv_signal_t *handle, int number) {
    struct simulation *s = handle->data;
    s->interrupted = true;
}

static int social_begin(struct simulation *s, struct error *error) {
    const struct simulate_options *o = &s->options;
    if (!o->social) return 0;
    return social_new(
        &(struct social_options){
            .loop = &s->loop,
            .population = s->population,
            .follows_wanted = !o->no_setup,
            .urls = o->http.items,
            .url_count = o->http.count,
            .hs256_key_file = s->cli->settings.hs256_key_file,
            .seed = (uint64_t)o->seed,
            .posts = o->posts,
            .follows = o->follows,
            .reads = o->reads,
            .comments = o->comments,
            .fire_us = o->fire_us,
            .check = o->check,
            .margin_us = o->margin_us,
            .patience_us = o->patience_us,
            .feed_path = o->feed,
        },
        &s->social, error);
}

static int run(struct simulation *s, struct error *error) {
    uv_loop_init(&s->loop);
    int result = handsets_new(
        &(struct handsets_options){
            .loop = &s->loop,
            .urls = s->options.ws.items,
            .url_count = s->options.ws.count,
            .hs256_key_file = s->cli->settings.hs256_key_file,
            .token_ttl_ms = TOKEN_TTL_MS,
        },
        &s->phones, error);
    if (result == 0) result = social_begin(s, error);
    if (result == 0) {
        s->started_us = s->said_us = s->hung_up_us = clock_monotonic_us();
        uv_signal_init(&s->loop, &s->interrupt);
        uv_signal_init(&s->loop, &s->terminate);
        s->interrupt.data = s->terminate.data = s;
        uv_signal_start(&s->interrupt, interrupted, SIGINT);
        uv_signal_start(&s->terminate, interrupted, SIGTERM);
        s->pump = loop_timer_new(&s->loop, 0, PUMP_MS, pump, s);
        uv_run(&s->loop, UV_RUN_DEFAULT);
    }
    handsets_free(s->phones);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    return result;
}

/* ---- the command ---- */

static int prepare(struct simulation *s, struct error *error) {
    struct simulate_options *o = &s->options;
    if (o->trace) {
        int result = trace_read(o->trace, o->from_s, o->ends_s[o->end_count - 1], &s->trace, error);
        if (result) return result;
        fprintf(stderr, "simulate: %zu positions in %s\n", s->trace.count, o->trace);
    } else if (o->people) {
        s->city = city_new(o->people, (uint64_t)o->seed);
        s->city_due = mem_zero((size_t)o->people + 1, sizeof *s->city_due);
        int64_t now = clock_monotonic_us() / 1000;
        for (int64_t user = 1; user <= o->people; user++) s->city_due[user] = now + o->every_ms * user / o->people;
    }
    bool setup = !o->no_setup && (o->graph || s->city);
    if (!o->social && !setup) return 0;
    const struct population_options population = {
        .city = s->city, .trace = &s->trace, .graph = o->graph, .authors = (size_t)o->authors};
    int result = population_new(&population, &s->population, error);
    return result || !setup ? result : population_import(s->population, s->cli, o->social, error);
}

static int write_map(const char *path, struct error *error) {
    FILE *file = fopen(path, "w");
    if (!file) return error_set(error, -errno, "%s: %s", path, strerror(errno));
    struct buffer map = {.size = 0};
    city_map_put(&map);
    bool written = fwrite(map.data, 1, map.size, file) == map.size;
    buffer_free(&map);
    if (fclose(file) || !written) return error_set(error, -EIO, "%s cannot be written", path);
    return 0;
}

static int simulate(struct cli *cli, int argc, char **argv) {
    struct simulation s = {.cli = cli};
    struct error error;
    int result = simulate_options_open(&s.options, cli, &SIMULATE_COMMAND, argc, argv);
    if (result) return result;
    if (s.options.map ? write_map(s.options.map, &error) : prepare(&s, &error) || run(&s, &error))
        result = cli_fail(&SIMULATE_COMMAND, 1, "%s", error.text);
    if (result == 0) result = s.result;
    trace_free(&s.trace);
    population_free(s.population);
    city_free(s.city);
    free(s.city_due);
    simulate_options_free(&s.options);
    return result;
}

const struct cli_command SIMULATE_COMMAND = {
    .name = "simulate",
    .synopsis = "(--trace FILE | --city N | --graph FILE --no-phones | --map FILE) ...",
    .summary = "thousands of people in one process: their phones, posts and pages",
    .run = simulate,
    .program = "starling-load",
};

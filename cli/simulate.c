/* `starling simulate`: a trace of real people, or a city that never was, as thousands of phones. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/city.h"
#include "cli/cli.h"
#include "cli/phones.h"
#include "cli/populate.h"
#include "cli/trace.h"

enum {
    PUMP_MS = 10,
    PUMP_MAX = 500,     /* reports a turn when as fast as possible */
    UNSENT_MAX = 50,    /* sockets that may be stuffed before the pump waits */
    OFFLINE_MAX = 300,  /* phones that may be on their way before the pump waits */
    QUIET_US = 3000000, /* no frame for this long: everything has arrived */
    PATIENCE_US = 120000000,
    SAY_EVERY_US = 5000000,
    TOKEN_TTL_MS = 24 * 3600 * 1000,
    URLS_MAX = 64,
    ENDS_MAX = 64,
    PATH_MAX_BYTES = 4096
};

struct options {
    const char *trace, *graph, *from, *until, *speed, *ws, *lists, *settle, *city, *seed, *every, *duration, *wait_for,
        *settle_while;
    bool no_setup;
    int64_t ends_s[ENDS_MAX]; /* where the trace stops for a look at the screens, rising; the last one ends it */
    int end_count;
    int64_t from_s, rounds, people, random_seed, every_ms, duration_s;
    double factor; /* 0: as fast as possible */
};

/* What the phones do, one after the other. */
enum phase { MOVING, GATHERING, SETTLING, DONE };

struct simulation {
    struct options options;
    struct cli cli;
    uv_loop_t loop;
    struct phones *phones;
    struct trace trace;
    struct city *city;
    struct loop_timer *pump;
    uv_signal_t interrupt, terminate;
    enum phase phase;
    size_t next;       /* fix of the trace */
    int end;           /* of options.ends_s: where it goes now */
    int64_t *city_due; /* when each person reports next, ms on the monotonic clock */
    int64_t started_us, phase_us, said_us;
    int64_t rounds_done;
    bool interrupted;
    int result;
};

static int64_t elapsed_us(int64_t since_us) { return clock_monotonic_us() - since_us; }

/* ---- moving ---- */

static bool exists(const char *path) { return path && access(path, F_OK) == 0; }

static bool crowded(const struct simulation *s) {
    struct phones_counts counts = phones_counts(s->phones);
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
        phones_report(s->phones, fix->user, fix->at, fix->time);
    }
    return s->next < s->trace.count && s->trace.fixes[s->next].time <= end;
}

static bool move_city(struct simulation *s) {
    int64_t now = clock_monotonic_us() / 1000, wall = clock_wall_ms();
    for (int64_t user = 1; user <= city_people(s->city); user++) {
        if (s->city_due[user] > now) continue;
        /* Everybody keeps their own beat, however long the set-up took: all at once would be a wall of reports. */
        s->city_due[user] += s->options.every_ms * ((now - s->city_due[user]) / s->options.every_ms + 1);
        phones_report(s->phones, user, city_place(s->city, user, wall), wall);
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
    struct phones_counts counts = phones_counts(s->phones);
    s->result = cli_fail(&SIMULATE_COMMAND, 1, "%s (%zu of %zu phones online)", reason, counts.online, counts.known);
    enter(s, DONE);
}

static bool gathered(const struct simulation *s) {
    struct phones_counts counts = phones_counts(s->phones);
    return counts.online + counts.superseded >= counts.known && counts.unsent == 0;
}

static bool quiet(const struct simulation *s) {
    int64_t last = phones_counts(s->phones).last_frame_us;
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
    phones_repeat(s->phones);
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
        phones_screens(s->phones, write_line, file);
    }
    if (!file || fclose(file)) s->result = cli_fail(&SIMULATE_COMMAND, 1, "cannot write %s", path);
}

/* An end is reached: its lists are written, and the trace goes on to the next. */
static void arrive(struct simulation *s) {
    write_lists(s);
    if (s->city || s->interrupted || s->result || s->end + 1 >= s->options.end_count) return;
    s->end++;
    s->rounds_done = 0;
    s->started_us = clock_monotonic_us();
    enter(s, MOVING);
}

/* ---- the loop ---- */

static void say(struct simulation *s) {
    struct phones_counts counts = phones_counts(s->phones);
    if (elapsed_us(s->said_us) < SAY_EVERY_US && s->phase != DONE) return;
    s->said_us = clock_monotonic_us();
    fprintf(stderr,
            "simulate: %zu phones, %zu online, %" PRIu64 " reports, %" PRIu64 " frames with %" PRIu64
            " entries, %" PRIu64 " connections lost\n",
            counts.known, counts.online, counts.reports, counts.frames, counts.entries, counts.closed);
    if (counts.errors) fprintf(stderr, "simulate: %" PRIu64 " frames were errors or not understood\n", counts.errors);
}

static void closed(void *context) {
    struct simulation *s = context;
    uv_close((uv_handle_t *)&s->interrupt, NULL);
    uv_close((uv_handle_t *)&s->terminate, NULL);
}

static void pump(void *context) {
    struct simulation *s = context;
    if (s->phase == MOVING && (s->interrupted || !(s->city ? move_city(s) : move_trace(s)))) {
        enter(s, s->interrupted || (!s->options.lists && !s->options.rounds) ? DONE : GATHERING);
    } else if (s->interrupted && s->phase != DONE) {
        enter(s, DONE);
    }
    if (s->phase == GATHERING)
        gather(s);
    else if (s->phase == SETTLING)
        settle(s);
    say(s);
    if (s->phase == DONE) arrive(s);
    if (s->phase != DONE) return;
    loop_timer_free(s->pump);
    s->pump = NULL;
    phones_shutdown(s->phones, closed, s);
}

static void interrupted(uv_signal_t *handle, int number) {
    struct simulation *s = handle->data;
    (void)number;
    s->interrupted = true;
}

static int run(struct simulation *s, const char *const *urls, size_t url_count, struct error *error) {
    uv_loop_init(&s->loop);
    int result = phones_new(
        &(struct city_phones_options){
            .loop = &s->loop,
            .urls = urls,
            .url_count = url_count,
            .hs256_key_file = s->cli.settings.hs256_key_file,
            .token_ttl_ms = TOKEN_TTL_MS,
        },
        &s->phones, error);
    if (result == 0) {
        s->started_us = s->said_us = clock_monotonic_us();
        uv_signal_init(&s->loop, &s->interrupt);
        uv_signal_init(&s->loop, &s->terminate);
        s->interrupt.data = s->terminate.data = s;
        uv_signal_start(&s->interrupt, interrupted, SIGINT);
        uv_signal_start(&s->terminate, interrupted, SIGTERM);
        s->pump = loop_timer_new(&s->loop, 0, PUMP_MS, pump, s);
        uv_run(&s->loop, UV_RUN_DEFAULT);
    }
    phones_free(s->phones);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    return result;
}

/* ---- the command ---- */

/* "36000" or "32400,36000": rising. */
static bool parse_ends(struct options *o) {
    char *text = mem_string(o->until);
    int64_t last = o->from_s;
    bool good = true;
    for (char *save, *end = strtok_r(text, ",", &save); end && good; end = strtok_r(NULL, ",", &save)) {
        good = o->end_count < ENDS_MAX && cli_int(end, last, 86400 * 365, &o->ends_s[o->end_count]);
        if (good) last = o->ends_s[o->end_count++];
    }
    free(text);
    return good && o->end_count > 0;
}

static int check_options(struct options *o) {
    if (!o->trace == !o->city) return cli_fail(&SIMULATE_COMMAND, 2, "give --trace FILE or --city N");
    if (!cli_int(o->from, 0, 86400, &o->from_s) || !parse_ends(o))
        return cli_fail(&SIMULATE_COMMAND, 2, "--from and --until are seconds of the day, rising");
    if (strcmp(o->speed, "max") == 0)
        o->factor = 0;
    else if (!cli_real(o->speed, 0.001, 1e6, &o->factor))
        return cli_fail(&SIMULATE_COMMAND, 2, "--speed is a factor such as 60, or max");
    double every_s;
    if (!cli_real(o->every, 0.01, 3600, &every_s))
        return cli_fail(&SIMULATE_COMMAND, 2, "--every is a number of seconds");
    o->every_ms = (int64_t)(every_s * 1000);
    if (!cli_int(o->settle, 0, 100, &o->rounds) || !cli_int(o->seed, 0, INT64_MAX, &o->random_seed) ||
        !cli_int(o->duration, 0, INT64_MAX / 1000000, &o->duration_s) ||
        !cli_int(o->city ? o->city : "0", o->city ? 2 : 0, 10000000, &o->people))
        return cli_fail(&SIMULATE_COMMAND, 2, "--settle, --seed, --for and --city are whole numbers");
    return 0;
}

static size_t split_urls(char *text, const char **urls) {
    size_t count = 0;
    for (char *save, *url = strtok_r(text, ",", &save); url && count < URLS_MAX; url = strtok_r(NULL, ",", &save))
        urls[count++] = url;
    return count;
}

static int prepare(struct simulation *s, struct error *error) {
    struct options *o = &s->options;
    if (o->trace) {
        int result = trace_read(o->trace, o->from_s, o->ends_s[o->end_count - 1], &s->trace, error);
        if (result) return result;
        fprintf(stderr, "simulate: %zu positions in %s\n", s->trace.count, o->trace);
    } else {
        s->city = city_new(o->people, (uint64_t)o->random_seed);
        s->city_due = mem_zero((size_t)o->people + 1, sizeof *s->city_due);
        int64_t now = clock_monotonic_us() / 1000;
        for (int64_t user = 1; user <= o->people; user++) s->city_due[user] = now + o->every_ms * user / o->people;
    }
    if (o->no_setup || (!o->graph && !s->city)) return 0;
    const struct populate_options people = {.cli = &s->cli, .trace = &s->trace, .city = s->city, .graph = o->graph};
    return populate_run(&people, error);
}

static int simulate(int argc, char **argv) {
    struct simulation s = {.options = {.from = "0",
                                       .until = "86400",
                                       .speed = "60",
                                       .ws = "ws://127.0.0.1:8081/",
                                       .settle = "0",
                                       .seed = "1",
                                       .every = "30",
                                       .duration = "0"}};
    struct options *o = &s.options;
    const struct cli_option options[] = {
        {"trace", "FILE", "positions: t_s,user,lat_e7,lon_e7, plain or gzip", &o->trace, NULL},
        {"graph", "FILE", "friendships to import first: two ids a line; everyone is opted in", &o->graph, NULL},
        {"no-setup", NULL, "friendships and opt-ins are there already", NULL, &o->no_setup},
        {"from", "S", "start of the trace, second of the day (0)", &o->from, NULL},
        {"until", "S[,S]", "its end (86400); several: it stops at each for --settle and --lists", &o->until, NULL},
        {"speed", "X", "how much faster than it happened, or max (60)", &o->speed, NULL},
        {"city", "N", "N invented people instead of a trace", &o->city, NULL},
        {"seed", "N", "another number, another city (1)", &o->seed, NULL},
        {"every", "S", "seconds between a person's reports in the city (30)", &o->every, NULL},
        {"for", "S", "end the city after that long (0: when interrupted)", &o->duration, NULL},
        {"ws", "URL[,URL]", "edges (ws://127.0.0.1:8081/)", &o->ws, NULL},
        {"settle", "N", "at the end every phone repeats its last place N times", &o->settle, NULL},
        {"settle-while", "FILE", "and goes on repeating for as long as that file exists", &o->settle_while, NULL},
        {"wait-for", "FILE", "settle only once that file exists; the city moves until then", &o->wait_for, NULL},
        {"lists", "FILE", "write every screen at the end: user,friend,distance_m; {until} in it: that end", &o->lists,
         NULL},
    };
    struct error error;
    const char *urls[URLS_MAX];
    bool done = false;
    int result = cli_open(&s.cli, &SIMULATE_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (result || done) return result;
    char *url_text = mem_string(o->ws);
    size_t url_count = split_urls(url_text, urls);
    result = check_options(o);
    if (result == 0 && (!*s.cli.settings.hs256_key_file || url_count == 0))
        result = cli_fail(&SIMULATE_COMMAND, 2, "the phones need auth.hs256.key.file to sign their tokens, and --ws");
    if (result == 0 && (prepare(&s, &error) || run(&s, urls, url_count, &error)))
        result = cli_fail(&SIMULATE_COMMAND, 1, "%s", error.text);
    if (result == 0) result = s.result;
    trace_free(&s.trace);
    city_free(s.city);
    free(s.city_due);
    free(url_text);
    cli_close(&s.cli);
    return result;
}

const struct cli_command SIMULATE_COMMAND = {
    .name = "simulate",
    .synopsis = "(--trace FILE | --city N) ...",
    .summary = "thousands of phones in one process",
    .run = simulate,
};

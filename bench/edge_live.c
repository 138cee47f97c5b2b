/* Phones on the whole pipeline, routers included: nothing of Kafka in here.
 *
 *     bench-edge_live latency --key-file F --listen H:P --sessions N --friends K --seconds S --rates R,R,... [--of N --first I]
 *         Each phone reports now and then, all of them together R times a second at an even rate; measured is the time from
 *         the report's write to a friend's read of the frame that shows it, every friend's. R 0: as many as there can be,
 *         with so many reports under way at once that none waits behind another one of its own: what the machine can do.
 *         --of: the phones are those of so many people from the one with number I on; other programs have the others', and what
 *         is seen of those is not measured.
 *
 *     bench-edge_live storm --key-file F --listen H:P --sessions N [--kill]
 *         All phones connect at once and say hello; measured is the time to each one's first page. --kill: prints a line,
 *         and then waits until phones have gone and all are back.
 *
 * Prints one JSON object a line.
 */
#include <inttypes.h>

#include "bench/arguments.h"
#include "bench/people.h"
#include "bench/phones.h"

enum { WAIT_S = 120, UNDER_WAY = 32, AGAIN_US = 500000, LOST_EVERY_US = 20000, SETTLE_MS = 500 };

struct live {
    struct people people;
    struct phones phones;
    size_t first; /* the person who has the first phone */
    int seconds;
    int64_t *sent_us;          /* by user's index: its last report */
    atomic_int_fast64_t *time; /* its time; 0: seen by somebody */
    _Atomic uint32_t *waits;   /* friends who have not seen it */
    double *latencies;         /* us */
    size_t seen, room;
    atomic_size_t done;
    atomic_bool measuring;
};

static int64_t number_after(const char *text, const char *end, const char *key, size_t key_size, const char **at) {
    const char *found = memmem(text, (size_t)(end - text), key, key_size);
    if (!found) return -1;
    *at = found + key_size;
    return strtoll(found + key_size, NULL, 10);
}

/* Entries of a frame: the user, later its time. In the thread of the phones; a frame ends before the buffer does. */
static void on_frame(void *context, size_t phone, const char *text, size_t size) {
    struct live *live = context;
    const char *at = text, *end = text + size;
    int64_t now = clock_monotonic_us(), user, time;
    if (!live->measuring) return;
    while ((user = number_after(at, end, "\"user\":", 7, &at)) >= 0) {
        if ((time = number_after(at, end, "\"time\":", 7, &at)) < 0) return;
        size_t index = people_index(user) - live->first;
        if (index >= live->phones.count || live->time[index] != time) continue;
        if (live->seen < live->room) live->latencies[live->seen++] = (double)(now - live->sent_us[index]);
        if (atomic_fetch_sub(&live->waits[index], 1) == 1) live->done++;
    }
}

static void report(struct live *live, size_t index, uint64_t step) {
    char text[256];
    int64_t time = clock_wall_ms();
    if (live->time[index] >= time) return; /* twice within a millisecond: the first counts */
    size_t size = people_say(text, sizeof text, NULL, people_place(live->first + index, step), time);
    live->waits[index] = live->people.friends;
    live->sent_us[index] = clock_monotonic_us();
    live->time[index] = time;
    phones_say(&live->phones, index, text, size);
}

static size_t reporter(const struct live *live, uint64_t step) { return (size_t)(step * 7919 % live->phones.count); }

static void measure(struct live *live, double rate) {
    uint64_t sent = 0;
    live->seen = 0;
    live->done = 0;
    live->measuring = true;
    int64_t start = clock_monotonic_us(), until = start + live->seconds * INT64_C(1000000);
    for (int64_t now = start; now < until; now = clock_monotonic_us()) {
        uint64_t due = rate > 0 ? (uint64_t)((double)(now - start) / 1e6 * rate)
                                : live->done + UNDER_WAY + (uint64_t)(now - start) / LOST_EVERY_US;
        for (; sent < due; sent++) report(live, reporter(live, sent), sent);
        usleep(200);
    }
    double seconds = (double)(clock_monotonic_us() - start) / 1e6;
    size_t done = live->done;
    usleep(SETTLE_MS * 1000);
    live->measuring = false;
    usleep(50000);
    bench_sort(live->latencies, live->seen);
    printf("{\"rate\":%.0f,\"sent\":%" PRIu64 ",\"done_per_s\":%.1f,\"seen\":%zu,\"expected\":%" PRIu64
           ",\"p50_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f}\n",
           rate, sent, (double)done / seconds, live->seen, sent * live->people.friends,
           bench_quantile(live->latencies, live->seen, .5), bench_quantile(live->latencies, live->seen, .99),
           bench_quantile(live->latencies, live->seen, .999));
}

static void paged_times(struct live *live, int64_t since_us, const char *name) {
    size_t count = 0;
    int64_t opened = 0, paged = 0;
    for (size_t i = 0; i < live->phones.count; i++) {
        const struct phone *phone = &live->phones.all[i];
        if (!phone->paged_us || phone->started_us < since_us) continue;
        live->latencies[count++] = (double)(phone->paged_us - since_us);
        if (phone->opened_us > opened) opened = phone->opened_us;
        if (phone->paged_us > paged) paged = phone->paged_us;
    }
    bench_sort(live->latencies, count);
    printf("{\"%s\":%zu,\"open_s\":%.3f,\"paged_s\":%.3f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"refused\":%" PRIu64
           ",\"closed\":%" PRIu64 "}\n",
           name, count, (double)(opened - since_us) / 1e6, (double)(paged - since_us) / 1e6,
           bench_quantile(live->latencies, count, .5), bench_quantile(live->latencies, count, .99),
           (uint64_t)live->phones.refused, (uint64_t)live->phones.closed);
}

static void storm(struct live *live, bool kill, int idle_s) {
    live->phones.connecting = live->phones.count;
    live->phones.again_us = kill ? AGAIN_US : 0;
    int64_t start = clock_monotonic_us();
    phones_start(&live->phones);
    if (!phones_wait(&live->phones.paged, live->phones.count, WAIT_S)) {
        fprintf(stderr, "%zu of %zu phones have their page\n", (size_t)live->phones.paged, live->phones.count);
        exit(1);
    }
    paged_times(live, start, "connected");
    sleep((unsigned)idle_s);
    if (!kill) return;
    printf("{\"ready\":true}\n");
    while (live->phones.paged == live->phones.count) usleep(500);
    int64_t gone = clock_monotonic_us();
    usleep(20000);
    if (!phones_wait(&live->phones.paged, live->phones.count, WAIT_S)) exit(1);
    paged_times(live, gone, "back");
}

static void latency(struct live *live, const char *rates) {
    live->phones.connecting = 256;
    live->phones.on_frame = on_frame;
    phones_start(&live->phones);
    if (!phones_wait(&live->phones.paged, live->phones.count, WAIT_S)) exit(1);
    sleep(3);
    for (const char *rate = rates; rate; rate = strchr(rate, ',') ? strchr(rate, ',') + 1 : NULL) {
        measure(live, atof(rate));
        sleep(1);
    }
}

int main(int argc, char **argv) {
    const char *key_file = NULL, *listen = NULL, *rates = "0";
    size_t sessions = 2000, of = 0;
    unsigned friends = 40;
    int source = 1, idle_s = 0;
    bool kill = false;
    struct live live = {.seconds = 8};
    const struct argument known[] = {ARGUMENT("--kill", &kill),       ARGUMENT("--key-file", &key_file),
                                     ARGUMENT("--listen", &listen),   ARGUMENT("--sessions", &sessions),
                                     ARGUMENT("--friends", &friends), ARGUMENT("--seconds", &live.seconds),
                                     ARGUMENT("--source", &source),   ARGUMENT("--idle-s", &idle_s),
                                     ARGUMENT("--rates", &rates),     ARGUMENT("--of", &of),
                                     ARGUMENT("--first", &live.first)};
    argc = arguments_read(argc, argv, known, ARRAY_SIZE(known));
    if (argc != 2 || !key_file || !listen) bench_fail("its head says which arguments there are");
    setvbuf(stdout, NULL, _IOLBF, 0);
    live.people = people_new(of ? of : sessions, friends);
    live.room = sessions > 4000000 ? sessions : 4000000;
    live.latencies = mem_alloc(live.room * sizeof *live.latencies);
    live.sent_us = mem_zero(sessions, sizeof *live.sent_us);
    live.time = mem_zero(sessions, sizeof *live.time);
    live.waits = mem_zero(sessions, sizeof *live.waits);
    phones_init(&live.phones, sessions);
    live.phones.address = phones_address(listen);
    live.phones.subprotocol = "starling.v1";
    live.phones.source = (uint8_t)source;
    live.phones.page_frame = 2;
    live.phones.context = &live;
    struct token_issuer *issuer;
    struct error error;
    if (token_issuer_new(key_file, &issuer, &error)) bench_die(key_file, error.text);
    for (size_t i = 0; i < sessions; i++)
        live.phones.all[i].hello = people_hello(issuer, live.first + i, clock_wall_ms());
    token_issuer_free(issuer);
    if (!strcmp(argv[1], "storm"))
        storm(&live, kill, idle_s);
    else
        latency(&live, rates);
    phones_stop(&live.phones);
    phones_free(&live.phones);
    return 0;
}

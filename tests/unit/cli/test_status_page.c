#include <math.h>

#include "cli/status_page.h"
#include "unit/kit/kit.h"

enum { NOW_S = 1700000000, VIEWS = 4 };

/* A feed process that is away, a router that is ready, a gateway that waits, and an address that never answered. */
static void fill(struct daemon_view *views) {
    static const char *const ADDRESSES[VIEWS] = {"127.0.0.1:9150", "127.0.0.1:9120", "127.0.0.1:9110", "db:80"};
    for (size_t i = 0; i < VIEWS; i++) daemon_view_init(&views[i], ADDRESSES[i]);
    daemon_view_numbers(&views[0], "starling_build_info{daemon=\"starling-feed\",version=\"0.1\"} 1\n", 1);
    daemon_view_away(&views[0], "no connection");
    for (int i = 0; i < 2; i++) {
        FREED char *page = mem_format("starling_build_info{daemon=\"starling-router\",version=\"0.1\"} 1\n"
                                      "process_start_time_seconds %d\nprocess_cpu_seconds_total %d\n"
                                      "process_resident_memory_bytes 52428800\n"
                                      "starling_router_partitions_owned 4\nstarling_router_partitions_standby 12\n"
                                      "starling_router_lag_seconds 0.25\n"
                                      "starling_router_events_total{partition=\"owned\"} %d\n",
                                      NOW_S - 7300, i, i * 24690);
        daemon_view_numbers(&views[1], page, 10 + 2 * i);
    }
    views[1].state = DAEMON_READY;
    daemon_view_numbers(&views[2], "starling_build_info{daemon=\"starling-ingest\",version=\"0.1\"} 1\n", 1);
    views[2].state = DAEMON_NOT_READY;
    snprintf(views[2].note, sizeof views[2].note, "waiting for kafka");
}

static const char *draw(struct buffer *out, const struct daemon_view *views, size_t count, struct status_page page) {
    const struct daemon_view **pointers = mem_alloc((count + 1) * sizeof *pointers);
    for (size_t i = 0; i < count; i++) pointers[i] = &views[i];
    page.now_ms = NOW_S * 1000LL;
    buffer_clear(out);
    status_page(out, pointers, count, &page);
    free(pointers);
    return buffer_cstring(out);
}

TEST(the_page_is_aligned_and_in_the_order_of_the_flow) {
    struct daemon_view views[VIEWS];
    FREED_BUFFER out = {.size = 0};
    fill(views);
    const char *page =
        draw(&out, views, VIEWS, (struct status_page){.rows = STATUS_PAGE_UNLIMITED, .columns = STATUS_PAGE_UNLIMITED});
    assert_string_equal(
        page,
        "4 daemons: 1 ready, 1 not ready, 1 away, 1 asked   gateways 0 of 1, edges 0 of 0, 0 sessions   22:13:20 UTC\n"
        "DAEMON  ADDRESS         STATE       UP  RESTARTS  PARTS      LAG  REC/S  SESSIONS   CPU  MEMORY  VERSION  NOTE\n"
        "ingest  127.0.0.1:9110  not ready    -         0      -        -      -         -     -       -  0.1      waiting for kafka\n"
        "router  127.0.0.1:9120  ready       2h         0   4+12    0.2 s    12k         -   50%     50M  0.1\n"
        "feed    127.0.0.1:9150  away         -         0      -        -      -         -     -       -  0.1      no connection\n"
        "?       db:80           asked        -         0      -        -      -         -     -       -");
}

TEST(a_narrow_page_keeps_what_matters) {
    struct daemon_view views[VIEWS];
    FREED_BUFFER out = {.size = 0};
    fill(views);
    const char *page = draw(&out, views, VIEWS, (struct status_page){.rows = 24, .columns = 80});
    assert_non_null(strstr(page, "DAEMON  ADDRESS         STATE      PARTS      LAG  REC/S  NOTE\n"));
    assert_non_null(strstr(page, "away           -        -      -  no connection\n"));
    page = draw(&out, views, VIEWS, (struct status_page){.rows = 24, .columns = 40});
    assert_non_null(strstr(page, "DAEMON  STATE      NOTE\n"));
    assert_non_null(strstr(page, "ingest  not ready  waiting for kafka\n"));
    page = draw(&out, views, VIEWS, (struct status_page){.rows = 24, .columns = 12});
    assert_non_null(strstr(page, "\nfeed    awa\n"));
}

TEST(colours_only_where_they_are_wanted) {
    struct daemon_view views[VIEWS];
    FREED_BUFFER out = {.size = 0};
    fill(views);
    const char *page = draw(&out, views, VIEWS, (struct status_page){.rows = 24, .columns = 200});
    assert_null(strchr(page, '\x1b'));
    page = draw(&out, views, VIEWS, (struct status_page){.rows = 24, .columns = 200, .colours = true});
    assert_non_null(strstr(page, "\x1b[31maway     \x1b[0m"));
    assert_non_null(strstr(page, "\x1b[32mready    \x1b[0m"));
}

TEST(those_in_trouble_come_first_if_not_all_fit) {
    struct daemon_view views[VIEWS];
    FREED_BUFFER out = {.size = 0};
    fill(views);
    const char *page = draw(&out, views, VIEWS, (struct status_page){.rows = 5, .columns = 200});
    const char *asked = strstr(page, "\n? "), *away = strstr(page, "\nfeed ");
    assert_true(asked && away && asked < away);
    assert_null(strstr(page, "\nrouter "));
    assert_non_null(strstr(page, "\nand 2 more"));
}

/* Every size of a terminal: no line is too long, no line is lost, escape sequences are whole. */
TEST(it_fits_whatever_the_size) {
    struct daemon_view views[VIEWS * 5];
    FREED_BUFFER out = {.size = 0};
    for (size_t i = 0; i < 5; i++) fill(views + VIEWS * i);
    snprintf(views[3].note, sizeof views[3].note, "%0100d", 7);
    for (int columns = 1; columns < 130; columns++) {
        for (int rows = 1; rows < 26; rows++) {
            for (int colours = 0; colours < 2; colours++) {
                size_t count = (size_t)(columns * 7 + rows) % (VIEWS * 5 + 1);
                const char *page =
                    draw(&out, views, count,
                         (struct status_page){.rows = rows, .columns = columns, .colours = colours, .hint = "q ends"});
                int lines = 1, used = 0;
                for (const char *at = page; *at; at++) {
                    if (*at == '\x1b') {
                        at += strcspn(at, "m\n");
                        assert_int_equal(*at, 'm');
                    } else if (*at == '\n') {
                        lines++;
                        used = 0;
                    } else {
                        used++;
                        assert_true(used < columns);
                    }
                }
                assert_true(lines <= (rows < 3 ? 3 : rows));
                assert_true(lines == (int)count + 2 || lines == (rows < 3 ? 3 : rows));
            }
        }
    }
}

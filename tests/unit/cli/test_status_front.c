/* Gateways and edges: counted by what daemons say of themselves, and told to people and programs. */
#include "cli/status_front.h"
#include "unit/kit/kit.h"

TEST(the_front_is_what_daemons_say) {
    struct daemon_view views[5];
    const struct daemon_view *pointers[5];
    for (size_t i = 0; i < 5; i++) {
        daemon_view_init(&views[i], "a:1");
        pointers[i] = &views[i];
    }
    daemon_view_numbers(&views[0], "starling_build_info{daemon=\"starling-ingest\",version=\"1\"} 1\n", 1);
    for (size_t i = 1; i < 3; i++)
        daemon_view_numbers(
            &views[i], "starling_build_info{daemon=\"starling-fanout\",version=\"1\"} 1\nstarling_edge_sessions 150\n",
            1);
    daemon_view_numbers(&views[3], "starling_build_info{daemon=\"starling-router\",version=\"1\"} 1\n", 1);
    views[0].state = views[1].state = views[3].state = DAEMON_READY;
    views[2].state = DAEMON_NOT_READY;
    daemon_view_away(&views[4], "no connection");
    struct status_front front = status_front_of(pointers, 5, false);
    assert_true(front.known && !front.complete);
    assert_int_equal(front.gateways, 1);
    assert_int_equal(front.gateways_ready, 1);
    assert_int_equal(front.edges, 2);
    assert_int_equal(front.edges_ready, 1);
    assert_int_equal(front.sessions, 300);
    assert_int_equal(front.silent, 1);
    FREED_BUFFER out = {.size = 0};
    status_front_text(&out, &front);
    assert_string_equal(buffer_cstring(&out), "\ngateways: 1 of 1 ready\nedges: 1 of 2 ready, 300 sessions\n"
                                              "  at 1 of ops.addresses no daemon answers\n");
    buffer_clear(&out);
    status_front_json(&out, &front);
    assert_string_equal(buffer_cstring(&out),
                        "\"gateways\":{\"ready\":1,\"count\":1},\"edges\":{\"ready\":1,\"count\":2,"
                        "\"sessions\":300},\"silent\":1");
    buffer_clear(&out);
    front = status_front_of(pointers + 4, 1, false);
    status_front_json(&out, &front);
    assert_string_equal(buffer_cstring(&out), "\"gateways\":null,\"edges\":null,\"silent\":1");
    assert_true(status_front_of(pointers + 4, 1, true).known);
    assert_false(status_front_of(pointers, 0, true).known);
}

TEST(each_number_stands_in_its_place) {
    const struct status_front front = {
        .known = true, .gateways_ready = 2, .gateways = 3, .edges_ready = 4, .edges = 5, .silent = 6, .sessions = 7};
    FREED_BUFFER out = {.size = 0};
    status_front_summary(&out, &front);
    assert_string_equal(buffer_cstring(&out), "gateways 2 of 3, edges 4 of 5, 7 sessions");
    buffer_clear(&out);
    status_front_text(&out, &front);
    assert_string_equal(buffer_cstring(&out), "\ngateways: 2 of 3 ready\nedges: 4 of 5 ready, 7 sessions\n"
                                              "  at 6 of ops.addresses no daemon answers\n");
    buffer_clear(&out);
    status_front_json(&out, &front);
    assert_string_equal(buffer_cstring(&out),
                        "\"gateways\":{\"ready\":2,\"count\":3},\"edges\":{\"ready\":4,\"count\":5,"
                        "\"sessions\":7},\"silent\":6");
}

TEST(one_session_is_one) {
    const struct status_front front = {.known = true, .edges_ready = 1, .edges = 1, .sessions = 1};
    FREED_BUFFER out = {.size = 0};
    status_front_summary(&out, &front);
    assert_string_equal(buffer_cstring(&out), "gateways 0 of 0, edges 1 of 1, 1 session");
    buffer_clear(&out);
    status_front_text(&out, &front);
    assert_string_equal(buffer_cstring(&out), "\ngateways: 0 of 0 ready\nedges: 1 of 1 ready, 1 session\n");
}

TEST(a_front_that_is_not_known_has_no_numbers) {
    FREED_BUFFER out = {.size = 0};
    status_front_text(&out, &(struct status_front){.silent = 6});
    assert_string_equal(buffer_cstring(&out),
                        "\ngateways and edges: not known, as no daemon answers at ops.addresses\n");
}

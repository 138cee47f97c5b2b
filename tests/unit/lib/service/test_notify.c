/* Tests to whom notify writes, and how often. test_service_main tests the states. */
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "service/notify.h"
#include "unit/kit/kit.h"

/* A manager's socket, which the environment names. The kernel chooses a name without a file. */
static int manager_new(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(sa_family_t);
    char name[sizeof address.sun_path + 1] = "@";
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    size = sizeof address;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    memcpy(name + 1, address.sun_path + 1, size - offsetof(struct sockaddr_un, sun_path) - 1);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static bool has_message(int manager) { return poll(&(struct pollfd){.fd = manager, .events = POLLIN}, 1, 0) == 1; }

static void is_told(int manager, const char *wanted) {
    char message[256];
    ssize_t size = recv(manager, message, sizeof message - 1, 0);
    assert_true(size > 0);
    message[size] = '\0';
    assert_string_equal(message, wanted);
}

TEST(tells_and_leaves_nothing_to_children) {
    FREED_BY(kit_close) int manager = manager_new();
    setenv("WATCHDOG_USEC", "60000000", 1);
    struct notify *notify = notify_new();
    static const char *const NAMES[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) assert_null(getenv(NAMES[i]));
    notify_tell(notify, "READY=1\nSTATUS=ready");
    is_told(manager, "READY=1\nSTATUS=ready");
    notify_free(notify);
}

/* Turns the loop until the manager has a message, for so many ms at most. */
static bool is_told_within(int manager, uv_loop_t *loop, uint64_t ms) {
    uint64_t until = uv_now(loop) + ms;
    while (uv_now(loop) < until && !has_message(manager)) {
        uv_run(loop, UV_RUN_NOWAIT);
        usleep(1000);
        uv_update_time(loop);
    }
    return has_message(manager);
}

TEST(watchdog_hears_of_a_loop_that_turns) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    FREED_BY(kit_close) int manager = manager_new();
    char pid[32];
    snprintf(pid, sizeof pid, "%d", getpid());
    setenv("WATCHDOG_USEC", "40000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    struct notify *notify = notify_new();
    notify_watch(notify, &loop);
    for (int i = 0; i < 3; i++) {
        assert_true(is_told_within(manager, &loop, 20000));
        is_told(manager, "WATCHDOG=1");
    }
    notify_rest(notify);
    uv_run(&loop, UV_RUN_DEFAULT); /* ends, as nothing is left on it */
    assert_int_equal(uv_loop_close(&loop), 0);
    notify_free(notify);
}

/* Each: the period, and whose it is. */
TEST(no_watchdog_is_told_without_a_period_of_ours) {
    static const char *const CASES[][2] = {{"", ""}, {"0", ""}, {"999", ""}, {"nonsense", ""}, {"40000", "1"}};
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        uv_loop_t loop;
        uv_loop_init(&loop);
        FREED_BY(kit_close) int manager = manager_new();
        if (*CASES[i][0]) setenv("WATCHDOG_USEC", CASES[i][0], 1);
        if (*CASES[i][1]) setenv("WATCHDOG_PID", CASES[i][1], 1);
        struct notify *notify = notify_new();
        notify_watch(notify, &loop);
        assert_false(is_told_within(manager, &loop, 100));
        notify_free(notify);
        kit_loop_end(&loop);
    }
}

/* A queue that nobody empties takes some messages; the daemon goes on, and the newest state comes when there is room. */
TEST(a_manager_that_stands_still_hears_the_newest_state_later) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    FREED_BY(kit_close) int manager = manager_new();
    struct notify *notify = notify_new();
    notify_watch(notify, &loop);
    for (int i = 0; i < 2000; i++) notify_tell(notify, "STATUS=old");
    notify_tell(notify, "STATUS=new");
    char message[256];
    do {
        assert_true(is_told_within(manager, &loop, 20000));
        ssize_t size = recv(manager, message, sizeof message - 1, 0);
        assert_true(size > 0);
        message[size] = '\0';
    } while (strcmp(message, "STATUS=new") != 0);
    assert_false(is_told_within(manager, &loop, 1500)); /* once */
    notify_free(notify);
    kit_loop_end(&loop);
}

TEST(a_manager_that_is_not_there_is_no_failure) {
    static const char *const NAMES[] = {"/nowhere/socket", "@starling-nobody", "nonsense", "/", "", NULL};
    char too_long[200];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[0] = '/';
    too_long[sizeof too_long - 1] = '\0';
    for (size_t i = 0; i <= ARRAY_SIZE(NAMES); i++) {
        const char *name = i < ARRAY_SIZE(NAMES) ? NAMES[i] : too_long;
        if (name) setenv("NOTIFY_SOCKET", name, 1);
        struct notify *notify = notify_new();
        notify_tell(notify, "READY=1");
        notify_free(notify);
        assert_null(getenv("NOTIFY_SOCKET"));
    }
    notify_free(NULL);
}

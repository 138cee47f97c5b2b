/* Tests service.c, broker.c, http_host.c, listen.c, ops.c and settings.c. The daemon skeleton, run as a process of its own: command
 * line, waiting for Kafka, readiness, peers, drain and end. Kafka is this file's: it defines the functions of kafka/admin.h that the
 * skeleton calls, and the linker takes these. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "service/service.h"
#include "unit/kit/kit.h"

/* What the test and the daemon, its child, both see. */
struct shared {
    atomic_int kafka_code, partitions; // what Kafka says
    atomic_int verified;               // how often it was asked
    atomic_bool misplaced;             // records do not lie where their keys belong
    atomic_int looked_at;              // how often that was asked
    atomic_int started, reloaded, drained, drained_whole, freed, freed_state;
    atomic_int worked, freed_under_a_worker;
    atomic_bool start_fails, drain_hangs, drain_is_slow, drain_works, held;
    char client_id[128];
};

static struct shared *shared;

int kafka_admin_new(const struct kafka_settings *settings, struct kafka_admin **admin, struct error *error) {
    snprintf(shared->client_id, sizeof shared->client_id, "%s", settings->client_id);
    *admin = mem_alloc(1);
    return 0;
}

void kafka_admin_free(struct kafka_admin *admin) { free(admin); }

int kafka_topics_verify(struct kafka_admin *admin, const struct topic_list *topics, struct topics_shape *shape,
                        int timeout_ms, struct error *error) {
    int code = shared->kafka_code;
    shared->verified++;
    if (code) return error_set(error, code, "Kafka's reason");
    *shape = (struct topics_shape){.partitions = {[TOPIC_SPACE_USERS] = shared->partitions, [TOPIC_SPACE_ROUTES] = 3}};
    return 0;
}

int kafka_topics_placed(struct kafka_admin *admin, const struct topic_list *topics, const struct topics_shape *shape,
                        int timeout_ms, struct error *error) {
    shared->looked_at++;
    return shared->misplaced ? error_set(error, -EINVAL, "records in wrong places") : 0;
}

/* The daemon. */

struct settings {
    int64_t number;
};

static struct settings settings;
static const struct config_property PROPERTIES[] = {
    {"test.number", CONFIG_INT, offsetof(struct settings, number), "5", .min = 0, .max = 9, .doc = "A number."},
};
static const struct config_section SECTION = {"Test", PROPERTIES, 1, &settings};

struct state {
    struct service *service;
    struct loop_timer *end;
    atomic_bool busy; // a worker thread is at it
};

static int daemon_check(const struct service_settings *common, struct error *error) {
    return settings.number == 8 ? error_set(error, -EINVAL, "no daemon starts with eight") : 0;
}

static int daemon_start(struct service *service, const struct topics_shape *shape, void **out, struct error *error) {
    shared->started++;
    if (shared->start_fails) return error_set(error, -EIO, "no luck today");
    assert_int_equal(shape->partitions[TOPIC_SPACE_USERS], shared->partitions);
    assert_int_equal(shape->partitions[TOPIC_SPACE_ROUTES], 3);
    struct state *state = mem_zero(1, sizeof *state);
    state->service = service;
    *out = state;
    return 0;
}

static void finish(void *context) {
    shared->drained_whole++;
    service_finished(((struct state *)context)->service);
}

static void daemon_reload(void *context) { shared->reloaded++; }

static void work(void *context) {
    usleep(500000);
    shared->worked++;
}

static void work_done(void *context) { ((struct state *)context)->busy = false; }

static bool daemon_busy(void *context) { return ((struct state *)context)->busy; }

static void daemon_drain(void *context) {
    struct state *state = context;
    shared->drained++;
    assert_true(service_draining(state->service));
    if (shared->drain_works) {
        state->busy = true;
        loop_work(service_loop(state->service), work, work_done, state);
    }
    uint64_t drain_ms = shared->drain_is_slow ? 3000 : 300;
    if (!shared->drain_hangs) state->end = loop_timer_new(service_loop(state->service), drain_ms, 0, finish, state);
}

static void daemon_free(void *context) {
    FREED struct state *state = context;
    shared->freed++;
    shared->freed_state += state != NULL;
    shared->freed_under_a_worker += state && state->busy;
    if (state) loop_timer_free(state->end);
}

static void daemon_peer(void *context, struct http_request *request) {
    struct state *state = context;
    const char *path = http_path(request);
    if (!strcmp(path, "/peer/hold")) {
        shared->held = true;
        return;
    }
    if (!strcmp(path, "/peer/warm")) service_ready(state->service, "warm", true);
    if (!strcmp(path, "/peer/cold")) service_ready(state->service, "warm", false);
    if (!strcmp(path, "/peer/fail")) service_fail(state->service, "the disk is gone");
    FREED_BUFFER text = {.size = 0};
    buffer_format(&text, "number %d", (int)settings.number);
    http_reply_json(request, 200, &text);
}

static const char *const CONDITIONS[] = {"warm", NULL};
static const struct service_definition DEFINITION = {
    .name = "starling-test",
    .ops_listen = "127.0.0.1:0",
    .peer_listen = "127.0.0.1:0",
    .section = &SECTION,
    .conditions = CONDITIONS,
    .check = daemon_check,
    .start = daemon_start,
    .reload = daemon_reload,
    .drain = daemon_drain,
    .busy = daemon_busy,
    .free = daemon_free,
    .peer = daemon_peer,
};

/* The test's side. */

struct child {
    pid_t pid;
    char out[64]; // file with all that it wrote
    int ops_port, peer_port;
};

static char *output(const struct child *child) {
    FREED_BUFFER text = {.size = 0};
    int fd = open(child->out, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; (got = read(fd, buffer_reserve(&text, 4096), 4096)) > 0;) buffer_commit(&text, (size_t)got);
    close(fd);
    return mem_string(buffer_cstring(&text));
}

#define wait_for(condition)                                                                                            \
    do {                                                                                                               \
        int64_t started_us_ = clock_monotonic_us();                                                                    \
        while (!(condition)) {                                                                                         \
            if (clock_monotonic_us() - started_us_ > 20000000) fail_msg("never came: %s", #condition);                 \
            usleep(5000);                                                                                              \
        }                                                                                                              \
    } while (0)

static struct child spawn(const char *const *arguments) {
    struct child child = {.out = "/tmp/starling-main-XXXXXX"};
    int fd = mkstemp(child.out), argc = 1;
    char *argv[16] = {mem_string("starling-test")};
    for (; arguments && arguments[argc - 1]; argc++) argv[argc] = mem_string(arguments[argc - 1]);
    fflush(NULL);
    child.pid = fork();
    if (child.pid == 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        setenv("STARLING_PEER_TOKEN", "secret", 0);
        int code = service_main(argc, argv, &DEFINITION);
        for (int i = 0; i < argc; i++) free(argv[i]);
        exit(code);
    }
    close(fd);
    for (int i = 0; i < argc; i++) free(argv[i]);
    return child;
}

static bool wrote(const struct child *child, const char *part) {
    FREED char *text = output(child);
    return strstr(text, part);
}

static int port_of(const struct child *child, const char *key) {
    FREED char *text = output(child);
    const char *at = strstr(text, key);
    return at ? (int)strtol(at + strlen(key), NULL, 10) : 0;
}

/* Runs the daemon until it listens. */
static struct child run(const char *const *arguments) {
    struct child child = spawn(arguments);
    wait_for(wrote(&child, "listening"));
    child.ops_port = port_of(&child, "ops_port=");
    child.peer_port = port_of(&child, "peer_port=");
    return child;
}

/* Waits for its end: the exit code. The output is printed when that is another. */
static void ends(struct child *child, int wanted) {
    int status = 0;
    pid_t ended = 0;
    wait_for((ended = waitpid(child->pid, &status, WNOHANG)) != 0);
    FREED char *text = output(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted || strstr(text, "left open") || strstr(text, "Sanitizer"))
        fail_msg("status %x instead of exit code %d: %s", (unsigned)status, wanted, text);
    unlink(child->out);
}

/* The whole answer; empty when nobody listens. */
static char *ask(int port, const char *method, const char *path, const char *headers) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FREED_BUFFER text = {.size = 0};
    FREED char *request = mem_format("%s %s HTTP/1.1\r\n%sConnection: close\r\n%s\r\n", method, path,
                                     strstr(headers, "Host:") ? "" : "Host: x\r\n", headers);
    if (!connect(fd, (struct sockaddr *)&address, sizeof address) &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
        for (ssize_t got; (got = recv(fd, buffer_reserve(&text, 4096), 4096, 0)) > 0;)
            buffer_commit(&text, (size_t)got);
    char *reply = mem_string(buffer_cstring(&text));
    close(fd);
    return reply;
}

static bool answers(int port, const char *method, const char *path, const char *headers, const char *part) {
    FREED char *reply = ask(port, method, path, headers);
    return strstr(reply, part);
}

static void expect_from(int port, const char *method, const char *path, const char *headers, const char *part) {
    FREED char *reply = ask(port, method, path, headers);
    if (!strstr(reply, part)) fail_msg("%s %s: no \"%s\" in: %s", method, path, part, reply);
}

#define BEARER "Authorization: Bearer secret\r\n"
#define get(port, path, part) answers(port, "GET", path, BEARER, part)
#define expect(port, path, part) expect_from(port, "GET", path, BEARER, part)
#define HTTP_OK "HTTP/1.1 200 "
#define HTTP_UNAVAILABLE "HTTP/1.1 503 "

static struct child started(const char *const *arguments) {
    struct child child = run(arguments);
    wait_for(shared->started);
    return child;
}

static void stops(struct child *child) {
    kill(child->pid, SIGTERM);
    ends(child, 0);
}

SET_UP() {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    shared->partitions = 8;
    return shared;
}

TEAR_DOWN(void *made) { assert_int_equal(munmap(made, sizeof *shared), 0); }

static void refuses(const char *const *arguments, int code, const char *reason) {
    struct child child = spawn(arguments);
    wait_for(wrote(&child, reason));
    ends(&child, code);
    assert_int_equal(shared->started, 0);
}

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(command_line_is_checked) {
    refuses(ARGUMENTS("--version"), 0, "starling-test 0.");
    refuses(ARGUMENTS("--help"), 0, "test.number");
    refuses(ARGUMENTS("--what"), 2, "--what");
    refuses(ARGUMENTS("--set"), 2, "--set needs a value");
    refuses(ARGUMENTS("--config", "/nowhere/x.properties"), 2, "/nowhere/x.properties");
    refuses(ARGUMENTS("--set", "test.numbr=1"), 2, "test.number");
    refuses(ARGUMENTS("--set", "test.number=10"), 2, "test.number");
    refuses(ARGUMENTS("--set", "kafka.client.id=x"), 2, "kafka.client.id");
    refuses(ARGUMENTS("--set", "kafka.group.id=x"), 2, "kafka.group.id");
    refuses(ARGUMENTS("--set", "kafka.linger.mss=1"), 2, "kafka.linger.mss: no such property");
    refuses(ARGUMENTS("--set", "kafka.linger.ms=soon"), 2, "kafka.linger.ms=soon");
    refuses(ARGUMENTS("--check", "--set", "kafka.linger.ms=soon"), 1, "kafka.linger.ms=soon");
    refuses(ARGUMENTS("--set", "kafka.security.protocol=ssl", "--set", "kafka.ssl.ca.location=/nowhere"), 2,
            "ssl.ca.location failed");
    refuses(ARGUMENTS("--set", "peer.token="), 2, "peer.token (or peer.token.file) must be set");
    refuses(ARGUMENTS("--set", "peer.listen=nonsense"), 2, "peer.listen");
    refuses(ARGUMENTS("--set", "peer.advertise=nonsense"), 2, "peer.advertise");
    refuses(ARGUMENTS("--set", "ops.listen=127.0.0.1:x"), 1, "ops.listen");
}

TEST(waits_for_kafka_and_the_topics) {
    shared->kafka_code = -EHOSTDOWN;
    struct child child = run(NULL);
    wait_for(shared->verified >= 3);
    expect(child.ops_port, "/healthz", HTTP_OK);
    expect(child.ops_port, "/readyz", HTTP_UNAVAILABLE);
    expect(child.ops_port, "/readyz",
           "{\"ready\":false,\"draining\":false,\"conditions\":{\"kafka\":false,\"warm\":false}}");
    expect(child.peer_port, "/peer/x", HTTP_UNAVAILABLE);
    shared->kafka_code = -ENOENT;
    int verified = shared->verified;
    wait_for(shared->verified >= verified + 3);
    assert_int_equal(shared->started, 0);
    shared->kafka_code = -EACCES; // a wrong password, or no ACL: it waits for those as well
    verified = shared->verified;
    wait_for(shared->verified >= verified + 3);
    assert_int_equal(shared->started, 0);
    shared->kafka_code = 0;
    wait_for(shared->started == 1);
    wait_for(get(child.ops_port, "/readyz", "\"kafka\":true,\"warm\":false"));
    expect(child.ops_port, "/metrics", "starling_ready{condition=\"kafka\"} 1");
    expect(child.ops_port, "/metrics", "starling_ready{condition=\"warm\"} 0");

    // Each state is told once, however often it was found.
    char *text = output(&child), *first = strstr(text, "waiting for Kafka"),
         *second = strstr(text, "waiting for topics"), *third = strstr(text, "Kafka refuses");
    assert_non_null(first);
    assert_non_null(second);
    assert_null(strstr(first + 1, "waiting for Kafka"));
    assert_null(strstr(second + 1, "waiting for topics"));
    assert_non_null(third);
    assert_null(strstr(third + 1, "Kafka refuses"));
    free(text);
    stops(&child);
    assert_int_equal(shared->freed_state, 1);
}

TEST(becomes_ready_and_drains) {
    struct child child = started(NULL);
    expect(child.peer_port, "/peer/warm", HTTP_OK);
    expect(child.ops_port, "/readyz", HTTP_OK);
    expect(child.ops_port, "/readyz", "{\"ready\":true,");
    expect(child.peer_port, "/peer/cold", HTTP_OK);
    expect(child.ops_port, "/readyz", HTTP_UNAVAILABLE);
    expect(child.peer_port, "/peer/warm", HTTP_OK);
    static const char *const SERIES[] = {
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "process_open_fds ",
        "process_start_time_seconds ",
        "starling_build_info{daemon=\"starling-test\",version=\"",
        "# TYPE starling_ready gauge",
        "text/plain; version=0.0.4",
    };
    for (size_t i = 0; i < ARRAY_SIZE(SERIES); i++) expect(child.ops_port, "/metrics", SERIES[i]);
    expect(child.ops_port, "/other", "HTTP/1.1 404 ");
    expect(child.ops_port, "/drain", "HTTP/1.1 405 ");
    expect_from(child.ops_port, "POST", "/healthz", "", "HTTP/1.1 405 ");
    assert_int_equal(shared->drained, 0);

    kill(child.pid, SIGTERM);
    wait_for(shared->drained);
    expect(child.ops_port, "/readyz", HTTP_UNAVAILABLE);
    expect(child.ops_port, "/healthz", HTTP_OK);
    ends(&child, 0);
    assert_int_equal(shared->drained, 1);
    assert_int_equal(shared->freed, 1);
}

static void is_told(int manager, const char *wanted) {
    char message[256];
    struct pollfd readable = {.fd = manager, .events = POLLIN};
    if (poll(&readable, 1, 20000) != 1) fail_msg("never told: %s", wanted);
    ssize_t size = recv(manager, message, sizeof message - 1, 0);
    assert_true(size > 0);
    message[size] = '\0';
    assert_string_equal(message, wanted);
}

/* A service manager hears each state, in the protocol of systemd. */
TEST(tells_the_service_manager) {
    static const char PATH[] = "/tmp/starling-manager";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s-%d", PATH, getpid());
    FREED_BY(kit_close) int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    struct child child = run(NULL);
    unsetenv("NOTIFY_SOCKET");
    is_told(manager, "STATUS=waiting for kafka, warm");
    is_told(manager, "STATUS=waiting for warm");
    wait_for(shared->started);
    expect(child.peer_port, "/peer/warm", HTTP_OK);
    is_told(manager, "READY=1\nSTATUS=ready");
    expect(child.peer_port, "/peer/cold", HTTP_OK);
    is_told(manager, "STATUS=waiting for warm");
    kill(child.pid, SIGTERM);
    is_told(manager, "STOPPING=1\nSTATUS=draining");
    ends(&child, 0);
    unlink(address.sun_path);
}

TEST(drains_by_http) {
    struct child child = started(NULL);
    expect_from(child.ops_port, "POST", "/drain", BEARER, "HTTP/1.1 202 ");
    expect_from(child.ops_port, "POST", "/drain", BEARER, "{\"draining\":true}");
    ends(&child, 0);
    assert_int_equal(shared->drained, 1);
}

/* Anybody may look at the process, but only the daemons' secret ends it, also on this machine; and never a page. */
TEST(drains_by_http_with_the_token) {
    struct child child = started((const char *[]){"--set", "peer.token=swordfish", NULL});
    expect(child.ops_port, "/healthz", HTTP_OK);
    expect_from(child.ops_port, "POST", "/drain", "", "HTTP/1.1 401 ");
    expect_from(child.ops_port, "POST", "/drain", "Authorization: Bearer sword\r\n", "HTTP/1.1 401 ");
    expect_from(child.ops_port, "POST", "/drain", "Authorization: Bearer swordfish\r\nOrigin: http://127.0.0.1\r\n",
                "HTTP/1.1 403 ");
    expect(child.ops_port, "/readyz", "\"draining\":false");
    expect_from(child.ops_port, "POST", "/drain", "Authorization: Bearer swordfish\r\n", "HTTP/1.1 202 ");
    ends(&child, 0);
    assert_int_equal(shared->drained, 1);
}

TEST(drains_by_http_never_without_a_token) {
    struct child child = started(ARGUMENTS("--set", "peer.listen=", "--set", "peer.token="));
    expect_from(child.ops_port, "POST", "/drain", "Authorization: Bearer \r\n", "HTTP/1.1 401 ");
    expect_from(child.ops_port, "POST", "/drain", "", "peer.token must be set");
    stops(&child);
}

TEST(a_signal_after_a_drain_by_http_is_the_first) {
    shared->drain_hangs = true;
    struct child child = started(NULL);
    expect_from(child.ops_port, "POST", "/drain", BEARER, "HTTP/1.1 202 ");
    kill(child.pid, SIGTERM);
    usleep(500000);
    assert_int_equal(waitpid(child.pid, NULL, WNOHANG), 0);
    kill(child.pid, SIGTERM);
    ends(&child, 1);
    assert_int_equal(shared->drained, 1);
}

TEST(reloads_and_goes_on) {
    struct child child = run(NULL);
    kill(child.pid, SIGHUP); /* it may not have started yet */
    wait_for(shared->started);
    int before = shared->reloaded;
    kill(child.pid, SIGHUP);
    wait_for(shared->reloaded > before); /* by two, where the first one came late */
    expect(child.ops_port, "/healthz", HTTP_OK);
    stops(&child);
}

TEST(second_signal_ends_at_once) {
    shared->drain_hangs = true;
    struct child child = started(NULL);
    kill(child.pid, SIGINT);
    wait_for(shared->drained);
    usleep(500000);
    assert_int_equal(waitpid(child.pid, NULL, WNOHANG), 0);
    kill(child.pid, SIGTERM);
    ends(&child, 1);
    assert_int_equal(shared->freed, 0);
}

/* As `timeout` does: to the process, and to its group. */
TEST(two_signals_at_once_are_one) {
    struct child child = started(NULL);
    kill(child.pid, SIGTERM);
    wait_for(shared->drained);
    kill(child.pid, SIGINT);
    ends(&child, 0);
    assert_int_equal(shared->freed, 1);
}

TEST(configuration_is_checked) {
    char key[] = "/tmp/starling-key-XXXXXX";
    close(mkstemp(key));
    FREED char *short_key = mem_format("auth.hs256.key.file=%s", key);
    refuses(ARGUMENTS("--check"), 0, "the configuration is good");
    refuses(ARGUMENTS("--check", "--set", "test.number=10"), 1, "test.number");
    refuses(ARGUMENTS("--set", "test.number=9", "--check", "--set", "test.number=x"), 1, "test.number");
    refuses(ARGUMENTS("--check", "--config", "/nowhere/x.properties"), 1, "/nowhere/x.properties");
    refuses(ARGUMENTS("--check", "--set", "ops.listen=127.0.0.1:x"), 1, "ops.listen");
    refuses(ARGUMENTS("--check", "--set", "auth.jwks.file=/nowhere/keys"), 1, "/nowhere/keys");
    refuses(ARGUMENTS("--check", "--set", short_key), 1, "fewer than 32 bytes");
    refuses(ARGUMENTS("--check", "--set", "test.number=8"), 1, "eight");
    refuses(ARGUMENTS("--set", "test.number=8"), 2, "eight");
    unlink(key);
}

TEST(ends_while_it_waits) {
    shared->kafka_code = -EHOSTDOWN;
    struct child child = run(NULL);
    wait_for(shared->verified);
    stops(&child);
    assert_int_equal(shared->started, 0);
    assert_int_equal(shared->drained, 0);
    assert_int_equal(shared->freed_state, 0);
}

TEST(wrong_partitions_are_refused) {
    shared->kafka_code = -EINVAL;
    struct child child = run(NULL);
    wait_for(wrote(&child, "Kafka's reason"));
    ends(&child, 1);
    assert_int_equal(shared->started, 0);
}

TEST(failed_start_ends) {
    shared->start_fails = true;
    struct child child = run(NULL);
    wait_for(wrote(&child, "no luck today"));
    ends(&child, 1);
    assert_int_equal(shared->freed_state, 0);
}

TEST(failure_drains) {
    struct child child = started(NULL);
    expect(child.peer_port, "/peer/fail", HTTP_OK);
    wait_for(wrote(&child, "the disk is gone"));
    ends(&child, 1);
    assert_int_equal(shared->drained, 1);
    assert_int_equal(shared->freed_state, 1);
}

/* It may never finish draining, and yet what its worker threads use cannot be freed. */
TEST(failure_while_draining_waits_for_workers) {
    shared->drain_hangs = shared->drain_works = true;
    struct child child = started(NULL);
    expect_from(child.ops_port, "POST", "/drain", BEARER, "HTTP/1.1 202 ");
    expect(child.peer_port, "/peer/fail", HTTP_OK);
    ends(&child, 1);
    assert_int_equal(shared->worked, 1);
    assert_int_equal(shared->freed_state, 1);
    assert_int_equal(shared->freed_under_a_worker, 0);
}

TEST(kafka_is_watched_afterwards) {
    struct child child = started(NULL);
    expect(child.peer_port, "/peer/warm", HTTP_OK);
    shared->kafka_code = -EHOSTDOWN;
    wait_for(get(child.ops_port, "/readyz", "\"kafka\":false,\"warm\":true"));
    shared->kafka_code = 0;
    wait_for(get(child.ops_port, "/readyz", HTTP_OK));
    assert_int_equal(shared->started, 1);
    shared->partitions = 9;
    wait_for(wrote(&child, "numbers of partitions have changed"));
    ends(&child, 1);
    assert_int_equal(shared->drained, 1);
}

/* Keys would be looked for where their records are not. */
TEST(added_partitions_are_refused) {
    shared->misplaced = true;
    struct child child = run(NULL);
    wait_for(wrote(&child, "records in wrong places"));
    ends(&child, 1);
    assert_int_equal(shared->started, 0);
}

TEST(records_are_looked_at_once) {
    struct child child = started(NULL);
    int verified = shared->verified;
    wait_for(shared->verified > verified);
    assert_int_equal(shared->looked_at, 1);
    stops(&child);
}

/* A second failure ends the draining, so that what Kafka says every second must be taken for one only once. */
TEST(topics_that_do_not_fit_fail_once) {
    shared->drain_is_slow = true;
    struct child child = started(NULL);
    shared->kafka_code = -EINVAL;
    wait_for(wrote(&child, "Kafka's reason"));
    ends(&child, 1);
    assert_int_equal(shared->drained, 1);
    assert_int_equal(shared->drained_whole, 1);
}

TEST(peers_need_the_token) {
    struct child child = run(ARGUMENTS("--set", "peer.token=open sesame", "--set", "test.number=7"));
    char wanted[64];
    wait_for(shared->started);
    expect(child.peer_port, "/peer/x", "HTTP/1.1 401 ");
    static const char *const WRONG[] = {"open sesam", "open sesame!", "Open sesame", "", "x"};
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        char header[64];
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", WRONG[i]);
        expect_from(child.peer_port, "GET", "/peer/x", header, "HTTP/1.1 401 ");
    }
    expect_from(child.peer_port, "GET", "/peer/x", "Authorization: Bearer open sesame\r\n", "number 7");
    snprintf(wanted, sizeof wanted, "starling-test@127.0.0.1:%d", child.peer_port);
    assert_string_equal(shared->client_id, wanted);
    stops(&child);
}

TEST(address_for_peers_can_be_told) {
    setenv("STARLING_PEER_ADVERTISE", "router-7.example:9220", 1);
    struct child child = run(NULL);
    unsetenv("STARLING_PEER_ADVERTISE");
    wait_for(shared->started);
    assert_string_equal(shared->client_id, "starling-test@router-7.example:9220");
    stops(&child);

    child = run(ARGUMENTS("--set", "peer.listen="));
    wait_for(shared->started == 2);
    assert_int_equal(child.peer_port, -1);
    assert_string_equal(shared->client_id, "starling-test");
    stops(&child);

    char machine[64] = "", wanted[128];
    gethostname(machine, sizeof machine - 1);
    static const char *const EVERYWHERE[] = {"peer.listen=0.0.0.0:0", "peer.listen=[::]:0", "peer.listen=:0"};
    for (size_t i = 0; i < ARRAY_SIZE(EVERYWHERE); i++) {
        child = run(ARGUMENTS("--set", EVERYWHERE[i], "--set", "peer.token=x"));
        wait_for(shared->started == 3 + (int)i);
        snprintf(wanted, sizeof wanted, "starling-test@%s:%d", machine, child.peer_port);
        assert_string_equal(shared->client_id, wanted);
        stops(&child);
    }
}

/* A page whose name was made to resolve to this machine names itself in Host. */
TEST(hosts_are_names_of_this_process) {
    struct child child = run(ARGUMENTS("--set", "peer.advertise=router-7.example:9220"));
    static const struct {
        const char *host, *answer;
    } CASES[] = {
        {"127.0.0.1:9110", HTTP_OK},
        {"[::1]:9110", HTTP_OK},
        {"localhost", HTTP_OK},
        {"router-1:9110", HTTP_OK},
        {"Router-7.example", HTTP_OK},
        {"evil.example", "HTTP/1.1 421 "},
        {"router-7.example.evil.example", "HTTP/1.1 421 "},
        {"127.0.0.1.evil.example", "HTTP/1.1 421 "},
        {"[::1]evil.example", "HTTP/1.1 421 "},
        {"[::1]evil", "HTTP/1.1 421 "},
        {"localhost:80evil", "HTTP/1.1 421 "},
    };
    wait_for(shared->started);
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED char *headers = mem_format("Host: %s\r\n" BEARER, CASES[i].host);
        expect_from(child.ops_port, "GET", "/healthz", headers, CASES[i].answer);
        expect_from(child.peer_port, "GET", "/peer/x", headers, CASES[i].answer);
    }
    stops(&child);
}

static bool has_ipv6(void) {
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has = fd >= 0 && !bind(fd, (struct sockaddr *)&loopback, sizeof loopback);
    if (fd >= 0) close(fd);
    return has;
}

TEST(ipv6_addresses_stand_in_brackets) {
    struct child child;
    char wanted[128];
    if (has_ipv6()) { // a machine may be without
        child = run(ARGUMENTS("--set", "peer.listen=[::1]:0"));
        wait_for(shared->started);
        snprintf(wanted, sizeof wanted, "starling-test@[::1]:%d", child.peer_port);
        assert_string_equal(shared->client_id, wanted);
        stops(&child);

        child = run(ARGUMENTS("--set", "peer.listen=[::]:0", "--set", "peer.token=x", "--set", "test.number=6"));
        wait_for(shared->started == 2);
        expect_from(child.peer_port, "GET", "/peer/x", "Authorization: Bearer x\r\n", "number 6"); // by IPv4
        stops(&child);
    }
}

/* A client who waits for an answer when the daemon goes gets one. */
TEST(pending_peer_is_answered_at_the_end) {
    struct child child = started(NULL);
    pid_t asking = fork();
    if (asking == 0) {
        char *reply = ask(child.peer_port, "GET", "/peer/hold", BEARER);
        _exit(strncmp(reply, HTTP_UNAVAILABLE, strlen(HTTP_UNAVAILABLE)) ? 1 : 0);
    }
    wait_for(shared->held);
    stops(&child);
    int status;
    assert_int_equal(waitpid(asking, &status, 0), asking);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

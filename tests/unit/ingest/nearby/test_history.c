/* GET /v1/history: what is asked of the sink, which file is made of its answer, and how many at once. The sink and HTTP are played here:
 * their functions are this file's own. */
#include "base/worker.h"
#include "ingest/nearby/history.h"
#include "ingest/owners.h"
#include "unit/kit/kit.h"

enum { QUESTIONS_MAX = 64 };

struct http_request {
    const char *accept, *after;
    unsigned status;
    char code[32], type[40], link[200], body[400];
};

static struct {
    struct {
        char path[200];
        void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
        void *context;
    } items[QUESTIONS_MAX];
    size_t count;
} asked;

void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                 void *context) {
    assert_true(asked.count < QUESTIONS_MAX);
    snprintf(asked.items[asked.count].path, sizeof asked.items->path, "%s", path);
    asked.items[asked.count].done = done;
    asked.items[asked.count++].context = context;
    (void)peers;
}

int32_t peers_of_user(const struct peers *peers, int64_t user) { return 0; }
int32_t peers_of_subject(const struct peers *peers, const char *subject) { return -1; }

const char *http_header(const struct http_request *request, const char *name) { return request->accept; }

const char *http_query(const struct http_request *request, const char *name) {
    return strcmp(name, "after") == 0 ? request->after : NULL;
}

void http_set_varies(struct http_request *request, const char *field) { assert_string_equal(field, "Accept"); }

void http_problem(struct http_request *request, unsigned status, const char *code, const char *detail,
                  int retry_after) {
    assert_int_equal(request->status, 0);
    request->status = status;
    snprintf(request->code, sizeof request->code, "%s", code);
    assert_non_null(detail);
}

void http_reply(struct http_request *request, unsigned status, const char *type, const void *body, size_t size,
                const struct http_field *fields, size_t count) {
    assert_int_equal(request->status, 0);
    request->status = status;
    snprintf(request->type, sizeof request->type, "%s", type);
    snprintf(request->body, sizeof request->body, "%.*s", (int)size, (const char *)body);
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, "Link") == 0) snprintf(request->link, sizeof request->link, "%s", fields[i].value);
}

const void *http_body(const struct http_request *request, size_t *size) { return NULL; }

bool owners_answered(struct http_request *request, int code, unsigned status) {
    if (code || status != 200) http_problem(request, 503, "owner_away", "", 0);
    return code == 0 && status == 200;
}

void owners_pass_on(struct peers *peers, const struct rpc_question *question, const struct rpc_value *values,
                    int timeout_ms, struct http_request *request) {
    assert_ptr_equal(question, &ASK_HISTORY);
    request->status = 299;
}

static uv_loop_t loop;

uv_loop_t *service_loop(const struct service *service) { return &loop; }
struct metrics *service_metrics(const struct service *service) {
    return kit_metrics();
}

SET_UP() {
    memset(&asked, 0, sizeof asked);
    kit_loop(&loop);
    return history_new(&(struct product_options){.service = NULL}, NULL);
}

TEAR_DOWN(struct history *history) { history_free(history); }

static void get(struct history *history, struct http_request *request, int64_t user) {
    assert_int_equal(HISTORY_ENDPOINTS.count, 1);
    HISTORY_ENDPOINTS.items[0].handle(history, &(struct call){.request = request, .claims = {.user = user}});
}

static const char PAGE[] =
    "{\"items\":[{\"time\":5,\"lat\":1.5,\"lng\":2,\"accuracy\":null,\"received\":6,\"battery\":0.5}],\"next\":\"x-9\"}";
static const char LAST[] = "{\"items\":[],\"next\":null}";

static void say(size_t question, int code, unsigned status, const char *reply) {
    asked.items[question].done(asked.items[question].context, code, status, reply, reply ? strlen(reply) : 0);
}

static void until_quiet(struct history *history) { KIT_UNTIL(uv_run(&loop, UV_RUN_ONCE), !history_busy(history)); }

TEST(a_file_is_written_by_the_worker, struct history *history) {
    struct http_request request = {.accept = "text/csv", .after = "a-1"};
    get(history, &request, 7);
    assert_int_equal(asked.count, 1);
    assert_non_null(strstr(asked.items[0].path, "/peer/history/7?"));
    assert_non_null(strstr(asked.items[0].path, "after=a-1"));
    assert_false(history_busy(history));
    say(0, 0, 200, PAGE);
    assert_true(history_busy(history));
    assert_int_equal(request.status, 0); // on the loop's next turns
    until_quiet(history);
    assert_int_equal(request.status, 200);
    assert_string_equal(request.type, "text/csv");
    assert_string_equal(request.body, "user,time,lat,lng,accuracy,received,battery,charging,speed_mps,course,activity,"
                                      "vertical_accuracy_m\n7,5,1.5,2,,6,0.5,,,,,\n");
    assert_non_null(strstr(request.link, "&limit=20&after=x-9>; rel=\"next\""));
}

TEST(a_page_of_json_is_the_sinks_own, struct history *history) {
    struct http_request request = {.accept = NULL};
    get(history, &request, 7);
    assert_int_equal(request.status, 299);
    assert_int_equal(asked.count, 0);
}

TEST(the_last_page_links_to_none, struct history *history) {
    struct http_request request = {.accept = "application/x-ndjson"};
    get(history, &request, 7);
    say(0, 0, 200, LAST);
    until_quiet(history);
    assert_int_equal(request.status, 200);
    assert_string_equal(request.body, "");
    assert_string_equal(request.link, "");
}

TEST(an_answer_that_cannot_be_read_is_none, struct history *history) {
    struct http_request request = {.accept = "text/csv"};
    get(history, &request, 7);
    say(0, 0, 200, "{\"items\":[{}]}");
    until_quiet(history);
    assert_int_equal(request.status, 503);
    assert_string_equal(request.code, "owner_unavailable");
}

TEST(few_files_of_a_user_are_written_at_once, struct history *history) {
    struct http_request requests[4] = {
        {.accept = "text/csv"}, {.accept = "text/csv"}, {.accept = "text/csv"}, {.accept = "text/csv"}};
    for (int i = 0; i < 3; i++) get(history, &requests[i], 7);
    assert_int_equal(asked.count, 2);
    assert_int_equal(requests[2].status, 503);
    assert_string_equal(requests[2].code, "busy");
    get(history, &requests[3], 8); // of somebody else
    assert_int_equal(asked.count, 3);
    for (size_t i = 0; i < 3; i++) say(i, -ETIMEDOUT, 0, NULL);
    assert_string_equal(requests[0].code, "owner_away");
    requests[2] = (struct http_request){.accept = "text/csv"};
    get(history, &requests[2], 7);
    assert_int_equal(asked.count, 4); // there is room again
    say(3, -ETIMEDOUT, 0, NULL);
}

TEST(what_cannot_be_asked_is_refused, struct history *history) {
    struct http_request image = {.accept = "image/png"}, cursor = {.accept = "text/csv", .after = "a&b"};
    get(history, &image, 7);
    assert_int_equal(image.status, 406);
    get(history, &cursor, 7);
    assert_int_equal(cursor.status, 400);
    assert_string_equal(cursor.code, "bad_query");
    assert_int_equal(asked.count, 0);
}

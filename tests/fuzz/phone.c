/* A phone's messages after the handshake: the edge's parser of client frames, and the error frame that answers what it refuses.
 * Accepted messages keep the promises of fanout/request.h and the screens' request.h, and error frames are JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/types.h"
#include "fanout/feed/request.h"
#include "fanout/frames.h"
#include "fanout/nearby/request.h"
#include "fanout/request.h"
#include "fuzz.h"
#include "json/json.h"
#include "ws/ws.h"

static void check_refusal(const char *code, const struct error *error) {
    struct buffer frame = {0};
    fuzz_require(code && *code && error->text[0]);
    frame_error(&frame, code, error->text);
    json_t *said = json_parse(frame.data + WS_HEADROOM, frame.size - WS_HEADROOM, NULL);
    fuzz_require(said != NULL);
    json_decref(said);
    buffer_free(&frame);
}

static void check_cursor(struct nearby_cursor cursor) {
    char text[CURSOR_TEXT_MAX];
    struct nearby_cursor again = {0};
    cursor_format(cursor, text);
    fuzz_require(strlen(text) + 1 < sizeof text);
    fuzz_require(cursor_parse(text, &again) == 0);
    fuzz_require(again.distance_m == cursor.distance_m && again.user == cursor.user);
}

static void check_report(const struct report *report) {
    fuzz_require(geo_valid(report->at));
    fuzz_require(report->time >= 0 && report->time <= EVENT_TIME_MAX);
    fuzz_require(report->accuracy >= -1 && report->accuracy <= 1000000000);
}

static int check_hello(const struct request *request, const char **code, struct error *error) {
    struct report report;
    memset(&report, 0xa5, sizeof report);
    fuzz_require(request->token_size < REQUEST_TOKEN_MAX && strlen(request->token) == request->token_size);
    int result = nearby_hello_parse(request->object, &report, code, error);
    if (result == 0) check_report(&report);
    return result == -ENOENT ? 0 : result;
}

/* A version is written as it was read. */
static void check_watch(const struct request *request, const struct feed_request *feed) {
    char text[WATCH_VERSION_TEXT];
    const char *said;
    if (!feed->has_version) return;
    watch_version_write(feed->version, text);
    fuzz_require(json_want_text(request->object, "version", &said, NULL) == 0 && strcmp(text, said) == 0);
}

static int check_other(const struct request *request, const char **code, struct error *error) {
    struct nearby_request nearby;
    memset(&nearby, 0xa5, sizeof nearby);
    int result = nearby_request_parse(request->type, request->object, &nearby, code, error);
    if (result == -ENOENT) {
        struct feed_request feed;
        int watched = feed_request_parse(request->type, request->object, &feed, code, error);
        if (watched == 0) check_watch(request, &feed);
        return watched == -ENOENT ? request_unknown(request, code, error) : watched;
    }
    if (result == 0 && nearby.type == NEARBY_MORE) check_cursor(nearby.after);
    if (result == 0 && nearby.type == NEARBY_LOCATION) check_report(&nearby.report);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct request request;
    const char *code = NULL;
    struct error error = {.text = ""};
    int result = request_parse((const char *)data, size, &request, &code, &error);
    if (result == 0) {
        result = request.hello ? check_hello(&request, &code, &error) : check_other(&request, &code, &error);
        request_free(&request);
    }
    if (result) check_refusal(code, &error);
    return 0;
}

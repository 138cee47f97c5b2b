/* What a phone may say after the handshake: the edge's parser of client frames, and the error frame that answers what it
 * refuses. Whatever comes, what is taken keeps the promises of fanout/request.h, and what is said back is JSON. */
#include <stdlib.h>
#include <string.h>

#include "event/types.h"
#include "fanout/frames.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct request request;
    const char *code = NULL;
    struct error error = {.text = ""};
    memset(&request, 0xa5, sizeof request);
    int result = request_parse((const char *)data, size, &request, &code, &error);
    if (result) {
        check_refusal(code, &error);
    } else if (request.type == REQUEST_MORE) {
        check_cursor(request.after);
    } else {
        fuzz_require(geo_valid(request.at));
        fuzz_require(request.time >= 0 && request.time <= EVENT_TIME_MAX);
        fuzz_require(request.accuracy >= -1 && request.accuracy <= 1000000000);
    }
    if (result == 0 && request.type == REQUEST_HELLO)
        fuzz_require(request.token_size < REQUEST_TOKEN_MAX && strlen(request.token) == request.token_size);
    return 0;
}

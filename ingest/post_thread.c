#include "ingest/post_thread.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "edits/encode.h"
#include "event/topics.h"
#include "subjects/subject.h"

static void closed(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    (void)context, (void)request, (void)code, (void)partition, (void)offset;
}

void post_thread_close(struct writer *writer, int64_t post) {
    char subject[SUBJECT_MAX + 1];
    size_t size = (size_t)snprintf(subject, sizeof subject, "post:%" PRId64, post);
    const struct comment_command command = {
        .kind = COMMENT_COMMAND_CLOSE,
        .subject = {subject, size},
        .role = COMMENT_COMMAND_SERVICE,
        .key = {"post deleted", 12},
        .owner = -1,
        .who_may = COMMENT_COMMAND_SAME_WHO,
        .review = COMMENT_COMMAND_SAME_REVIEW,
        .closing = COMMENT_COMMAND_SAME_CLOSING,
        .time = clock_wall_ms(),
    };
    struct buffer record = {0};
    edit_encode_comment_command(&record, &command);
    struct write *write = write_new(writer, NULL, closed, NULL);
    write_keyed(write, &TOPIC_COMMENT_COMMANDS, subject, size, &record);
    write_end(write);
    buffer_free(&record);
}

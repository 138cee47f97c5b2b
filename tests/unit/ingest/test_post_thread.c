/* The command that closes the thread of a deleted post. The writes are this file's own. */
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/post_thread.h"
#include "unit/kit/kit.h"

static struct {
    const struct topic *topic;
    struct buffer key, record;
    size_t count, ended;
} written;

struct write *write_new(struct writer *writer, struct http_request *request, write_done *done, void *context) {
    assert_null(request);
    assert_non_null(done);
    return (struct write *)&written;
}

void write_keyed(struct write *write, const struct topic *topic, const void *key, size_t size,
                 const struct buffer *record) {
    written.topic = topic;
    written.count++;
    buffer_append(&written.key, key, size);
    buffer_append(&written.record, record->data, record->size);
}

void write_end(struct write *write) { written.ended++; }

TEST(the_owner_of_the_thread_is_told) {
    struct comment_command command;
    post_thread_close(NULL, 1234567890123);
    assert_int_equal(written.count, 1);
    assert_int_equal(written.ended, 1);
    assert_ptr_equal(written.topic, &TOPIC_COMMENT_COMMANDS);
    assert_string_equal(buffer_cstring(&written.key), "post:1234567890123");
    assert_int_equal(
        event_decode_comment_command(kit_codec(), written.record.data, written.record.size, &command, &failure), 0);
    assert_int_equal(command.kind, COMMENT_COMMAND_CLOSE);
    assert_int_equal(command.role, COMMENT_COMMAND_SERVICE);
    assert_int_equal(command.subject.size, written.key.size);
    assert_memory_equal(command.subject.data, written.key.data, command.subject.size);
    buffer_free(&written.key);
    buffer_free(&written.record);
}

#include "unit/lib/posts/post_owners.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "ids/ids.h"

void post_owners_fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                       void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                       void *done_context) {
    struct post_owners *owners = context;
    owners->questions = mem_resize(owners->questions, owners->count + 1, sizeof *owners->questions);
    owners->questions[owners->count++] = (struct post_question){
        .partition = partition, .path = mem_string(path), .open = true, .done = done, .context = done_context};
    owners->open++;
    if (owners->at_once) post_owners_answer(owners, owners->count - 1);
}

void post_owners_say(struct post_owners *owners, size_t question, int code, unsigned status, const char *reply) {
    struct post_question *asked = &owners->questions[question];
    asked->open = false;
    owners->open--;
    asked->done(asked->context, code, status, reply, reply ? strlen(reply) : 0);
}

static bool is_deleted(const struct post_owners *owners, int64_t id) {
    for (size_t i = 0; i < owners->deleted_count; i++)
        if (owners->deleted[i] == id) return true;
    return false;
}

/* The next id of a path; 0: no more. */
static int64_t next_id(const char **at) {
    char *end;
    int64_t id = strtoll(*at, &end, 10);
    *at = *end == ',' ? end + 1 : end;
    return id;
}

void post_owners_answer(struct post_owners *owners, size_t question) {
    struct buffer reply = {.size = 0};
    const char *at = strchr(owners->questions[question].path, '=') + 1;
    int32_t partition = owners->questions[question].partition;
    size_t count = 0;
    buffer_string(&reply, "{\"items\":[");
    for (int64_t id; (!owners->most || count < owners->most) && (id = next_id(&at)) > 0;) {
        if (count++) buffer_byte(&reply, ',');
        if (owners->elsewhere && ids_partition(id) == owners->elsewhere && partition != owners->elsewhere)
            buffer_string(&reply, "false");
        else if (is_deleted(owners, id))
            buffer_string(&reply, "null");
        else
            buffer_format(&reply,
                          "{\"id\":\"%" PRId64 "\",\"user\":7,\"text\":\"text of %" PRId64 "\",\"media\":[],"
                          "\"time\":%" PRId64 "}",
                          id, id, ids_time_ms(id));
    }
    buffer_string(&reply, "]}");
    post_owners_say(owners, question, 0, 200, buffer_cstring(&reply));
    buffer_free(&reply);
}

void post_owners_answer_all(struct post_owners *owners) {
    for (size_t i = 0; i < owners->count; i++)
        if (owners->questions[i].open) post_owners_answer(owners, i);
}

static bool asks(const struct post_question *question, int64_t id) {
    const char *at = strchr(question->path, '=') + 1;
    for (int64_t its; (its = next_id(&at)) > 0;)
        if (its == id) return true;
    return false;
}

size_t post_owners_asked(const struct post_owners *owners, int64_t id) {
    size_t found = 0;
    for (size_t i = 0; i < owners->count; i++) found += asks(&owners->questions[i], id);
    return found;
}

void post_owners_free(struct post_owners *owners) {
    for (size_t i = 0; i < owners->count; i++)
        if (owners->questions[i].open) post_owners_say(owners, i, -ECANCELED, 0, NULL);
    for (size_t i = 0; i < owners->count; i++) free(owners->questions[i].path);
    free(owners->questions);
    *owners = (struct post_owners){.count = 0};
}

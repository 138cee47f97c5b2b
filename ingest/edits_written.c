#include "ingest/edits.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ingest/owners.h"

enum { RETRY_AFTER_S = 1 };

/* An edit while its text is checked. object: the client's JSON, into which the wish points. */
struct edit_question {
    struct edit_reader reader;
    struct http_request *request;
    json_t *object;
    struct edit_wish wish;
};

static void finish(struct edit_question *question, const struct edit_wish *wish) {
    question->reader.done(question->reader.context, wish);
    json_decref(question->object);
    free(question);
}

/* The former text stays where it is, for all to see, so that an edit cannot wait. */
static void checked(void *context, const struct text_facts *facts, bool stopping) {
    struct edit_question *question = context;
    question->wish.mentions = facts->mentions;
    if (stopping)
        owners_away(question->request, RETRY_AFTER_S);
    else if (facts->held)
        http_problem(question->request, 403, "text_held", "a moderator would have to approve this text first", 0);
    finish(question, stopping || facts->held ? NULL : &question->wish);
}

/* NULL: the body is read. Else the code of the problem. */
static const char *read_body(const json_t *object, const struct edit_reader *reader, struct edit_wish *wish,
                             struct error *error) {
    *wish = (struct edit_wish){.reason = {"", 0}};
    if (!client_text_read(object, "text", reader->points_max, &wish->text, error)) return "bad_text";
    if (json_want_int(object, "version", 1, INT64_C(1) << 53, &wish->version, error)) return "bad_version";
    if (json_object_get(object, "reason") &&
        !client_text_read(object, "reason", reader->reason_max, &wish->reason, error))
        return "bad_reason";
    return NULL;
}

void edit_read(struct http_request *request, const struct edit_reader *reader) {
    struct edit_wish wish;
    struct error error;
    json_t *object = call_body(&(struct call){.request = request});
    const char *wrong = object ? read_body(object, reader, &wish, &error) : NULL;
    if (wrong) http_problem(request, 400, wrong, error.text, 0);
    if (!object || wrong) {
        json_decref(object);
        reader->done(reader->context, NULL);
        return;
    }
    struct edit_question *question =
        MEM_NEW(&(struct edit_question){.reader = *reader, .request = request, .object = object, .wish = wish});
    text_check(&(struct text_check){
        .filter = reader->filter,
        .feeds = reader->feeds,
        .partitions = reader->partitions,
        .text = {.kind = "edit", .user = reader->user, .text = wish.text},
        .context = question,
        .done = checked,
    });
}

#include "ingest/comments/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/owners.h"

enum { RETRY_AFTER_S = 1 };

static bool read_subject(const struct call *call, char subject[SUBJECT_MAX + 1]) {
    const struct path_value *type = &call->values[0], *id = &call->values[1];
    if (type->size <= SUBJECT_TYPE_MAX && id->size <= SUBJECT_ID_MAX) {
        memcpy(subject, type->text, type->size);
        subject[type->size] = ':';
        memcpy(subject + type->size + 1, id->text, id->size);
        subject[type->size + 1 + id->size] = '\0';
        // Clients, and ours to the owners, take "." and ".." out of paths.
        bool dots = strcmp(subject + type->size, ":.") == 0 || strcmp(subject + type->size, ":..") == 0;
        if (!dots && subject_valid(subject, type->size + 1 + id->size)) return true;
    }
    http_problem(call->request, 400, "bad_path",
                 "{type} must be 1 to 32 of a-z, 0-9, - and _; {id} 1 to 128 of A-Z, a-z, 0-9, -, _, . and ~", 0);
    return false;
}

/* A call at the door. */
struct entering {
    struct comments_gateway *gateway;
    struct call call;
    char subject[SUBJECT_MAX + 1];
    comments_handler *handler;
    bool acts;
};

static void sight_answered(void *context, enum sight_answer answer) {
    struct entering *entering = context;
    if (answer == SIGHT_YES || (answer == SIGHT_NO_POST && entering->acts))
        entering->handler(entering->gateway, &entering->call, entering->subject);
    else
        comments_unseen(entering->call.request, answer);
    free(entering);
}

static void enter(struct comments_gateway *gateway, const struct call *call, const char *subject, bool acts,
                  comments_handler *handler) {
    int64_t post = sights_post_of(subject);
    if (!post) {
        handler(gateway, call, subject);
        return;
    }
    struct entering *entering =
        MEM_NEW(&(struct entering){.gateway = gateway, .call = *call, .handler = handler, .acts = acts});
    snprintf(entering->subject, sizeof entering->subject, "%s", subject);
    sights_ask(
        gateway->sights,
        &(struct sights_wish){
            .reader = call->claims.user, .author = -1, .post = post, .context = entering, .done = sight_answered});
}

static void subject_of_post(int64_t post, char subject[SUBJECT_MAX + 1]) {
    snprintf(subject, SUBJECT_MAX + 1, "post:%" PRId64, post);
}

void comments_enter(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    char subject[SUBJECT_MAX + 1];
    if (read_subject(call, subject)) enter(gateway, call, subject, false, handler);
}

void comments_enter_to_act(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    char subject[SUBJECT_MAX + 1];
    if (read_subject(call, subject)) enter(gateway, call, subject, true, handler);
}

void comments_enter_post(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    char subject[SUBJECT_MAX + 1];
    subject_of_post(call->values[0].id, subject);
    enter(gateway, call, subject, false, handler);
}

void comments_enter_post_to_act(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    char subject[SUBJECT_MAX + 1];
    subject_of_post(call->values[0].id, subject);
    enter(gateway, call, subject, true, handler);
}

void comments_enter_unseen(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    char subject[SUBJECT_MAX + 1];
    if (read_subject(call, subject)) handler(gateway, call, subject);
}

void comments_enter_post_unseen(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    char subject[SUBJECT_MAX + 1];
    subject_of_post(call->values[0].id, subject);
    handler(gateway, call, subject);
}

void comments_leave(struct comments_gateway *gateway, const char *subject, int64_t reader, void *context,
                    void (*done)(void *context, enum sight_answer answer)) {
    int64_t post = sights_post_of(subject);
    if (post)
        sights_ask(
            gateway->sights,
            &(struct sights_wish){.reader = reader, .author = -1, .post = post, .context = context, .done = done});
    else
        done(context, SIGHT_YES);
}

void comments_unseen(struct http_request *request, enum sight_answer answer) {
    if (answer == SIGHT_AWAY)
        comments_owner_away(request);
    else
        http_problem(request, 404, "no_post", "there is no such post", 0);
}

void comments_enter_user(struct comments_gateway *gateway, const struct call *call, comments_handler *handler) {
    char subject[SUBJECT_MAX + 1];
    snprintf(subject, sizeof subject, "user:%" PRId64, call->values[0].user);
    handler(gateway, call, subject);
}

struct comment_names comments_names(struct comments_gateway *gateway) {
    return (struct comment_names){user_copies_profiles(gateway->copies), gateway->authors};
}

void comments_owner_away(struct http_request *request) { owners_away(request, RETRY_AFTER_S); }

#include "ingest/comments/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ingest/owners.h"

enum { RETRY_AFTER_S = 1 };

bool comments_subject(const struct call *call, char subject[SUBJECT_MAX + 1]) {
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

void comments_subject_of_post(int64_t post, char subject[SUBJECT_MAX + 1]) {
    snprintf(subject, SUBJECT_MAX + 1, "post:%" PRId64, post);
}

struct comment_names comments_names(struct comments_gateway *gateway) {
    return (struct comment_names){user_copies_profiles(gateway->copies), gateway->authors};
}

void comments_owner_away(struct http_request *request) { owners_away(request, RETRY_AFTER_S); }

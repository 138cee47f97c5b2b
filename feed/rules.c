#include "feed/rules.h"

#include <string.h>

#include "base/text.h"
#include "edits/edits.h"
#include "feed/posts.h"

/* ---- complaints ---- */

static int64_t points_of(const struct event_text *text) { return text_utf8_points(text->data, text->size); }

static bool begins(const struct event_text *text, const char *with) {
    size_t size = strlen(with);
    return text->size >= size && memcmp(text->data, with, size) == 0;
}

static const char *media_complaint(const struct event_texts *media) {
    if (media->count > POST_MEDIA_MAX) return "it has more than four media";
    for (size_t i = 0; i < media->count; i++) {
        const struct event_text *url = &media->items[i];
        if (!url->size || url->size > POST_URL_MAX) return "the address of a medium is empty or longer than 2048 bytes";
        if (!begins(url, "http://") && !begins(url, "https://"))
            return "the address of a medium does not begin with http:// or https://";
        if (points_of(url) < 0) return "the address of a medium is not UTF-8";
    }
    return NULL;
}

static const char *content_complaint(const struct post_command *command) {
    int64_t points = points_of(&command->text);
    if (points < 0) return "its text is not UTF-8";
    if (!points || points > POST_TEXT_POINTS_MAX) return "its text is empty or longer than 2000 characters";
    if (command->key.size > POST_CLIENT_KEY_MAX) return "its key is longer than 64 bytes";
    if (points_of(&command->key) < 0) return "its key is not UTF-8";
    if (command->mentions.count > POST_MENTIONS_MAX) return "it mentions more than ten users";
    for (size_t i = 0; i < command->mentions.count; i++)
        if (command->mentions.items[i] < 0) return "it mentions a negative user";
    return media_complaint(&command->media);
}

const char *post_command_complaint(const struct post_command *command) {
    bool edits = command->kind == POST_COMMAND_EDIT;
    if (command->user < 0) return "the user is negative";
    if (edits ? command->version < 1 : command->version || command->reason.size)
        return "it edits no version, or one where there must be none";
    if (points_of(&command->reason) < 0) return "its reason is not UTF-8";
    if (points_of(&command->reason) > POST_REASON_POINTS_MAX) return "its reason is longer than 1000 characters";
    if (command->kind != POST_COMMAND_POST && command->id < 1) return "the post's id is not above 0";
    if (edits) return content_complaint(command);
    if (command->kind != POST_COMMAND_POST) return NULL;
    return command->id ? "a new post has an id already" : content_complaint(command);
}

const char *follow_command_complaint(const struct follow_command *command) {
    if (command->user < 0 || command->other < 0) return "a user is negative";
    if (command->time < 1) return "the time is not above 0"; // a half that says 0 has ended
    return command->user == command->other ? "both users are the same" : NULL;
}

/* ---- decisions ---- */

static bool made_since_the_block(const struct follow_command *command, const struct relation_now *now) {
    return command->blocked && !now->blocked && now->since > command->blocked;
}

enum follow_verdict follow_decide(const struct follow_command *command, const struct relation_now *now,
                                  size_t following_max) {
    switch (command->kind) {
    case FOLLOW_COMMAND_FOLLOW:
        if (now->set) return FOLLOW_NOTHING;
        if (now->blocked) return FOLLOW_BLOCKED;
        return now->following < following_max ? FOLLOW_SET : FOLLOW_FULL;
    case FOLLOW_COMMAND_MUTE: return now->set ? FOLLOW_NOTHING : FOLLOW_SET;
    case FOLLOW_COMMAND_UNFOLLOW:
        return now->set && !made_since_the_block(command, now) ? FOLLOW_CLEAR : FOLLOW_NOTHING;
    case FOLLOW_COMMAND_UNMUTE: return now->set ? FOLLOW_CLEAR : FOLLOW_NOTHING;
    }
    return FOLLOW_NOTHING;
}

enum post_verdict post_decide(enum post_command_kind kind, const struct post_now *now, int64_t now_ms) {
    switch (kind) {
    case POST_COMMAND_POST: return now->exists ? POST_NOTHING : POST_MAKE;
    case POST_COMMAND_DELETE: return now->exists && !now->deleted ? POST_REMOVE : POST_NOTHING;
    case POST_COMMAND_FORGET:
        return now->exists && now->deleted && now_ms - now->deleted >= POST_KEPT_MS ? POST_FORGET : POST_NOTHING;
    case POST_COMMAND_EDIT:
        return now->exists && !now->deleted && edit_decide(now->version, now->read) == EDIT_DONE ? POST_EDIT
                                                                                                 : POST_NOTHING;
    }
    return POST_NOTHING;
}

#include "feed/rules.h"

#include <string.h>

#include "base/text.h"
#include "edits/edits.h"
#include "feed/posts.h"
#include "users/notice.h"

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
    bool decides = command->kind == POST_COMMAND_HIDE || command->kind == POST_COMMAND_RESTORE;
    if (command->user < 0) return "the user is negative";
    if (edits ? command->version < 1 : command->version) return "it edits no version, or one where there must be none";
    if (decides && command->editor < 0) return "it names no moderator";
    if (command->editor < 0 && !edits && command->reason.size) return "an author gives no reason";
    if (points_of(&command->reason) < 0) return "its reason is not UTF-8";
    if (points_of(&command->reason) > POST_REASON_POINTS_MAX) return "its reason is longer than 1000 characters";
    if (command->kind != POST_COMMAND_POST && command->id < 1) return "the post's id is not above 0";
    if (command->kind != POST_COMMAND_POST && command->held) return "only a new post is held";
    if (edits) return content_complaint(command);
    if (command->kind != POST_COMMAND_POST) return NULL;
    return command->id ? "a new post has an id already" : content_complaint(command);
}

const char *follow_command_complaint(const struct follow_command *command) {
    if (command->user < 0 || command->other < 0) return "a user is negative";
    if (command->time < 1) return "the time is not above 0"; // a half that says 0 has ended
    return command->user == command->other ? "both users are the same" : NULL;
}

const char *follower_command_complaint(const struct follower_command *command) {
    bool of_all = command->kind == FOLLOWER_COMMAND_FOLLOWERS || command->kind == FOLLOWER_COMMAND_EVERYBODY;
    if (command->author < 0) return "the author is negative";
    if (command->time < 1) return "the time is not above 0"; // a half that says 0 has ended
    if (of_all) return command->reader < 0 ? NULL : "it names a reader, and is about all";
    if (command->reader < 0) return "the reader is negative";
    return command->author == command->reader ? "both users are the same" : NULL;
}

const char *notice_command_complaint(const struct notice_command *command) {
    bool reads = command->kind == NOTICE_COMMAND_READ;
    return reads && !notice_is_kind(command->read_kind) ? "what is read is no notice" : NULL;
}

/* ---- decisions ---- */

static bool made_since_the_block(const struct follower_command *command, const struct follower_now *now) {
    return command->blocked && !now->blocked && now->since > command->blocked;
}

static enum follower_verdict decide_ask(const struct follower_command *command, const struct follower_now *now,
                                        size_t following_max) {
    if (now->follows || (now->requested && now->for_followers)) return FOLLOWER_NOTHING;
    if (now->blocked) return FOLLOWER_BLOCKED;
    if ((uint64_t)command->following >= following_max) return FOLLOWER_FULL;
    if (!now->for_followers) return FOLLOWER_FOLLOWS;
    return now->requests < FOLLOWER_REQUESTS_MAX ? FOLLOWER_REQUESTS : FOLLOWER_CROWDED;
}

enum follower_verdict follower_decide(const struct follower_command *command, const struct follower_now *now,
                                      size_t following_max) {
    switch (command->kind) {
    case FOLLOWER_COMMAND_ASK: return decide_ask(command, now, following_max);
    case FOLLOWER_COMMAND_END:
        return (now->follows || now->requested) && !made_since_the_block(command, now) ? FOLLOWER_ENDS
                                                                                       : FOLLOWER_NOTHING;
    case FOLLOWER_COMMAND_ACCEPT: return now->requested && !now->blocked ? FOLLOWER_FOLLOWS : FOLLOWER_NOTHING;
    case FOLLOWER_COMMAND_FOLLOWERS:
    case FOLLOWER_COMMAND_EVERYBODY: break;
    }
    return FOLLOWER_NOTHING;
}

enum post_verdict post_decide(enum post_command_kind kind, const struct post_now *now, int64_t now_ms) {
    switch (kind) {
    case POST_COMMAND_POST: return now->exists || now->banned ? POST_NOTHING : POST_MAKE;
    case POST_COMMAND_DELETE: return now->exists && !now->deleted ? POST_REMOVE : POST_NOTHING;
    case POST_COMMAND_FORGET:
        return now->exists && now->deleted && now_ms - now->deleted >= POST_KEPT_MS ? POST_FORGET : POST_NOTHING;
    case POST_COMMAND_EDIT:
        if (!now->exists || now->deleted || now->banned || (now->hidden && !now->moderator)) return POST_NOTHING;
        return edit_decide(now->version, now->read) == EDIT_DONE ? POST_EDIT : POST_NOTHING;
    case POST_COMMAND_HIDE:
        return now->exists && !now->deleted && (!now->hidden || now->held) ? POST_HIDE : POST_NOTHING;
    case POST_COMMAND_RESTORE: return now->exists && !now->deleted && now->hidden ? POST_SHOW : POST_NOTHING;
    }
    return POST_NOTHING;
}

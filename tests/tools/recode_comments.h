/* Shows records about comments as JSON, each field followed by ", ". Part of recode.c. */
#pragma once

#include "event/codec.h"
#include "showing.h"

static void show_comment_command(struct buffer *out, const struct comment_command *record) {
    static const char *const kinds[] = {"POST", "REPLY",   "LIKE",    "UNLIKE", "DELETE", "PIN",      "UNPIN", "REPORT",
                                        "HIDE", "RESTORE", "APPROVE", "CLOSE",  "OPEN",   "REGISTER", "EDIT"};
    static const char *const roles[] = {"USER", "MODERATOR", "SERVICE"};
    static const char *const who_mays[] = {"EVERYONE", "FOLLOWERS", "FRIENDS", "NOBODY", "SAME_WHO"};
    static const char *const reviews[] = {"AFTER", "BEFORE", "SAME_REVIEW"};
    static const char *const closings[] = {"OPENED", "CLOSED", "SAME_CLOSING"};
    static const char *const states[] = {"VISIBLE", "HELD", "HIDDEN", "DELETED"};
    put_symbol(out, "kind", kinds, record->kind);
    put_text(out, "subject", record->subject);
    put_long(out, "user", record->user);
    put_symbol(out, "role", roles, record->role);
    put_text(out, "key", record->key);
    put_long(out, "comment", record->comment);
    put_text(out, "text", record->text);
    put_longs(out, "mentions", record->mentions);
    put_long(out, "owner", record->owner);
    put_long(out, "level", record->level);
    put_bool(out, "follows", record->follows);
    put_bool(out, "friends", record->friends);
    put_bool(out, "blocked", record->blocked);
    put_symbol(out, "who_may", who_mays, record->who_may);
    put_symbol(out, "review", reviews, record->review);
    put_symbol(out, "closing", closings, record->closing);
    put_long(out, "time", record->time);
    put_long(out, "written", record->written);
    put_symbol(out, "state", states, record->state);
    put_long(out, "named_user", record->named_user);
    put_text(out, "named_key", record->named_key);
    put_long(out, "version", record->version);
    put_text(out, "reason", record->reason);
}

static void show_comment_subject(struct buffer *out, const struct comment_subject *record) {
    static const char *const who_mays[] = {"EVERYONE", "FOLLOWERS", "FRIENDS", "NOBODY"};
    static const char *const reviews[] = {"AFTER", "BEFORE"};
    put_long(out, "owner", record->owner);
    put_symbol(out, "who_may", who_mays, record->who_may);
    put_symbol(out, "review", reviews, record->review);
    put_bool(out, "closed", record->closed);
    put_long(out, "level", record->level);
    put_long(out, "roots", record->roots);
    put_long(out, "visible", record->visible);
    put_long(out, "held", record->held);
    put_longs(out, "pinned", record->pinned);
    put_long(out, "structure", record->structure);
    put_long(out, "counters", record->counters);
    put_long(out, "command", record->command);
    put_long(out, "likes", record->likes);
}

static void show_comment(struct buffer *out, const struct comment *record) {
    static const char *const states[] = {"VISIBLE", "HELD", "HIDDEN", "DELETED"};
    put_long(out, "user", record->user);
    put_symbol(out, "state", states, record->state);
    put_long(out, "floor", record->floor);
    put_long(out, "root", record->root);
    put_long(out, "answers", record->answers);
    put_long(out, "likes", record->likes);
    put_long(out, "floors", record->floors);
    put_long(out, "replies", record->replies);
    put_long(out, "reports", record->reports);
    put_long(out, "time", record->time);
    put_long(out, "version", record->version);
    put_long(out, "edited", record->edited);
}

static void show_comment_text(struct buffer *out, const struct comment_text *record) {
    put_text(out, "text", record->text);
    put_long(out, "user", record->user);
    put_text(out, "key", record->key);
    put_longs(out, "mentions", record->mentions);
    put_long(out, "rested_at", record->rested_at);
    put_long(out, "version", record->version);
    put_long(out, "edited", record->edited);
    put_long(out, "editor", record->editor);
}

static void show_comment_reaction(struct buffer *out, const struct comment_reaction *record) {
    put_bool(out, "likes", record->likes);
    put_bool(out, "reported", record->reported);
}

static void show_comment_refusal(struct buffer *out, const struct comment_refusal *record) {
    static const char *const reasons[] = {"NO_SUBJECT", "NO_COMMENT",  "CLOSED",    "BANNED",      "NOT_ALLOWED",
                                          "LEVEL",      "BLOCKED",     "NOT_YOURS", "NOT_VISIBLE", "NO_ROOT",
                                          "PINS",       "OLD_VERSION", "EDITS"};
    put_long(out, "command", record->command);
    put_long(out, "user", record->user);
    put_text(out, "key", record->key);
    put_symbol(out, "reason", reasons, record->reason);
}

static void show_comment_ban(struct buffer *out, const struct comment_ban *record) {
    put_long(out, "until", record->until);
    put_long(out, "moderator", record->moderator);
    put_text(out, "reason", record->reason);
    put_long(out, "time", record->time);
}

static void show_moderation_entry(struct buffer *out, const struct moderation_entry *record) {
    static const char *const whats[] = {"REPORT", "HIDE", "RESTORE", "APPROVE", "DELETE", "BAN", "UNBAN", "EDIT"};
    static const char *const roles[] = {"USER", "MODERATOR", "SERVICE"};
    put_symbol(out, "what", whats, record->what);
    put_long(out, "user", record->user);
    put_symbol(out, "role", roles, record->role);
    put_long(out, "author", record->author);
    put_text(out, "reason", record->reason);
    put_long(out, "time", record->time);
    put_long(out, "until", record->until);
}

static void show_audit_entry(struct buffer *out, const struct audit_entry *record) {
    static const char *const roles[] = {"MODERATOR", "OPERATOR"};
    put_symbol(out, "role", roles, record->role);
    put_long(out, "user", record->user);
    put_text(out, "name", record->name);
    put_text(out, "address", record->address);
    put_text(out, "what", record->what);
    put_text(out, "query", record->query);
    put_long(out, "about", record->about);
}

static void show_comment_wide(struct buffer *out, const struct comment_wide *record) {
    static const char *const states[] = {"VISIBLE", "HELD", "HIDDEN", "DELETED"};
    put_text(out, "subject", record->subject);
    put_long(out, "owner", record->owner);
    put_long(out, "id", record->id);
    put_long(out, "floor", record->floor);
    put_long(out, "root", record->root);
    put_long(out, "answers", record->answers);
    put_long(out, "user", record->user);
    put_symbol(out, "state", states, record->state);
    put_text(out, "text", record->text);
    put_long(out, "likes", record->likes);
    put_long(out, "replies", record->replies);
    put_long(out, "reports", record->reports);
    put_long(out, "time", record->time);
    put_long(out, "version", record->version);
    put_long(out, "edited", record->edited);
}

static void show_changed_comments(struct buffer *out, const struct comment_change *record) {
    static const char *const states[] = {"VISIBLE", "HELD", "HIDDEN", "DELETED"};
    buffer_string(out, "\"items\": [");
    for (size_t i = 0; i < record->items.count; i++) {
        const struct changed_comment *item = &record->items.items[i];
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "id", item->id);
        put_long(out, "user", item->user);
        put_symbol(out, "state", states, item->state);
        put_long(out, "time", item->time);
        put_long(out, "floor", item->floor);
        put_long(out, "root", item->root);
        put_long(out, "answers", item->answers);
        put_long(out, "likes", item->likes);
        put_long(out, "replies", item->replies);
        put_long(out, "version", item->version);
        put_long(out, "edited", item->edited);
        close_object(out);
    }
    buffer_string(out, "], \"texts\": [");
    for (size_t i = 0; i < record->texts.count; i++) {
        if (i) buffer_string(out, ", ");
        json_put_text(out, record->texts.items[i].data, record->texts.items[i].size);
    }
    buffer_string(out, "], ");
}

static void show_comment_change(struct buffer *out, const struct comment_change *record) {
    put_bool(out, "sampled", record->sampled);
    put_long(out, "since", record->since);
    put_long(out, "version", record->version);
    put_long(out, "total", record->total);
    show_changed_comments(out, record);
    put_longs(out, "gone", record->gone);
    buffer_string(out, "\"counters\": [");
    for (size_t i = 0; i < record->counters.count; i++) {
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "id", record->counters.items[i].id);
        put_long(out, "likes", record->counters.items[i].likes);
        put_long(out, "replies", record->counters.items[i].replies);
        close_object(out);
    }
    buffer_string(out, "], ");
    put_long(out, "likes", record->likes);
}

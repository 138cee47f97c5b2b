/* Our codecs for tests in other languages.
 *
 *     test-recode               each line of stdin is a Kafka value in hex; answers each with a line: what it decodes to, as JSON,
 *                               a tab, and in hex what that is encoded to; or "error CODE REASON"
 *     test-recode write FILE    a history file of the history-row values on stdin
 *     test-recode read FILE     the rows of a history file, a line of JSON each
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "deliver/envelope.h"
#include "event/container.h"
#include "event/delivery.h"
#include "json/json.h"
#include "recode_comments.h"
#include "recode_reports.h"
#include "showing.h"

static void show_location(struct buffer *out, const struct location *record) {
    static const char *const kinds[] = {"REPORT", "JOIN", "REJOIN", "QUIT", "LEAVE"};
    put_long(out, "user", record->user);
    put_long(out, "lat", record->lat);
    put_long(out, "lng", record->lng);
    put_long(out, "time", record->time);
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "session", record->session);
    put_long(out, "route", record->route);
    put_long(out, "opted", record->opted);
    put_long(out, "accuracy", record->accuracy);
    PUT_DETAILS(out, record);
    put_bool(out, "shown", record->shown);
}

static void show_friend_command(struct buffer *out, const struct friend_command *record) {
    static const char *const kinds[] = {"REQUEST", "REMOVE", "BLOCK", "UNBLOCK", "BEFRIEND", "ROUND", "EXACT"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "from", record->from);
    put_long(out, "to", record->to);
    put_long(out, "time", record->time);
    put_long(out, "since", record->since);
}

static void show_friendship(struct buffer *out, const struct friendship *record) {
    static const char *const states[] = {"NONE", "REQUESTED", "INVITED", "FRIENDS"};
    put_symbol(out, "state", states, record->state);
    put_bool(out, "blocked_by_me", record->blocked_by_me);
    put_bool(out, "blocked_by_them", record->blocked_by_them);
    put_long(out, "since", record->since);
    put_bool(out, "rounded_by_me", record->rounded_by_me);
    put_bool(out, "rounded_by_them", record->rounded_by_them);
}

static void show_profile(struct buffer *out, const struct profile *record) {
    put_text(out, "name", record->name);
    put_text(out, "avatar_url", record->avatar_url);
    put_text(out, "bio", record->bio);
    put_text(out, "url", record->url);
}

static void show_sharing(struct buffer *out, const struct sharing *record) {
    static const char *const modes[] = {"OFF", "FRIENDS", "PUBLIC"};
    put_symbol(out, "mode", modes, record->mode);
    put_long(out, "until", record->until);
    put_bool(out, "details", record->details);
}

static void show_nearby_mute(struct buffer *out, const struct nearby_mute *record) {
    put_long(out, "since", record->since);
}

static void show_command_offset(struct buffer *out, const struct command_offset *record) {
    put_long(out, "next", record->next);
}

static void show_history_row(struct buffer *out, const struct history_row *record) {
    put_long(out, "user", record->user);
    put_long(out, "lat", record->lat);
    put_long(out, "lng", record->lng);
    put_long(out, "time", record->time);
    put_long(out, "accuracy", record->accuracy);
    put_long(out, "received", record->received);
    put_long(out, "partition", record->partition);
    put_long(out, "offset", record->offset);
    PUT_DETAILS(out, record);
}

static void put_bytes(struct buffer *out, const char *name, const uint8_t *bytes, size_t size) {
    buffer_format(out, "\"%s\": ", name);
    text_hex(out, bytes, size);
    buffer_string(out, ", ");
}

static void show_watch(struct buffer *out, const struct watch *record) { put_long(out, "route", record->route); }

static void show_roll_call(struct buffer *out, const struct roll_call *record) {
    put_long(out, "route", record->route);
    put_long(out, "number", record->number);
    put_long(out, "count", record->count);
    put_long(out, "hash", record->hash);
    put_bool(out, "more", record->more);
    buffer_string(out, "\"heard\": [");
    for (size_t i = 0; i < record->heard.count; i++) {
        const struct roll_call_ack *ack = &record->heard.items[i];
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "what", ack->what);
        put_bool(out, "known", ack->known);
        put_long(out, "version_number", ack->version_number);
        put_long(out, "version_hash", ack->version_hash);
        close_object(out);
    }
    buffer_string(out, "], ");
}

static void show_watch_note(struct buffer *out, const struct watch_note *record) {
    static const char *const kinds[] = {"TOLD", "NAMED", "AGAIN"};
    put_symbol(out, "kind", kinds, record->kind);
    put_bytes(out, "what", record->what.data, record->what.size);
    put_long(out, "since_number", record->since_number);
    put_long(out, "since_hash", record->since_hash);
    put_long(out, "version_number", record->version_number);
    put_long(out, "version_hash", record->version_hash);
    put_long(out, "watcher", record->watcher);
    put_long(out, "partition", record->partition);
    put_bytes(out, "content", record->content.data, record->content.size);
}

static void show_roster(struct buffer *out, int64_t session, bool complete, const struct roster_friends *friends) {
    put_long(out, "session", session);
    put_bool(out, "complete", complete);
    buffer_string(out, "\"friends\": [");
    for (size_t i = 0; i < friends->count; i++) {
        const struct roster_friend *friend = &friends->items[i];
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "user", friend->user);
        put_long(out, "lat", friend->lat);
        put_long(out, "lng", friend->lng);
        put_long(out, "time", friend->time);
        close_object(out);
    }
    buffer_string(out, "], ");
}

static void show_nearby_item(struct buffer *out, const struct nearby_item *item) {
    static const char *const kinds[] = {"Move",   "Roster",     "Digest",      "Self",          "Left",
                                        "Parted", "Superseded", "RoundedMove", "RoundedRoster", "DetailedMove"};
    buffer_format(out, "\"item\": {\"%s\": {", kinds[item->kind]);
    switch (item->kind) {
    case NEARBY_ITEM_MOVE:
        put_long(out, "user", item->move.user);
        put_long(out, "lat", item->move.lat);
        put_long(out, "lng", item->move.lng);
        put_long(out, "time", item->move.time);
        break;
    case NEARBY_ITEM_ROSTER:
        show_roster(out, item->roster.session, item->roster.complete, &item->roster.friends);
        break;
    case NEARBY_ITEM_DETAILED_MOVE:
        put_long(out, "user", item->detailed_move.user);
        put_long(out, "lat", item->detailed_move.lat);
        put_long(out, "lng", item->detailed_move.lng);
        put_long(out, "time", item->detailed_move.time);
        put_long(out, "accuracy", item->detailed_move.accuracy);
        PUT_DETAILS(out, &item->detailed_move);
        break;
    case NEARBY_ITEM_ROUNDED_MOVE:
        put_long(out, "user", item->rounded_move.user);
        put_long(out, "lat", item->rounded_move.lat);
        put_long(out, "lng", item->rounded_move.lng);
        put_long(out, "time", item->rounded_move.time);
        break;
    case NEARBY_ITEM_ROUNDED_ROSTER:
        show_roster(out, item->rounded_roster.session, item->rounded_roster.complete, &item->rounded_roster.friends);
        put_longs(out, "rounded", item->rounded_roster.rounded);
        break;
    case NEARBY_ITEM_DIGEST:
        put_long(out, "session", item->digest.session);
        put_long(out, "time", item->digest.time);
        put_long(out, "count", item->digest.count);
        put_long(out, "hash", item->digest.hash);
        break;
    case NEARBY_ITEM_SELF:
        put_long(out, "session", item->self.session);
        put_long(out, "lat", item->self.lat);
        put_long(out, "lng", item->self.lng);
        put_long(out, "time", item->self.time);
        break;
    case NEARBY_ITEM_LEFT: put_long(out, "user", item->left.user); break;
    case NEARBY_ITEM_PARTED: put_long(out, "friend", item->parted.friend); break;
    case NEARBY_ITEM_SUPERSEDED: put_long(out, "session", item->superseded.session); break;
    }
    close_object(out);
    buffer_string(out, "}, ");
}

static void put_texts(struct buffer *out, const char *name, struct event_texts texts) {
    buffer_format(out, "\"%s\": [", name);
    for (size_t i = 0; i < texts.count; i++) {
        buffer_string(out, i ? ", " : "");
        json_put_text(out, texts.items[i].data, texts.items[i].size);
    }
    buffer_string(out, "], ");
}

static void show_follow_command(struct buffer *out, const struct follow_command *record) {
    static const char *const kinds[] = {"FOLLOW", "UNFOLLOW", "MUTE", "UNMUTE"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "user", record->user);
    put_long(out, "other", record->other);
    put_long(out, "time", record->time);
    put_long(out, "blocked", record->blocked);
}

static void show_follow(struct buffer *out, const struct follow *record) { put_long(out, "since", record->since); }

static void show_follow_refusal(struct buffer *out, const struct follow_refusal *record) {
    static const char *const reasons[] = {"BLOCKED", "FULL", "REQUESTS"};
    put_long(out, "command", record->command);
    put_symbol(out, "reason", reasons, record->reason);
    put_long(out, "author", record->author);
}

static void show_follower_command(struct buffer *out, const struct follower_command *record) {
    static const char *const kinds[] = {"ASK", "END", "ACCEPT", "FOLLOWERS", "EVERYBODY"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "author", record->author);
    put_long(out, "reader", record->reader);
    put_long(out, "time", record->time);
    put_long(out, "following", record->following);
    put_long(out, "blocked", record->blocked);
}

static void show_visibility(struct buffer *out, const struct visibility *record) {
    static const char *const posts[] = {"FOLLOWERS"};
    put_symbol(out, "posts", posts, record->posts);
    put_long(out, "since", record->since);
}

static void show_post_command(struct buffer *out, const struct post_command *record) {
    static const char *const kinds[] = {"POST", "DELETE", "FORGET", "EDIT", "HIDE", "RESTORE"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "user", record->user);
    put_long(out, "id", record->id);
    put_text(out, "key", record->key);
    put_text(out, "text", record->text);
    put_texts(out, "media", record->media);
    put_long(out, "time", record->time);
    put_longs(out, "mentions", record->mentions);
    put_long(out, "version", record->version);
    put_long(out, "editor", record->editor);
    put_text(out, "reason", record->reason);
    put_bool(out, "held", record->held);
}

static void show_post(struct buffer *out, const struct post *record) {
    static const char *const states[] = {"LIVE", "DELETED", "HIDDEN", "HELD"};
    put_symbol(out, "state", states, record->state);
    put_text(out, "key", record->key);
    put_long(out, "deleted", record->deleted);
    put_long(out, "moderated", record->moderated);
}

static void show_post_text(struct buffer *out, const struct post_text *record) {
    put_text(out, "text", record->text);
    put_texts(out, "media", record->media);
    put_long(out, "version", record->version);
    put_long(out, "edited", record->edited);
    put_long(out, "editor", record->editor);
    put_longs(out, "mentions", record->mentions);
}

static void show_name_command(struct buffer *out, const struct name_command *record) {
    static const char *const kinds[] = {"WISH", "GIVE_UP", "GRANT", "GRANTED", "TAKEN", "RELEASE"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "user", record->user);
    put_text(out, "handle", record->handle);
    put_long(out, "number", record->number);
    put_long(out, "time", record->time);
}

static void show_user_name(struct buffer *out, const struct user_name *record) {
    put_long(out, "number", record->number);
    put_text(out, "handle", record->handle);
    put_long(out, "granted", record->granted);
    put_text(out, "wish", record->wish);
    put_text(out, "refused", record->refused);
}

static void show_handle_user(struct buffer *out, const struct handle_user *record) {
    put_long(out, "user", record->user);
    put_long(out, "number", record->number);
}

static void show_notice(struct buffer *out, const struct notice *record) {
    static const char *const whats[] = {"FOLLOW", "MENTION",  "REPLY",   "REQUEST", "ACCEPTED",
                                        "LIKE",   "APPROACH", "ARRIVED", "LEFT"};
    put_symbol(out, "what", whats, record->what);
    put_long(out, "user", record->user);
    put_text(out, "subject", record->subject);
    put_long(out, "comment", record->comment);
    put_long(out, "time", record->time);
    put_long(out, "likes", record->likes);
    put_long(out, "distance_dm", record->distance_dm);
    put_text(out, "place", record->place);
}

static void show_notice_command(struct buffer *out, const struct notice_command *record) {
    static const char *const kinds[] = {"READ", "PREFER", "FORGET"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "user", record->user);
    put_long(out, "read_time", record->read_time);
    put_long(out, "read_kind", record->read_kind);
    put_long(out, "read_number", record->read_number);
    put_long(out, "named", record->named);
    put_long(out, "not_live", record->not_live);
    put_long(out, "not_push", record->not_push);
}

static void show_notice_settings(struct buffer *out, const struct notice_settings *record) {
    put_long(out, "read_time", record->read_time);
    put_long(out, "read_kind", record->read_kind);
    put_long(out, "read_number", record->read_number);
    put_long(out, "not_live", record->not_live);
    put_long(out, "not_push", record->not_push);
}

static void show_directory_command(struct buffer *out, const struct directory_command *record) {
    static const char *const kinds[] = {"SIGN_IN", "FORGET"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "user", record->user);
    put_text(out, "external", record->external);
}

static void show_directory_entry(struct buffer *out, const struct directory_entry *record) {
    put_texts(out, "externals", record->externals);
}

static void show_device(struct buffer *out, const struct device *record) {
    put_text(out, "name", record->name);
    put_long(out, "since", record->since);
}

static void show_device_end(struct buffer *out, const struct device_end *record) {
    put_long(out, "session", record->session);
}

static void show_link_command(struct buffer *out, const struct link_command *record) {
    static const char *const kinds[] = {"MAKE", "END", "END_ALL"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "user", record->user);
    put_long(out, "id", record->id);
    put_long(out, "until", record->until);
    put_bool(out, "rounded", record->rounded);
    put_long(out, "opted", record->opted);
}

static void show_user_links(struct buffer *out, const struct user_links *record) {
    buffer_string(out, "\"links\": [");
    for (size_t i = 0; i < record->links.count; i++) {
        const struct share_link *link = &record->links.items[i];
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "id", link->id);
        put_long(out, "until", link->until);
        put_bool(out, "rounded", link->rounded);
        put_long(out, "made", link->made);
        put_long(out, "opted", link->opted);
        close_object(out);
    }
    buffer_string(out, "], ");
}

static void show_place_command(struct buffer *out, const struct place_command *record) {
    static const char *const kinds[] = {"PUT", "DELETE", "FORGET"};
    put_symbol(out, "kind", kinds, record->kind);
    put_long(out, "user", record->user);
    put_text(out, "id", record->id);
    put_text(out, "name", record->name);
    put_long(out, "lat", record->lat);
    put_long(out, "lng", record->lng);
    put_long(out, "radius", record->radius);
    put_bool(out, "friends", record->friends);
    put_longs(out, "users", record->users);
}

static void show_user_place(struct buffer *out, const struct user_place *record) {
    put_long(out, "slot", record->slot);
    put_text(out, "name", record->name);
    put_long(out, "lat", record->lat);
    put_long(out, "lng", record->lng);
    put_long(out, "radius", record->radius);
    put_bool(out, "friends", record->friends);
    put_longs(out, "users", record->users);
    put_long(out, "since", record->since);
}

static void show_place_state(struct buffer *out, const struct place_state *record) {
    put_long(out, "offset", record->offset);
    put_long(out, "newest", record->newest);
    put_long(out, "left", record->left);
    put_long(out, "inside", record->inside);
    put_long(out, "number", record->number);
    put_long(out, "first", record->first);
    put_bool(out, "bare", record->bare);
}

static void show_place_event(struct buffer *out, const struct place_event *record) {
    static const char *const whats[] = {"ARRIVED", "LEFT"};
    put_text(out, "place", record->place);
    put_text(out, "name", record->name);
    put_symbol(out, "what", whats, record->what);
    put_long(out, "time", record->time);
    put_bool(out, "friends", record->friends);
    put_longs(out, "users", record->users);
    put_long(out, "offset", record->offset);
}

static void show_place_told(struct buffer *out, const struct place_told *record) {
    static const char *const whats[] = {"ARRIVED", "LEFT"};
    put_long(out, "user", record->user);
    put_long(out, "number", record->number);
    put_text(out, "name", record->name);
    put_symbol(out, "what", whats, record->what);
    put_long(out, "time", record->time);
}

static void show_friend_approach(struct buffer *out, const struct friend_approach *record) {
    put_long(out, "friend", record->friend);
    put_long(out, "distance_dm", record->distance_dm);
    put_long(out, "time", record->time);
}

static void show_answer(struct buffer *out, const struct timeline_answer *answer) {
    put_long(out, "request", answer->request);
    put_long(out, "partition", answer->partition);
    buffer_string(out, "\"posts\": [");
    for (size_t i = 0; i < answer->posts.count; i++) {
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "author", answer->posts.items[i].author);
        put_long(out, "id", answer->posts.items[i].id);
        close_object(out);
    }
    buffer_string(out, "], ");
    put_long(out, "cut", answer->cut);
}

static void show_timeline_item(struct buffer *out, const struct timeline_item *item) {
    static const char *const kinds[] = {"Push", "Backlog", "Begin",   "Request", "Answer",
                                        "Hot",  "Gone",    "HotGone", "Edited",  "Moderated"};
    buffer_format(out, "\"item\": {\"Timeline%s\": {", kinds[item->kind]);
    switch (item->kind) {
    case TIMELINE_ITEM_PUSH:
        put_long(out, "author", item->push.author);
        put_long(out, "id", item->push.id);
        break;
    case TIMELINE_ITEM_BACKLOG:
        put_long(out, "author", item->backlog.author);
        put_longs(out, "ids", item->backlog.ids);
        put_long(out, "cut", item->backlog.cut);
        break;
    case TIMELINE_ITEM_BEGIN: put_longs(out, "wanted", item->begin.wanted); break;
    case TIMELINE_ITEM_REQUEST:
        put_long(out, "reader", item->request.reader);
        put_long(out, "request", item->request.request);
        break;
    case TIMELINE_ITEM_ANSWER: show_answer(out, &item->answer); break;
    case TIMELINE_ITEM_HOT: put_long(out, "id", item->hot.id); break;
    case TIMELINE_ITEM_GONE:
        put_long(out, "author", item->gone.author);
        put_long(out, "id", item->gone.id);
        break;
    case TIMELINE_ITEM_HOT_GONE: put_long(out, "id", item->hot_gone.id); break;
    case TIMELINE_ITEM_EDITED:
        put_long(out, "id", item->edited.id);
        put_long(out, "version", item->edited.version);
        break;
    case TIMELINE_ITEM_MODERATED:
        put_long(out, "id", item->moderated.id);
        put_long(out, "times", item->moderated.times);
        put_bool(out, "hidden", item->moderated.hidden);
        break;
    }
    close_object(out);
    buffer_string(out, "}, ");
}

static void show_feed_change(struct buffer *out, const struct feed_change *change) {
    buffer_string(out, "\"posts\": [");
    for (size_t i = 0; i < change->posts.count; i++) {
        buffer_string(out, i ? ", {" : "{");
        put_long(out, "author", change->posts.items[i].author);
        put_long(out, "id", change->posts.items[i].id);
        put_long(out, "version", change->posts.items[i].version);
        close_object(out);
    }
    buffer_string(out, "], ");
    put_longs(out, "gone", change->gone);
}

static int recode_batch(const struct buffer *value, struct buffer *shown, struct buffer *coded, struct error *error) {
    struct deliver_reader *reader = deliver_reader_new();
    struct deliver_head read;
    struct deliver_envelope envelope;
    struct buffer items = {.data = NULL};
    uint64_t count = 0;
    int rc = deliver_reader_start(reader, value->data, value->size, &read, error);
    if (rc != 0) goto finish;
    put_long(shown, "stream_time", read.stream_time);
    put_long(shown, "oldest_received", read.oldest_received);
    buffer_string(shown, "\"items\": [");
    for (; (rc = deliver_reader_next(reader, &envelope)) == 1; count++) {
        size_t most = deliver_envelope_size_max(envelope.recipient_count, envelope.payload_size);
        uint8_t *start = buffer_reserve(&items, most);
        buffer_commit(&items, (size_t)(deliver_envelope_write(start, &envelope) - start));
        buffer_string(shown, count ? ", {" : "{");
        put_long(shown, "kind", envelope.kind);
        put_longs(shown, "recipients",
                  (struct event_longs){.items = envelope.recipients, .count = envelope.recipient_count});
        put_bytes(shown, "payload", envelope.payload, envelope.payload_size);
        close_object(shown);
    }
    buffer_string(shown, "], ");
    uint8_t head[DELIVER_HEAD_MAX], *end = head + sizeof head;
    uint8_t *start = deliver_head_write_before(end, read.stream_time, read.oldest_received, count);
    buffer_append(coded, start, (size_t)(end - start));
    if (count > 0) buffer_append(coded, items.data, items.size);
    buffer_byte(coded, 0);
    if (rc != 0) error_set(error, rc, "malformed item %" PRIu64, count);
finish:
    buffer_free(&items);
    deliver_reader_free(reader);
    return rc;
}

static int decode_history_row(const struct buffer *value, struct history_row *row, struct error *error) {
    const uint8_t *end = value->data + value->size;
    if (history_row_read(value->data + EVENT_HEADER_SIZE, end, row, NULL) != end)
        return error_set(error, -EBADMSG, "malformed history-row");
    return 0;
}

#define RECODE(NAME)                                                                                                   \
    do {                                                                                                               \
        struct NAME record;                                                                                            \
        int rc = event_decode_##NAME(codec, value->data, value->size, &record, error);                                 \
        if (rc != 0) return rc;                                                                                        \
        show_##NAME(shown, &record);                                                                                   \
        event_encode_##NAME(coded, &record);                                                                           \
        return 0;                                                                                                      \
    } while (0)

/* A record that has no event_decode function. */
#define RECODE_BARE(NAME)                                                                                              \
    do {                                                                                                               \
        struct NAME record;                                                                                            \
        const uint8_t *end = value->data + value->size;                                                                \
        if (NAME##_read(value->data + EVENT_HEADER_SIZE, end, &record, codec) != end)                                  \
            return error_set(error, -EBADMSG, "malformed");                                                            \
        show_##NAME(shown, &record);                                                                                   \
        buffer_append(coded, value->data, EVENT_HEADER_SIZE);                                                          \
        uint8_t *start = buffer_reserve(coded, NAME##_size_max(&record));                                              \
        buffer_commit(coded, (size_t)(NAME##_write(start, &record) - start));                                          \
        return 0;                                                                                                      \
    } while (0)

static int recode(struct codec *codec, const struct buffer *value, struct buffer *shown, struct buffer *coded,
                  struct error *error) {
    if (value->size < EVENT_HEADER_SIZE) return error_set(error, -EBADMSG, "too short");
    switch (bytes_get_be32(value->data + 1)) {
    case LOCATION_SCHEMA_ID: RECODE(location);
    case FRIEND_COMMAND_SCHEMA_ID: RECODE(friend_command);
    case FRIENDSHIP_SCHEMA_ID: RECODE(friendship);
    case PROFILE_SCHEMA_ID: RECODE(profile);
    case SHARING_SCHEMA_ID: RECODE(sharing);
    case COMMAND_OFFSET_SCHEMA_ID: RECODE(command_offset);
    case DELIVERY_BATCH_SCHEMA_ID: return recode_batch(value, shown, coded, error);
    case HISTORY_ROW_SCHEMA_ID: {
        struct history_row row;
        int rc = decode_history_row(value, &row, error);
        if (rc != 0) return rc;
        show_history_row(shown, &row);
        uint8_t bytes[EVENT_HEADER_SIZE + HISTORY_ROW_SIZE_MAX];
        uint8_t *end = history_row_write(event_header_write(bytes, EVENT_HISTORY_ROW), &row);
        buffer_append(coded, bytes, (size_t)(end - bytes));
        return 0;
    }
    case NEARBY_ITEM_SCHEMA_ID: {
        struct nearby_item item;
        const uint8_t *payload = value->data + EVENT_HEADER_SIZE;
        if (delivery_read_nearby(codec, payload, value->size - EVENT_HEADER_SIZE, &item))
            return error_set(error, -EBADMSG, "malformed nearby-item");
        show_nearby_item(shown, &item);
        uint8_t *start = buffer_reserve(coded, EVENT_HEADER_SIZE + nearby_item_size_max(&item));
        uint8_t *end = nearby_item_write(event_header_write(start, EVENT_NEARBY_ITEM), &item);
        buffer_commit(coded, (size_t)(end - start));
        return 0;
    }
    case FOLLOW_COMMAND_SCHEMA_ID: RECODE(follow_command);
    case FOLLOW_SCHEMA_ID: RECODE(follow);
    case FOLLOW_REFUSAL_SCHEMA_ID: RECODE(follow_refusal);
    case FOLLOWER_COMMAND_SCHEMA_ID: RECODE(follower_command);
    case VISIBILITY_SCHEMA_ID: RECODE(visibility);
    case POST_COMMAND_SCHEMA_ID: RECODE(post_command);
    case POST_SCHEMA_ID: RECODE(post);
    case POST_TEXT_SCHEMA_ID: RECODE(post_text);
    case FEED_CHANGE_SCHEMA_ID: RECODE(feed_change);
    case NAME_COMMAND_SCHEMA_ID: RECODE(name_command);
    case USER_NAME_SCHEMA_ID: RECODE(user_name);
    case HANDLE_USER_SCHEMA_ID: RECODE(handle_user);
    case NOTICE_SCHEMA_ID: RECODE(notice);
    case NOTICE_COMMAND_SCHEMA_ID: RECODE(notice_command);
    case NOTICE_SETTINGS_SCHEMA_ID: RECODE(notice_settings);
    case FRIEND_APPROACH_SCHEMA_ID: RECODE(friend_approach);
    case DIRECTORY_COMMAND_SCHEMA_ID: RECODE(directory_command);
    case DIRECTORY_ENTRY_SCHEMA_ID: RECODE(directory_entry);
    case DEVICE_SCHEMA_ID: RECODE(device);
    case DEVICE_END_SCHEMA_ID: RECODE(device_end);
    case LINK_COMMAND_SCHEMA_ID: RECODE(link_command);
    case USER_LINKS_SCHEMA_ID: RECODE(user_links);
    case PLACE_COMMAND_SCHEMA_ID: RECODE(place_command);
    case USER_PLACE_SCHEMA_ID: RECODE(user_place);
    case PLACE_STATE_SCHEMA_ID: RECODE(place_state);
    case PLACE_EVENT_SCHEMA_ID: RECODE(place_event);
    case PLACE_TOLD_SCHEMA_ID: RECODE(place_told);
    case COMMENT_COMMAND_SCHEMA_ID: RECODE(comment_command);
    case COMMENT_SUBJECT_SCHEMA_ID: RECODE(comment_subject);
    case COMMENT_SCHEMA_ID: RECODE(comment);
    case COMMENT_TEXT_SCHEMA_ID: RECODE(comment_text);
    case COMMENT_REACTION_SCHEMA_ID: RECODE(comment_reaction);
    case COMMENT_REFUSAL_SCHEMA_ID: RECODE(comment_refusal);
    case COMMENT_BAN_SCHEMA_ID: RECODE(comment_ban);
    case MODERATION_ENTRY_SCHEMA_ID: RECODE(moderation_entry);
    case COMMENT_WIDE_SCHEMA_ID: RECODE(comment_wide);
    case LOCATION_REPORTS_SCHEMA_ID: RECODE(location_reports);
    case NEARBY_MUTE_SCHEMA_ID: RECODE(nearby_mute);
    case AUDIT_ENTRY_SCHEMA_ID: RECODE(audit_entry);
    case COMMENT_CHANGE_SCHEMA_ID: RECODE(comment_change);
    case TIMELINE_ITEM_SCHEMA_ID: RECODE_BARE(timeline_item);
    case WATCH_SCHEMA_ID: RECODE_BARE(watch);
    case ROLL_CALL_SCHEMA_ID: RECODE_BARE(roll_call);
    case WATCH_NOTE_SCHEMA_ID: RECODE_BARE(watch_note);
    default: return error_set(error, -ENOENT, "unknown schema id");
    }
}

/* The next line of stdin, from hex; false at the end. */
static bool next_value(struct buffer *value) {
    static char *line;
    static size_t capacity;
    ssize_t length = getline(&line, &capacity, stdin);
    if (length < 0) {
        free(line);
        return false;
    }
    buffer_clear(value);
    for (ssize_t i = 0; i + 1 < length; i += 2) {
        const char digits[] = {line[i], line[i + 1], 0};
        buffer_byte(value, (uint8_t)strtoul(digits, NULL, 16));
    }
    return true;
}

static int recode_lines(void) {
    struct codec *codec = codec_new();
    struct buffer value = {.data = NULL}, shown = {.data = NULL}, coded = {.data = NULL};
    while (next_value(&value)) {
        struct error error;
        buffer_clear(&shown);
        buffer_clear(&coded);
        buffer_byte(&shown, '{');
        int rc = recode(codec, &value, &shown, &coded, &error);
        if (rc != 0) {
            printf("error %d %s\n", rc, error.text);
            continue;
        }
        close_object(&shown);
        printf("%s\t", buffer_cstring(&shown));
        for (size_t i = 0; i < coded.size; i++) printf("%02x", coded.data[i]);
        putchar('\n');
    }
    buffer_free(&value);
    buffer_free(&shown);
    buffer_free(&coded);
    codec_free(codec);
    return 0;
}

static int fail(const struct error *error) {
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

static int fail_errno(const char *path) {
    struct error error;
    error_set(&error, -errno, "%s: %s", path, strerror(errno));
    return fail(&error);
}

static int stream_write(void *context, const void *bytes, size_t size, struct error *error) {
    return fwrite(bytes, 1, size, context) == size ? 0 : error_set(error, -EIO, "the file cannot be written");
}

static ssize_t stream_read(void *context, void *bytes, size_t size, struct error *error) {
    size_t count = fread(bytes, 1, size, context);
    return count || !ferror((FILE *)context) ? (ssize_t)count : error_set(error, -EIO, "the file cannot be read");
}

static int write_file(const char *path) {
    struct buffer value = {.data = NULL};
    struct error error;
    FILE *file = fopen(path, "wbx");
    if (!file) return fail_errno(path);
    struct container_writer *writer =
        container_writer_new(path, -1, true, &(struct container_output){.context = file, .write = stream_write});
    int rc = 0;
    while (rc == 0 && next_value(&value)) {
        struct history_row row;
        rc = decode_history_row(&value, &row, &error);
        if (rc == 0) rc = container_writer_append(writer, &row, &error);
    }
    buffer_free(&value);
    if (rc == 0) rc = container_writer_finish(writer, &error);
    container_writer_free(writer);
    if (fclose(file) && rc == 0) return fail_errno(path);
    return rc == 0 ? 0 : fail(&error);
}

static int read_file(const char *path) {
    struct container_reader *reader;
    struct history_row row;
    struct buffer shown = {.data = NULL};
    struct error error;
    FILE *file = fopen(path, "rb");
    if (!file) return fail_errno(path);
    int rc =
        container_reader_new(path, &(struct container_input){.context = file, .read = stream_read}, &reader, &error);
    if (rc != 0) {
        fclose(file);
        return fail(&error);
    }
    while ((rc = container_reader_next(reader, &row, &error)) == 1) {
        buffer_clear(&shown);
        buffer_byte(&shown, '{');
        show_history_row(&shown, &row);
        close_object(&shown);
        puts(buffer_cstring(&shown));
    }
    buffer_free(&shown);
    container_reader_free(reader);
    fclose(file);
    return rc == 0 ? 0 : fail(&error);
}

int main(int argc, char **argv) {
    if (argc == 1) return recode_lines();
    if (argc == 3 && strcmp(argv[1], "write") == 0) return write_file(argv[2]);
    if (argc == 3 && strcmp(argv[1], "read") == 0) return read_file(argv[2]);
    fprintf(stderr, "usage: test-recode [write FILE | read FILE]\n");
    return 2;
}

/* Turns the items of a page into the commands that remove them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "edits/encode.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "ingest/account/erasing_private.h"
#include "ingest/post_thread.h"
#include "subjects/subject.h"
#include "users/device.h"
#include "users/half.h"
#include "users/notice.h"

enum { OTHERS_PASSES = 3, PAGE = 100, SPARE_MS = 500 /* an owner's answer may take that much longer than it waits */ };

/* ---- a command's way ---- */

struct erasing_sent {
    struct erasure *erasure;
    struct peers *owners;
    char *question; /* NULL: none */
    void (*told)(struct erasure *erasure, const json_t *outcome);
};

static void sent_over(struct erasing_sent *sent, bool good) {
    struct erasure *erasure = sent->erasure;
    if (good)
        erasure->heard_us = clock_monotonic_us();
    else
        erasure->trouble = true;
    free(sent->question);
    free(sent);
    erasing_page_over(erasure);
}

/* Any outcome will do, a refusal too: the next pass tells whether it is gone. */
static void decided(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct erasing_sent *sent = context;
    json_t *outcome = sent->told && code == 0 && status == 200 ? json_parse(reply, size, NULL) : NULL;
    if (outcome) sent->told(sent->erasure, outcome);
    json_decref(outcome);
    sent_over(sent, code == 0 && (status == 200 || status == 404));
}

static void acknowledged(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct erasing_sent *sent = context;
    struct erasing *erasing = sent->erasure->erasing;
    if (code || !sent->question || erasing->stopped) {
        sent_over(sent, code == 0);
        return;
    }
    char *path = rpc_path_waiting(sent->question, offset, erasing->wait_ms);
    peers_fetch(sent->owners, partition, path, (int)erasing->wait_ms + SPARE_MS, decided, sent);
    free(path);
}

static void send_command(struct erasure *erasure, const struct erasing_command *command) {
    struct erasing_sent *sent = MEM_NEW(&(struct erasing_sent){
        .erasure = erasure,
        .owners = command->owners,
        .question = command->question,
        .told = command->told,
    });
    erasure->under_way++;
    struct write *write = write_new(erasure->erasing->writer, NULL, acknowledged, sent);
    write_keyed(write, command->topic, command->key, command->key_size, command->record);
    write_end(write);
}

static void send_of_user(struct erasure *erasure, enum belonging_owner owner, const struct topic *topic, int64_t user,
                         struct buffer *record, char *question) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    send_command(erasure, &(struct erasing_command){
                              .topic = topic,
                              .key = key,
                              .key_size = sizeof key,
                              .record = record,
                              .owners = erasure->erasing->account->owners[owner],
                              .question = question,
                          });
    buffer_free(record);
}

/* Others go on following and asking: what they have made is removed in each pass, but does not call for ever more of them. */
static bool made_by_others(enum erased_kind kind) {
    return kind == ERASED_FOLLOWERS || kind == ERASED_REQUESTS || kind == ERASED_FRIENDS || kind == ERASED_NOTICES;
}

/* The first pass finds all that the user had. */
static void found(struct erasure *erasure, enum erased_kind kind) {
    if (erasure->pass < OTHERS_PASSES || !made_by_others(kind)) erasure->found++;
    if (erasure->pass == 1) erasure->removed[kind]++;
}

/* ---- the account ---- */

static void give_up_handle(struct erasure *erasure) {
    struct name_command command = {
        .kind = NAME_COMMAND_GIVE_UP, .user = erasure->user, .handle = {"", 0}, .time = clock_wall_ms()};
    struct buffer record = {0};
    event_encode_name_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_NAME_COMMANDS, erasure->user, &record,
                 rpc_path(&ASK_UNNAMED, RPC_VALUES(RPC_INT(USER, erasure->user))));
}

/* The number of a sign-in provider's text loses it. */
static void forget_external(struct erasure *erasure) {
    int64_t base = external_id_base(erasure->user);
    struct directory_command command = {.kind = DIRECTORY_COMMAND_FORGET, .user = erasure->user, .external = {"", 0}};
    struct buffer record = {0};
    event_encode_directory_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_DIRECTORY_COMMANDS, base, &record,
                 rpc_path(&ASK_EXTERNALS, RPC_VALUES(RPC_INT(USER, base))));
}

static void unmute_nearby(struct erasure *erasure, int64_t other) {
    uint8_t key[HALF_KEY_SIZE];
    half_key_put(key, erasure->user, other);
    found(erasure, ERASED_MUTED);
    send_command(erasure, &(struct erasing_command){
                              .topic = &TOPIC_NEARBY_MUTES,
                              .key = key,
                              .key_size = sizeof key,
                              .record = &(struct buffer){0},
                          });
}

/* Links end with sharing, too, but a wish for one may be under way. */
static void end_links(struct erasure *erasure) {
    const struct link_command command = {.kind = LINK_COMMAND_END_ALL, .user = erasure->user, .opted = EVENT_TIME_MAX};
    struct buffer record = {0};
    event_encode_link_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_ROUTERS, &TOPIC_LINK_COMMANDS, erasure->user, &record,
                 rpc_path(&ASK_LINKS, RPC_VALUES(RPC_INT(USER, erasure->user))));
}

void erasing_remove_account(struct erasure *erasure, bool has_handle) {
    struct user_copies *copies = erasure->erasing->account->copies;
    struct profile profile;
    struct buffer tombstone = {0};
    int64_t offset;
    bool shares = sharing_modes_find(user_copies_modes(copies), erasure->user, &offset) != SHARING_OFF;
    if (profiles_find(user_copies_profiles(copies), erasure->user, &profile)) {
        found(erasure, ERASED_PROFILE);
        send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_PROFILES, erasure->user, &tombstone, NULL);
    }
    struct mutes_list muted = mutes_of(user_copies_mutes(copies), erasure->user);
    for (size_t i = 0; i < muted.count; i++) unmute_nearby(erasure, muted.items[i]);
    if (shares) found(erasure, ERASED_SHARING);
    if (shares || (erasure->pass == 1 && offset >= 0)) // who has opted out has a record, too
        send_of_user(erasure, BELONGS_TO_ROUTERS, &TOPIC_SHARING, erasure->user, &tombstone, NULL);
    if (erasure->pass == 1) end_links(erasure);
    if (has_handle) found(erasure, ERASED_HANDLE);
    if (external_id_is_number(erasure->user) && erasure->pass == 1) forget_external(erasure);
    if (has_handle || erasure->pass == 1) give_up_handle(erasure); // a wish may be under way that nobody sees yet
}

/* ---- friends ---- */

static void send_friend(struct erasure *erasure, enum friend_command_kind kind, int64_t other) {
    int64_t user = erasure->user, lower = user < other ? user : other;
    struct friend_command command = {.kind = kind, .from = user, .to = other, .time = clock_wall_ms()};
    struct buffer record = {0};
    half_encode_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_ROUTERS, &TOPIC_FRIEND_COMMANDS, lower, &record,
                 rpc_path(&ASK_FRIENDSHIP, RPC_VALUES(RPC_INT(ONE, user), RPC_INT(OTHER, other))));
}

/* A user who is blocked may have asked meanwhile: that goes, too. */
static bool remove_friend(struct erasure *erasure, const json_t *item) {
    const char *state;
    int64_t other;
    if (json_want_int(item, "user", 0, INT64_MAX, &other, NULL) || json_want_text(item, "state", &state, NULL))
        return false;
    found(erasure, ERASED_FRIENDS);
    if (strcmp(state, "blocked") == 0) send_friend(erasure, FRIEND_COMMAND_UNBLOCK, other);
    send_friend(erasure, FRIEND_COMMAND_REMOVE, other);
    return true;
}

/* ---- follows and mutes ---- */

static void unmute(struct erasure *erasure, int64_t other) {
    const struct follow_command command = {
        .kind = FOLLOW_COMMAND_UNMUTE, .user = erasure->user, .other = other, .time = clock_wall_ms()};
    struct buffer record = {0};
    const struct rpc_value *values =
        RPC_VALUES(RPC_INT(USER, erasure->user), RPC_INT(OTHER, other), RPC_TEXT(RELATION, "muted"));
    event_encode_follow_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_FOLLOW_COMMANDS, erasure->user, &record,
                 rpc_path(&ASK_RELATION, values));
}

/* A follow, or a request for one. */
static void end_follow(struct erasure *erasure, int64_t author, int64_t reader) {
    const struct follower_command command = {
        .kind = FOLLOWER_COMMAND_END, .author = author, .reader = reader, .time = clock_wall_ms()};
    struct buffer record = {0};
    event_encode_follower_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_FOLLOWER_COMMANDS, author, &record,
                 rpc_path(&ASK_FOLLOWER, RPC_VALUES(RPC_INT(USER, author), RPC_INT(OTHER, reader))));
}

static bool remove_relation(struct erasure *erasure, const json_t *item) {
    int64_t other;
    if (json_want_int(item, "user", 0, INT64_MAX, &other, NULL)) return false;
    if (erasure->stage == STAGE_MUTED) {
        found(erasure, ERASED_MUTED);
        unmute(erasure, other);
        return true;
    }
    bool own = erasure->stage == STAGE_FOLLOWING || erasure->stage == STAGE_REQUESTING;
    found(erasure, erasure->stage == STAGE_FOLLOWING   ? ERASED_FOLLOWING
                   : erasure->stage == STAGE_FOLLOWERS ? ERASED_FOLLOWERS
                                                       : ERASED_REQUESTS);
    end_follow(erasure, own ? other : erasure->user, own ? erasure->user : other);
    return true;
}

/* When the posts are gone: until then they are for whom they were for. */
static void forget_visibility(struct erasure *erasure) {
    const struct follower_command command = {
        .kind = FOLLOWER_COMMAND_EVERYBODY, .author = erasure->user, .reader = -1, .time = clock_wall_ms()};
    struct buffer record = {0};
    event_encode_follower_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_FOLLOWER_COMMANDS, erasure->user, &record,
                 rpc_path(&ASK_VISIBILITY, RPC_VALUES(RPC_INT(USER, erasure->user))));
}

static void forget_notices(struct erasure *erasure) {
    const struct notice_command command = {.kind = NOTICE_COMMAND_FORGET, .user = erasure->user};
    struct buffer record = {0};
    event_encode_notice_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_NOTICE_COMMANDS, erasure->user, &record,
                 rpc_path(&ASK_NOTICED, RPC_VALUES(RPC_INT(USER, erasure->user))));
}

/* ---- posts and notices ---- */

static bool remove_post(struct erasure *erasure, const json_t *item) {
    const char *text;
    struct post_command command = {
        .kind = POST_COMMAND_DELETE, .user = erasure->user, .time = clock_wall_ms(), .editor = -1};
    if (json_want_text(item, "id", &text, NULL) || !ids_parse(text, strlen(text), &command.id)) return false;
    struct buffer record = {0};
    edit_encode_post_command(&record, &command);
    found(erasure, ERASED_POSTS);
    post_thread_close(erasure->erasing->writer, command.id);
    send_of_user(erasure, BELONGS_TO_FEEDS, &TOPIC_POST_COMMANDS, erasure->user, &record,
                 rpc_path(&ASK_GONE, RPC_VALUES(RPC_INT(USER, erasure->user), RPC_INT(POST, command.id))));
    return true;
}

static bool remove_notice(struct erasure *erasure, const json_t *item) {
    const char *text;
    struct notice_key read;
    uint8_t key[NOTICE_KEY_SIZE];
    if (json_want_text(item, "id", &text, NULL) || !notice_id_read(text, &read)) return false;
    read.user = erasure->user;
    notice_key_write(key, &read);
    found(erasure, ERASED_NOTICES);
    send_command(erasure, &(struct erasing_command){
                              .topic = &TOPIC_NOTICES,
                              .key = key,
                              .key_size = sizeof key,
                              .record = &(struct buffer){0},
                          });
    return true;
}

/* A user without places may have events, and a wish under way. */
static void forget_places(struct erasure *erasure, size_t count) {
    const struct place_command command = {
        .kind = PLACE_COMMAND_FORGET, .user = erasure->user, .id = {"", 0}, .name = {"", 0}};
    struct buffer record = {0};
    for (size_t i = 0; i < count; i++) found(erasure, ERASED_PLACES);
    if (!count && erasure->pass > 1) return;
    event_encode_place_command(&record, &command);
    send_of_user(erasure, BELONGS_TO_PLACES, &TOPIC_PLACE_COMMANDS, erasure->user, &record,
                 rpc_path(&ASK_PLACES, RPC_VALUES(RPC_INT(USER, erasure->user))));
}

/* The session stays, and is not listed any more. */
static bool remove_device(struct erasure *erasure, const json_t *item) {
    const char *session, *run;
    uint8_t bytes[DEVICE_KEY_MAX];
    struct device_key key = {.user = erasure->user};
    if (json_want_text(item, "id", &session, NULL) || !ids_parse(session, strlen(session), &key.session)) return false;
    if (json_want_text(item, "run", &run, NULL) || !ids_parse(run, strlen(run), &key.run)) return false;
    found(erasure, ERASED_DEVICES);
    send_command(erasure, &(struct erasing_command){
                              .topic = &TOPIC_DEVICES,
                              .key = bytes,
                              .key_size = device_key_write(bytes, &key),
                              .record = &(struct buffer){0},
                          });
    return true;
}

/* ---- comments and likes ---- */

/* comment null: the subject itself is liked. */
static bool remove_of_comment(struct erasure *erasure, const json_t *item) {
    const char *subject, *text, *what;
    bool of_subject = json_is_null(json_object_get(item, "comment"));
    char key[COMMENT_CLIENT_KEY_MAX];
    struct comment_command command = {
        .user = erasure->user,
        .role = COMMENT_COMMAND_USER,
        .text = {"", 0},
        .owner = -1,
        .time = clock_wall_ms(),
        .named_key = {"", 0},
        .who_may = COMMENT_COMMAND_SAME_WHO,
        .review = COMMENT_COMMAND_SAME_REVIEW,
        .closing = COMMENT_COMMAND_SAME_CLOSING,
    };
    if (json_want_text(item, "subject", &subject, NULL) || json_want_text(item, "what", &what, NULL)) return false;
    bool like = strcmp(what, "like") == 0, named = !of_subject && json_want_text(item, "comment", &text, NULL) == 0;
    if (named ? !ids_parse(text, strlen(text), &command.comment) : !of_subject || !like) return false;
    if (!subject_valid(subject, strlen(subject))) return false;
    command.kind = like ? COMMENT_COMMAND_UNLIKE : COMMENT_COMMAND_DELETE;
    command.subject = (struct event_text){subject, strlen(subject)};
    // A key of its own each time: a refusal would be repeated for an hour.
    command.key = (struct event_text){key, (size_t)snprintf(key, sizeof key, "forget-%08x%08x",
                                                            chance_next(&erasure->erasing->account->chance),
                                                            chance_next(&erasure->erasing->account->chance))};
    struct buffer record = {0};
    edit_encode_comment_command(&record, &command);
    const struct rpc_value *values = RPC_VALUES(RPC_TEXT(SUBJECT, subject), RPC_INT(USER, erasure->user),
                                                RPC_TEXT(KEY, key), RPC_INT(COMMENT, command.comment));
    found(erasure, like ? ERASED_LIKES : ERASED_COMMENTS);
    send_command(erasure, &(struct erasing_command){
                              .topic = &TOPIC_COMMENT_COMMANDS,
                              .key = subject,
                              .key_size = strlen(subject),
                              .record = &record,
                              .owners = erasure->erasing->account->owners[BELONGS_TO_COMMENTS],
                              .question = rpc_path(&ASK_OUTCOME, values),
                          });
    buffer_free(&record);
    return true;
}

/* ---- history ---- */

static void rows_removed(struct erasure *erasure, const json_t *outcome) {
    int64_t rows, files_by;
    if (json_want_int(outcome, "rows", 0, INT64_MAX, &rows, NULL) ||
        json_want_int(outcome, "files_by", 0, INT64_MAX, &files_by, NULL))
        return;
    erasure->removed[ERASED_HISTORY] += rows;
    if (files_by > erasure->files_by) erasure->files_by = files_by;
}

/* The store may lack old rows that files have: the first pass removes them in any case. */
static void remove_history(struct erasure *erasure, bool any) {
    uint8_t key[8];
    if (!any && erasure->pass > 1) return;
    if (any) erasure->found++;
    bytes_put_be64(key, (uint64_t)erasure->user);
    send_command(erasure, &(struct erasing_command){
                              .topic = &TOPIC_ERASURES,
                              .key = key,
                              .key_size = sizeof key,
                              .record = &(struct buffer){0},
                              .owners = erasure->erasing->account->owners[BELONGS_TO_SINKS],
                              .question = rpc_path(&ASK_WIPED, RPC_VALUES(RPC_INT(USER, erasure->user))),
                              .told = rows_removed,
                          });
}

/* ---- stages ---- */

static const struct {
    const char *kind; /* of BELONGINGS; NULL: a question of its own */
    bool (*remove)(struct erasure *erasure, const json_t *item);
} STAGES[ERASING_STAGES] = {
    [STAGE_FRIENDS] = {"friends", remove_friend},
    [STAGE_FOLLOWING] = {"following", remove_relation},
    [STAGE_FOLLOWERS] = {"followers", remove_relation},
    [STAGE_REQUESTING] = {"requesting", remove_relation},
    [STAGE_REQUESTED] = {"requested", remove_relation},
    [STAGE_MUTED] = {"muted", remove_relation},
    [STAGE_POSTS] = {"posts", remove_post},
    [STAGE_COMMENTS] = {NULL, remove_of_comment},
    [STAGE_NOTICES] = {"notices", remove_notice},
    [STAGE_PLACES] = {"places", NULL},
    [STAGE_DEVICES] = {"devices", remove_device},
    [STAGE_HISTORY] = {"history", NULL},
};

bool erasing_remove(struct erasure *erasure, const json_t *page) {
    const json_t *items = json_object_get(page, "items");
    if (!json_is_array(items)) return false;
    if (erasure->stage == STAGE_HISTORY) {
        if (erasure->pass == 1) forget_visibility(erasure);
        if (erasure->pass == 1) forget_notices(erasure);
        remove_history(erasure, json_array_size(items) > 0);
        return true;
    }
    if (erasure->stage == STAGE_PLACES) {
        forget_places(erasure, json_array_size(items));
        return true;
    }
    for (size_t i = 0; i < json_array_size(items); i++)
        if (!STAGES[erasure->stage].remove(erasure, json_array_get(items, i))) return false;
    return true;
}

struct peers *erasing_question(struct erasure *erasure, struct buffer *path, int32_t *partition) {
    struct account_gateway *account = erasure->erasing->account;
    const struct json_bytes cursor = {(const char *)erasure->cursor.data, erasure->cursor.size};
    const char *name = STAGES[erasure->stage].kind;
    struct peers *owners = account->owners[BELONGS_TO_FEEDS];
    *partition = peers_of_user(owners, erasure->user);
    if (erasure->stage == STAGE_ACCOUNT) {
        rpc_write(path, &ASK_USER, RPC_VALUES(RPC_INT(USER, erasure->user)));
        return owners;
    }
    if (!name) {
        rpc_write(path, &ASK_OF_USER,
                  RPC_VALUES(RPC_INT(PARTITION, erasure->partition), RPC_INT(USER, erasure->user),
                             RPC_TEXT(AFTER, cursor.size ? buffer_cstring(&erasure->cursor) : NULL)));
        *partition = erasure->partition;
        return account->owners[BELONGS_TO_COMMENTS];
    }
    const struct belonging *kind = belonging_find(name);
    belonging_question(path, kind, erasure->user, erasure->stage == STAGE_HISTORY ? 1 : PAGE,
                       &(struct belonging_place){.cursor = cursor});
    if (erasure->stage == STAGE_NOTICES) buffer_string(path, "&hidden=true"); // of those who have blocked the user, too
    if (erasure->stage == STAGE_DEVICES) buffer_string(path, "?hidden=true"); // of edges that have died, too
    return account->owners[kind->owner];
}

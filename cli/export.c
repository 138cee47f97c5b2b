/* `starling export`: everything that is kept of a user, as lines of JSON, asked of whoever keeps it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cli/asking.h"
#include "cli/audit.h"
#include "cli/reader.h"
#include "event/codec.h"
#include "event/topics.h"
#include "json/json.h"
#include "users/belongings.h"
#include "users/mutes.h"
#include "users/sharing_words.h"
#include "users/user_json.h"
#include "subjects/subject.h"
#include "users/user_key.h"

enum { PAGE = 500, PATIENCE_MS = 10000 };

static const char ACCOUNT[] = "account", DECISIONS[] = "decisions";

struct user_export {
    const struct cli *cli;
    int64_t user;
    const char *kinds; /* separated by commas; NULL: all */
    struct topics_shape shape;
    struct asking *owners[BELONGING_OWNERS]; /* NULL: not asked yet */
    struct codec *codec;
    struct buffer reply;
    struct error *error;
    struct buffer user_members; /* with name and avatar, as members of JSON */
    const char *sharing;        /* a mode */
    int64_t until;              /* when it ends, ms; 0: it has no end */
    bool details;               /* friends are told what the phone says beside the place */
    struct mutes *mutes;        /* of friends nearby, of all users of the partition */
    int code;                   /* the first failure of printing what was read */
};

static bool is_wanted(const struct user_export *export, const char *kind) {
    size_t size = strlen(kind);
    const char *at = export->kinds;
    if (!at) return true;
    for (; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == size && memcmp(at, kind, size) == 0) return true;
    return false;
}

static bool is_kind(const char *name, size_t size) {
    if (size == strlen(ACCOUNT) && memcmp(name, ACCOUNT, size) == 0) return true;
    if (size == strlen(DECISIONS) && memcmp(name, DECISIONS, size) == 0) return true;
    for (size_t i = 0; i < BELONGINGS_COUNT; i++)
        if (size == strlen(BELONGINGS[i].name) && memcmp(name, BELONGINGS[i].name, size) == 0) return true;
    return false;
}

static bool kinds_valid(const char *kinds) {
    do {
        size_t size = strcspn(kinds, ",");
        if (!is_kind(kinds, size)) return false;
        kinds += size;
    } while (*kinds++ == ',');
    return true;
}

/* ---- whoever keeps it ---- */

static int owner_of(struct user_export *export, enum belonging_owner owner, struct asking **asking) {
    const struct cli_settings *settings = &export->cli->settings;
    const struct asking_options options[BELONGING_OWNERS] = {
        [BELONGS_TO_ROUTERS] = {export->cli, settings->router_group, &TOPIC_LOCATIONS, "router"},
        [BELONGS_TO_FEEDS] = {export->cli, settings->feed_group, &TOPIC_POST_COMMANDS, "feed process"},
        [BELONGS_TO_MODERATION] = {export->cli, settings->moderation_group, &TOPIC_COMMENTS_WIDE, "moderation process"},
        [BELONGS_TO_COMMENTS] = {export->cli, settings->comments_group, &TOPIC_COMMENT_COMMANDS, "comments process"},
        [BELONGS_TO_SINKS] = {export->cli, settings->history_group, &TOPIC_LOCATIONS, "history sink"},
        [BELONGS_TO_PLACES] = {export->cli, settings->places_group, &TOPIC_PLACE_COMMANDS, "places process"},
    };
    int code = export->owners[owner] ? 0 : asking_new(&options[owner], &export->owners[owner], export->error);
    *asking = export->owners[owner];
    return code;
}

static int print_item(const char *kind, const char *item, size_t size, struct error *error) {
    int written = printf("{\"kind\":\"%s\",\"item\":%.*s}\n", kind, (int)size, item);
    return written < 0 ? error_set(error, -EIO, "standard output cannot be written") : 0;
}

static int print_items(const struct user_export *export, const char *kind, const struct json_bytes *items) {
    struct json_scan scan = json_scan_of(items->data, items->size);
    struct json_bytes item;
    int code = 0;
    json_scan_array(&scan);
    while (!code && json_scan_element(&scan) && json_scan_value(&scan, &item))
        code = print_item(kind, item.data, item.size, export->error);
    return !code && scan.bad ? error_set(export->error, -EBADMSG, "the items cannot be understood") : code;
}

/* The partition of the owners whose process is asked. */
static int32_t asked_partition(const struct user_export *export, const struct asking *asking,
                               const struct belonging *kind, const struct belonging_place *place) {
    if (kind->owner == BELONGS_TO_COMMENTS) return place->partition;
    return kind->owner == BELONGS_TO_MODERATION ? 0 : asking_of_user(asking, export->user);
}

/* Prints a page, and moves the place, which `at` holds, behind it. */
static int print_page(struct user_export *export, const struct belonging *kind, struct asking *asking,
                      struct buffer *at) {
    struct buffer path = {.data = NULL};
    struct json_bytes items, next;
    struct belonging_place place;
    char what[64];
    snprintf(what, sizeof what, "this user's %s", kind->name);
    const struct json_bytes text = {(const char *)at->data, at->size};
    if (!belonging_place_read(kind, &text, asking_partitions(asking), &place))
        return error_set(export->error, -EBADMSG, "the answer about %s cannot be understood", what);
    belonging_question(&path, kind, export->user, PAGE, &place);
    int code = asking_get(asking, asked_partition(export, asking, kind, &place), buffer_cstring(&path), PATIENCE_MS,
                          what, &export->reply, export->error);
    if (!code && !belonging_page(buffer_cstring(&export->reply), export->reply.size, &items, &next))
        code = error_set(export->error, -EBADMSG, "the answer about %s cannot be understood", what);
    if (!code) code = print_items(export, kind->name, &items);
    buffer_clear(at);
    if (!code) belonging_place_put(at, kind, place.partition, asking_partitions(asking), &next);
    buffer_free(&path);
    return code;
}

static int print_kind(struct user_export *export, const struct belonging *kind) {
    struct buffer at = {.data = NULL};
    struct asking *asking;
    int code = owner_of(export, kind->owner, &asking);
    do {
        if (code) break;
        code = print_page(export, kind, asking, &at);
    } while (!code && at.size);
    buffer_free(&at);
    return code;
}

/* ---- the account ---- */

static void take_profile(void *context, const struct kafka_record *record) {
    struct user_export *export = context;
    struct profile profile;
    int64_t user = -1;
    if (user_key_read(record, &user, NULL) || user != export->user) return;
    bool there =
        record->value && !event_decode_profile(export->codec, record->value, record->value_size, &profile, NULL);
    buffer_clear(&export->user_members);
    user_json_put_whole(&export->user_members, user, there ? &profile : NULL);
}

static void take_sharing(void *context, const struct kafka_record *record) {
    struct user_export *export = context;
    struct sharing sharing = {.mode = SHARING_OFF}; // what a tombstone means
    int64_t user = -1;
    if (user_key_read(record, &user, NULL) || user != export->user) return;
    if (record->value && event_decode_sharing(export->codec, record->value, record->value_size, &sharing, NULL)) return;
    if (sharing.until && sharing.until <= clock_wall_ms()) sharing = (struct sharing){.mode = SHARING_OFF};
    export->sharing = SHARING_WORDS[sharing.mode];
    export->until = sharing.mode == SHARING_OFF ? 0 : sharing.until;
    export->details = sharing.mode != SHARING_OFF && sharing.details;
}

static void take_mute(void *context, const struct kafka_record *record) {
    struct user_export *export = context;
    const struct copy_definition copy = mutes_copy(export->mutes);
    copy.apply(copy.context, record, NULL); // one that cannot be read is no mute
}

static void drained(void *context) {}

/* Reads the user's partition of a topic to its end. */
static int read_topic(struct user_export *export, const struct topic *topic,
                      void (*take)(void *context, const struct kafka_record *record)) {
    int32_t partitions = export->shape.partitions[topic->space];
    return reader_run(
        &(struct reader_options){
            .settings = &export->cli->kafka,
            .topic = topic,
            .partitions = partitions,
            .partition = hash_user_partition(export->user, partitions),
            .from_ms = 0,
            .to_ms = INT64_MAX,
            .context = export,
            .take = take,
            .drained = drained,
        },
        export->error);
}

static int print_account(struct user_export *export) {
    struct asking *asking;
    struct buffer item = {.data = NULL};
    json_t *counts = NULL;
    int code = owner_of(export, BELONGS_TO_FEEDS, &asking);
    if (!code)
        code = asking_ask(asking, &ASK_USER, RPC_VALUES(RPC_INT(USER, export->user)), PATIENCE_MS, "this user's handle",
                          &export->reply, export->error);
    if (!code && !(counts = json_parse(export->reply.data, export->reply.size, export->error))) code = -EBADMSG;
    user_json_put_whole(&export->user_members, export->user, NULL); // unless a record says more
    if (!code) code = read_topic(export, &TOPIC_PROFILES, take_profile);
    if (!code) code = read_topic(export, &TOPIC_SHARING, take_sharing);
    if (!code) code = read_topic(export, &TOPIC_NEARBY_MUTES, take_mute);
    if (!code) {
        const char *handle = json_string_value(json_object_get(counts, "handle"));
        buffer_format(&item, "{%s,\"sharing\":\"%s\",\"until\":", buffer_cstring(&export->user_members),
                      export->sharing);
        if (export->until)
            json_put_int(&item, export->until);
        else
            buffer_string(&item, "null");
        buffer_format(&item, ",\"details\":%s,\"nearby_muted\":", export->details ? "true" : "false");
        mutes_json_put(&item, mutes_of(export->mutes, export->user));
        buffer_string(&item, ",\"handle\":");
        if (handle)
            json_put_text(&item, handle, strlen(handle));
        else
            buffer_string(&item, "null");
        const char *visibility = json_string_value(json_object_get(counts, "visibility"));
        buffer_string(&item, ",\"visibility\":");
        json_put_text(&item, visibility ? visibility : "", visibility ? strlen(visibility) : 0);
        buffer_string(&item, ",\"notices\":");
        json_put_value(&item, json_object_get(counts, "notices"));
        buffer_byte(&item, '}');
        code = print_item(ACCOUNT, buffer_cstring(&item), item.size, export->error);
    }
    buffer_free(&item);
    json_decref(counts);
    return code;
}

/* ---- what moderators decided ---- */

/* Decisions about the user and the user's comments, without who made them, and what the user has told moderators or decided. Reports by others
 * are theirs. */
static void take_entry(void *context, const struct kafka_record *record) {
    static const char *const WHAT[] = {
        [MODERATION_ENTRY_REPORT] = "report",   [MODERATION_ENTRY_HIDE] = "hide",
        [MODERATION_ENTRY_RESTORE] = "restore", [MODERATION_ENTRY_APPROVE] = "approve",
        [MODERATION_ENTRY_DELETE] = "delete",   [MODERATION_ENTRY_BAN] = "ban",
        [MODERATION_ENTRY_UNBAN] = "unban",     [MODERATION_ENTRY_EDIT] = "edit",
    };
    struct user_export *export = context;
    struct moderation_entry entry;
    struct subject_key key;
    if (export->code || !record->value || !subject_key_read(record->key, record->key_size, &key) ||
        event_decode_moderation_entry(export->codec, record->value, record->value_size, &entry, NULL))
        return;
    bool mine = entry.user == export->user;
    if (!mine && (entry.author != export->user || entry.what == MODERATION_ENTRY_REPORT)) return;
    struct buffer item = {.data = NULL};
    buffer_format(&item, "{\"what\":\"%s\",\"mine\":%s,\"subject\":", WHAT[entry.what], mine ? "true" : "false");
    json_put_text(&item, key.subject, key.size);
    buffer_format(&item, ",\"comment\":\"%" PRId64 "\",\"reason\":", key.comment);
    json_put_text(&item, entry.reason.data, entry.reason.size);
    buffer_format(&item, ",\"time\":%" PRId64 ",\"until\":", entry.time);
    if (entry.until)
        json_put_int(&item, entry.until);
    else
        buffer_string(&item, "null");
    buffer_byte(&item, '}');
    export->code = print_item(DECISIONS, buffer_cstring(&item), item.size, export->error);
    buffer_free(&item);
}

static int print_decisions(struct user_export *export) {
    return reader_run(
        &(struct reader_options){
            .settings = &export->cli->kafka,
            .topic = &TOPIC_MODERATION_LOG,
            .partitions = export->shape.partitions[TOPIC_MODERATION_LOG.space],
            .partition = READER_ALL,
            .to_ms = INT64_MAX,
            .context = export,
            .take = take_entry,
            .failure = &export->code,
        },
        export->error);
}

static int print_all(struct user_export *export) {
    struct error error = {.text = ""};
    export->error = &error;
    export->codec = codec_new();
    struct metrics *metrics = metrics_new(); // that nobody reads
    int code = reader_shape(export->cli, &export->shape, &error);
    if (!code) code = audit_read(export->cli, "", &export->user, 1, &error);
    export->mutes = mutes_new(
        &(struct mutes_options){.metrics = metrics, .partitions = export->shape.partitions[TOPIC_SPACE_USERS]});
    if (!code && is_wanted(export, ACCOUNT)) code = print_account(export);
    for (size_t i = 0; !code && i < BELONGINGS_COUNT; i++)
        if (is_wanted(export, BELONGINGS[i].name)) code = print_kind(export, &BELONGINGS[i]);
    if (!code && is_wanted(export, DECISIONS)) code = print_decisions(export);
    if (!code && fflush(stdout)) code = error_set(&error, -EIO, "standard output cannot be written");
    for (size_t i = 0; i < BELONGING_OWNERS; i++) asking_free(export->owners[i]);
    mutes_free(export->mutes);
    metrics_free(metrics);
    codec_free(export->codec);
    buffer_free(&export->reply);
    buffer_free(&export->user_members);
    return code ? cli_fail(&USER_EXPORT_COMMAND, 1, "%s", error.text) : 0;
}

static int run(struct cli *cli, int argc, char **argv) {
    struct user_export export = {.cli = cli, .sharing = SHARING_WORDS[SHARING_OFF]};
    const struct cli_option options[] = {
        {"kinds", "KIND,...",
         "only these: account, friends, links, places, place-events, following, followers, requesting, requested, muted, "
         "posts, devices, notices, comments, edits, likes, reports, history, decisions",
         &export.kinds, NULL},
    };
    int code = cli_open(cli, &USER_EXPORT_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    if (cli_one_user(cli, &export.user)) return CLI_WRONG_USAGE;
    if (export.kinds && !kinds_valid(export.kinds))
        return CLI_WRONG(&USER_EXPORT_COMMAND, "--kinds %s: --help names them", export.kinds);
    return print_all(&export);
}

const struct cli_command USER_EXPORT_COMMAND = {
    .name = "export",
    .synopsis = "USER [--kinds KIND,...]",
    .summary = "everything that is kept of a user",
    .notes = "Prints lines of JSON {\"kind\", \"item\"}; the description of the HTTP API has the items. It fails if a\n"
             "daemon that it asks is away: leave out kinds that a deployment does not have. Only here are\n"
             "decisions, {what, mine, subject, comment, reason, time, until}: bans, what moderators did to the\n"
             "user's comments, and what the user told moderators or decided (mine).",
    .run = run,
};

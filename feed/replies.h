/* Answers questions of gateways and other feed processes about users and posts of owned partitions. Ids are strings, as in the API. Loop's
 * thread.
 *
 *     GET /peer/feed/USER?above&before&limit              {age_ms, complete, horizon, posts: [{id, user}], following: [user] if it is too
 *                                                          little, version of the newest page}: the reader may see the posts of all
 *                                                          these users, as of age_ms ago
 *     GET /peer/older/PARTITION?authors&above&before&limit {posts: [{id, user}]}, of these authors, newest first
 *     GET /peer/posts/PARTITION?ids                       {items: [post or null]}, {id, user} where the text is not read yet; ids may
 *                                                         be of other partitions: false where those are not served here; fewer
 *                                                         items than ids, at least one, if they are very long
 *     GET /peer/post-edits/PARTITION/ID?after&limit       {items: [{version, text, time, user}], next, user: the author}: the versions of
 *                                                         the text, newest first
 *     GET /peer/written/USER?above&before&limit&edits     {items: [post], next}, fewer than the limit if they are very long; with
 *                                                         `edits`, those that were edited have former: [{version, text, time, user}]
 *     GET /peer/may/PARTITION?user|post&readers           {user: the author, age_ms, everybody, but: [user] or may: [reader]}: everybody but
 *                                                         these may see the author's posts, or of the readers these. What is said
 *                                                         is so old at most. Only {user}: another partition's owner knows, the author's
 *     GET /peer/user/USER                                 {followers, following, requesting, posts, visibility, notices: {read,
 *                                                         preferences}, handle if there is one}
 *     GET /peer/list/USER?relation&after&limit            {items: [{user}], next, total}; with `ids`, which rise: {items}, of these
 *                                                         users those who are on it
 *     GET /peer/handles/PARTITION?ids                     {items: [handle or null]} of users, who may be of other partitions: false where
 *                                                         those are not served here
 *     GET /peer/notices/USER?after&limit&hidden           {items: [notice], next, read: the newest that the user has read, preferences,
 *                                                         version: as lib/watch has it},
 *                                                         newest first; hidden: those of whom the user has muted or blocked, or who has
 *                                                         blocked the user, too
 *     GET /peer/devices/USER?session&hidden               {items: [{id, device: a name or null, since, current: true if it is `session`}],
 *                                                         next: null}, newest first; with `hidden`, also those whose edge may have died,
 *                                                         and the run of each
 *     GET /peer/handle/PARTITION?handle                   {user}: has the handle; it counts if the user's owner says so, too
 *
 * The answers about commands (feed/outcomes.c) wait until the command was decided, and what it made can be read:
 *
 *     GET /peer/relation/USER/OTHER?relation&offset&wait_ms     {refused: null}; of follows: 202, the author's owner decides them
 *     GET /peer/follower/USER/OTHER?offset&wait_ms              {refused: "blocked", "full", "requests" or null; following, requested}: the
 *                                                               other one the user
 *     GET /peer/visibility/USER?offset&wait_ms                  {posts: "everybody" or "followers"}
 *     GET /peer/noticed/USER?offset&wait_ms                     as a page of notices
 *     GET /peer/posted/USER?key&offset&wait_ms                  post
 *     GET /peer/gone/USER/ID?offset&wait_ms                     {}
 *     GET /peer/edited/USER/ID?version&key&offset&wait_ms       {refused: "old_version", "edits", or null; post}; key: edit_mark
 *     GET /peer/wish/USER?handle&offset&wait_ms                 {state: granted, taken or overtaken}
 *     GET /peer/unnamed/USER?offset&wait_ms                     {}
 *     GET /peer/signed-in/USER?external&wait_ms                 {user}; decides one for a text that has none, but for wait_ms=0
 *     GET /peer/external/USER?offset&wait_ms                    {external: the text or null}
 *
 * {id, user} also has the version of a text that was edited lately (feed/edited.h): a text of a lower one is not to be shown.
 *
 * 421: another process owns the key; 503: not now; 404: there is none; 202: it was not decided in time.
 */
#pragma once

#include "feed/audience.h"
#include "feed/commands.h"
#include "feed/devices.h"
#include "feed/notices_shown.h"
#include "feed/timelines.h"
#include "service/http.h"

struct replies;

struct replies_options {
    uv_loop_t *loop;
    int32_t partitions;
    struct tasks *tasks;
    struct relation_lists *relations;
    struct posts *posts;
    struct audience audience;
    struct timelines *timelines;
    const struct edited *edited;
    struct names *names;
    struct directory_store *directory;
    struct device_store *devices;
    struct kafka_producer *producer; /* of commands that questions lead to */
    const struct notices_shown *notices;
    struct refusals *refusals;
    struct feed_commands *commands;
};

struct replies *replies_new(const struct replies_options *options);
void replies_free(struct replies *replies); /* after the decider, which answers waiting questions; NULL is fine */
void replies_handle(struct replies *replies, struct http_request *request);

/* State has changed: questions that wait for it may be answered. replies_tenth does the same ten times a second, also for pages that wait
 * for an inbox, and for those that wait in vain. */
void replies_look_again(struct replies *replies);
void replies_tenth(struct replies *replies);

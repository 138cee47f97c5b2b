/* Answers questions of gateways about the comments of owned subjects. TYPE/ID is a subject (subjects/subject.h); ids of comments and
 * cursors are strings, users are integers. Loop's thread.
 *
 *     GET /peer/comments/page/TYPE/ID?sort&after&limit&replies    a page of roots: {items: [comment], next, total, version, counters,
 *                                                                 likes, closed, owner, complete, pinned: [comment]}
 *     GET /peer/comments/replies/TYPE/ID/COMMENT?after&limit      the replies of a root, or those that answer a reply, by floor: {items:
 *                                                                 [comment], next, user, version, complete}; user: the comment's author,
 *                                                                 root_user: that of its root, if it is a reply
 *     GET /peer/comments/one/TYPE/ID/COMMENT?around&user          {item: comment, root: comment or null, around: [comment], complete}
 *     GET /peer/comments/likes/TYPE/ID?user&ids                   {liked: [id]}: those of these comments that the user likes
 *     GET /peer/comments/likers/TYPE/ID?after&limit               {items: [{user}], next}: who likes the subject, by rising id. after and
 *                                                                 next: a user
 *     GET /peer/comments/subject/TYPE/ID                          {owner, closed, who_may, review, level, total, roots, held, likes,
 *                                                                 version, counters}
 *     GET /peer/comments/counts/PARTITION?subjects                {items: [{total, version, likes, liked} or null]}; the subjects
 *                                                                 (post:1,post:2:7) may be of other partitions: false where those are
 *                                                                 not served here. 421 if the path's partition is not. liked: only of a
 *                                                                 subject with a user behind it, whether that user likes it
 *     GET /peer/comments/of/PARTITION?user&edits&limit&after      {items: [{subject, comment, version, text}], next}: the former texts of the
 *                                                                 user's comments
 *     GET /peer/comments/of/PARTITION?user&likes&limit&after      {items: [{subject, comment, what: comment or like}], next}: of the user,
 *                                                                 those that are not deleted, or with `likes` only likes; comment null:
 *                                                                 the subject itself is liked. A page may have none and a next one
 *     GET /peer/comments/edits/TYPE/ID/COMMENT?after&limit&user   {items: [{version, text, time, user}], next, user, complete}: the
 *                                                                 versions of its text, the newest first; 404 unless the text is shown
 *     GET /peer/comments/outcome/TYPE/ID?user&key&comment&offset&wait_ms     what became of a command
 *
 *     sort      floor (default) | newest | heat. Every sort lists the same roots, also those that are not visible
 *     after     `next` of a page of the same sort, or list; absent: the first page
 *     limit     1 to 1000, default 20;   replies: first replies that come along with each root, 0 to 20, default 3. A page ends early once
 *               it has about 2000 comments, replies among them, or 1 MiB: `next` says whether more follow
 *     around    the comment's neighbours on each side, by floor, 0 to 100, default 0: roots of a root, replies of the same root of a reply
 *     user      one, edits: whoever asks, who sees the text of his own held comment; absent: nobody
 *     ids       up to 1100, separated by commas; subjects: the same
 *     version   the number of changes to the subject's comments, states, pins and settings; counters: of those to likes. Both never fall
 *     likes     of a subject: users who like the subject itself
 *     complete  false: the text of a visible comment is not read yet (text is null, state visible). Such an answer is not to be kept
 *
 * comment = {id, user, text, time, version, edited, floor, root, reply_to, likes, reply_count, replies: [comment], state}: without the names. state:
 * visible | held | hidden | deleted; text is null unless the comment is visible. time: ms since 1970; edited: the same of its
 * newest version, or null. reply_count: visible replies under a
 * root at any depth; of a reply, those that answer it. replies: of roots on a page; else empty. root and reply_to: null for roots.
 *
 * A subject that nobody registered has empty pages, of version 0, total 0 and owner null; /subject/ is 404 no-subject then. A comment
 * that is not under this subject: 404 no-comment.
 *
 * The outcome waits, up to wait_ms (0 to 30,000, default 1000), until the command at `offset` of the subject's partition is decided and
 * what it made can be read. It is found by user and key; `comment` is the one that the command was about, 0 for none
 * or the subject itself.
 *
 *     200 {refused: null, comment: comment or null, subject: as above, pinned: bool}     comment: that of POST and REPLY, else `comment`
 *     200 {refused: "closed", comment: null, subject: null, pinned: false}               a name of enum comment_refusal_reason: no_subject,
 *                                                        no_comment, closed, banned, not_allowed, level, blocked, not_yours, not_visible,
 *                                                        no_root, pins, old_version, edits
 *     200 {refused: "too_fast" or "old_facts", wait_ms, ...}      nobody remembers these: the command may be sent again, too_fast after
 *                                                        wait_ms. old_facts: what the gateway knew of the subject is over
 *     202  in time, it was not decided, or what it made could not be read; or commands of the partition are not decided at the moment
 *     404 no-outcome    without an offset: nothing is known of this key. Its command may be under way still, or was refused more than
 *                       an hour ago. With an offset, the answer is 200 with refused and comment null
 *
 * 400 bad-query: a value is missing or out of range; 400 wrong-cursor: `after` is of another sorting, or no cursor at all. 421
 * not-the-owner: another process owns the subject; 503 restoring: not now.
 */
#pragma once

#include "comments/commands.h"
#include "service/http.h"
#include "tasks/tasks.h"

struct comment_replies;

struct comment_replies_options {
    int32_t partitions;
    struct tasks *tasks;
    struct threads *threads;
    struct comment_commands *commands;
};

struct comment_replies *comment_replies_new(const struct comment_replies_options *options);
void comment_replies_free(
    struct comment_replies *replies); /* after the decider, which answers waiting questions; NULL is fine */
void comment_replies_handle(struct comment_replies *replies, struct http_request *request);

/* State has changed: questions that wait for it may be answered. To be called ten times a second, too, for those that wait in vain. */
void comment_replies_look_again(struct comment_replies *replies);

#include "comments/rules.h"

#include <string.h>

#include "base/text.h"

/* ---- complaints ---- */

static const char *text_complaint(const struct comment_command *command) {
    int64_t points = text_utf8_points(command->text.data, command->text.size);
    if (points < 0) return "its text is not UTF-8";
    if (!comment_command_writes(command->kind) && command->kind != COMMENT_COMMAND_EDIT)
        return points > COMMENT_REASON_POINTS_MAX ? "its reason is longer than 1000 characters" : NULL;
    if (comment_command_imports(command) && command->state == COMMENT_COMMAND_DELETED)
        return points ? "a deleted comment has no text" : NULL;
    return points && points <= COMMENT_TEXT_POINTS_MAX ? NULL : "its text is empty or longer than 10000 characters";
}

static const char *edit_complaint(const struct comment_command *command) {
    int64_t points = text_utf8_points(command->reason.data, command->reason.size);
    if (command->kind == COMMENT_COMMAND_EDIT ? command->version < 1 : command->version || command->reason.size)
        return "it edits no version, or one where there must be none";
    if (points < 0) return "its reason is not UTF-8";
    return points > COMMENT_REASON_POINTS_MAX ? "its reason is longer than 1000 characters" : NULL;
}

static bool names_a_comment(enum comment_command_kind kind) {
    return kind != COMMENT_COMMAND_POST && kind != COMMENT_COMMAND_CLOSE && kind != COMMENT_COMMAND_OPEN &&
           kind != COMMENT_COMMAND_REGISTER;
}

static const char *mentions_complaint(const struct event_longs *mentions) {
    if (mentions->count > COMMENT_MENTIONS_MAX) return "it mentions more than ten users";
    for (size_t i = 0; i < mentions->count; i++)
        if (mentions->items[i] < 0) return "it mentions a negative user";
    return NULL;
}

/* By its id, or in an import by its key. */
static bool names_one(const struct comment_command *command) {
    const struct event_text *key = &command->named_key;
    if (!key->size) return command->comment > 0;
    return !command->comment && comment_command_imports(command) && key->size <= COMMENT_CLIENT_KEY_MAX;
}

const char *comment_command_complaint(const struct comment_command *command) {
    if (!subject_valid(command->subject.data, command->subject.size)) return "its subject is invalid";
    if (command->user < 0) return "the user is negative";
    if (!command->key.size || command->key.size > COMMENT_CLIENT_KEY_MAX)
        return "its key is empty or longer than 64 bytes";
    if (text_utf8_points(command->key.data, command->key.size) < 0) return "its key is not UTF-8";
    bool names = names_a_comment(command->kind) && !comment_command_of_subject(command);
    if (names ? !names_one(command) : command->comment || command->named_key.size)
        return "it names no comment, or one where there must be none";
    if (command->written && !comment_command_imports(command)) return "only a service imports, and no negative times";
    if (command->written > EVENT_TIME_MAX) return "its time is out of range";
    const char *complaint = text_complaint(command);
    if (!complaint) complaint = edit_complaint(command);
    return complaint ? complaint : mentions_complaint(&command->mentions);
}

/* ---- who may ---- */

static bool owns(const struct comment_command *command, const struct thread *thread) {
    return command->role != COMMENT_COMMAND_SERVICE && command->user == thread->subject.owner;
}

static bool moderates(const struct comment_command *command) { return command->role == COMMENT_COMMAND_MODERATOR; }

/* The gateway's facts count only if it asked about the right owner. */
static bool among_writers(const struct comment_command *command, const struct subject_state *subject) {
    bool asked = command->owner == subject->owner;
    switch (subject->who_may) {
    case COMMENT_SUBJECT_EVERYONE: return true;
    case COMMENT_SUBJECT_FOLLOWERS: return asked && command->follows;
    case COMMENT_SUBJECT_FRIENDS: return asked && command->friends;
    case COMMENT_SUBJECT_NOBODY: return false;
    }
    return false;
}

/* The author is not among the writers. Tells a true refusal from one that the gateway made with old facts. */
static int not_allowed(const struct comment_command *command, const struct subject_state *subject) {
    bool asked = command->owner == subject->owner && comment_command_asked(command, subject->who_may);
    return asked || subject->who_may == COMMENT_SUBJECT_NOBODY ? COMMENT_REFUSAL_NOT_ALLOWED : THREAD_OLD_FACTS;
}

static int may_write(const struct comment_command *command, const struct thread *thread) {
    if (thread->subject.closed) return COMMENT_REFUSAL_CLOSED;
    if (thread->banned) return COMMENT_REFUSAL_BANNED;
    if (command->blocked) return COMMENT_REFUSAL_BLOCKED;
    if (owns(command, thread)) return THREAD_DONE;
    if (!among_writers(command, &thread->subject)) return not_allowed(command, &thread->subject);
    return command->level < thread->subject.level ? COMMENT_REFUSAL_LEVEL : THREAD_DONE;
}

/* ---- counting ---- */

static void change_structure(struct thread *thread) {
    thread->subject.structure++;
    thread->subject_changed = true;
}

static void count_reply(struct comment_place *place, int by) {
    place->comment.replies += by;
    place->changed = true;
}

/* The comment becomes visible (1), or is so no longer (-1). root NULL: it is a root. */
static void count_visible(struct thread *thread, struct comment_place *root, struct comment_place *answered, int by) {
    thread->subject.visible += by;
    if (root) count_reply(root, by);
    if (answered) count_reply(answered, by);
}

static void unpin(struct thread *thread, int64_t id) {
    struct subject_state *subject = &thread->subject;
    size_t kept = 0;
    for (size_t i = 0; i < subject->pins; i++)
        if (subject->pinned[i] != id) subject->pinned[kept++] = subject->pinned[i];
    if (kept == subject->pins) return;
    memset(subject->pinned + kept, 0, (subject->pins - kept) * sizeof *subject->pinned);
    subject->pins = kept;
    change_structure(thread);
}

static bool is_pinned(const struct subject_state *subject, int64_t id) {
    for (size_t i = 0; i < subject->pins; i++)
        if (subject->pinned[i] == id) return true;
    return false;
}

static struct comment_place *if_there(struct comment_place *place) { return place->id ? place : NULL; }

static void set_state(struct thread *thread, enum comment_state state) {
    struct comment *comment = &thread->about.comment;
    bool was = comment->state == COMMENT_VISIBLE, is = state == COMMENT_VISIBLE;
    if (was != is) count_visible(thread, if_there(&thread->root), if_there(&thread->answered), is ? 1 : -1);
    if (comment->state == COMMENT_HELD) {
        thread->subject.held--;
        thread->approved = is;
    }
    comment->state = state;
    thread->about.changed = true;
    if (!is) unpin(thread, thread->about.id);
    change_structure(thread);
}

/* ---- writing ---- */

/* A post's owner is known before the feed has registered it. */
static void register_post(const struct comment_command *command, struct thread *thread) {
    thread->registered = true;
    thread->subject = (struct subject_state){
        .owner = command->owner, .who_may = COMMENT_SUBJECT_EVERYONE, .review = COMMENT_SUBJECT_AFTER};
    change_structure(thread);
}

static enum comment_state state_of_new(const struct comment_command *command, const struct thread *thread) {
    if (comment_command_imports(command)) return (enum comment_state)command->state;
    bool reviewed = thread->subject.review == COMMENT_SUBJECT_BEFORE && !owns(command, thread);
    return reviewed || command->state == COMMENT_COMMAND_HELD ? COMMENT_HELD : COMMENT_VISIBLE;
}

static void make(const struct comment_command *command, struct thread *thread) {
    struct comment *made = &thread->made.comment;
    bool reply = command->kind == COMMENT_COMMAND_REPLY;
    struct comment_place *about = &thread->about;
    struct comment_place *root = !reply ? NULL : about->comment.root ? &thread->root : about;
    *made = (struct comment){
        .user = command->user,
        .state = state_of_new(command, thread),
        .floor = root ? ++root->comment.floors : ++thread->subject.roots,
        .root = root ? root->id : 0,
        .answers = reply ? about->id : 0,
        .time = command->written,
        .version = 1,
    };
    thread->made.changed = true;
    if (root) root->changed = true;
    if (made->state == COMMENT_HELD) thread->subject.held++;
    if (made->state == COMMENT_VISIBLE) count_visible(thread, root, root != about && reply ? about : NULL, 1);
    change_structure(thread);
}

/* Takes one of the comments that the user may write now. False: there is none, and the thread says when there will be. */
static bool take_turn(const struct comment_command *command, struct thread *thread) {
    const struct comment_rate *rate = &thread->rate;
    if (!rate->interval_ms || command->role != COMMENT_COMMAND_USER) return true;
    int64_t from = thread->rested_at > thread->now_ms ? thread->rested_at : thread->now_ms;
    thread->wait_ms = from + rate->interval_ms - thread->now_ms - rate->burst * rate->interval_ms;
    if (thread->wait_ms > 0) return false;
    thread->rested_at = from + rate->interval_ms;
    return true;
}

static int write_comment(const struct comment_command *command, struct thread *thread) {
    if (!thread->registered && (command->kind != COMMENT_COMMAND_POST || command->owner < 0))
        return COMMENT_REFUSAL_NO_SUBJECT;
    struct thread now = *thread;
    if (!thread->registered) register_post(command, &now);
    if (command->kind == COMMENT_COMMAND_REPLY) {
        if (!now.about.id) return COMMENT_REFUSAL_NO_COMMENT;
        if (now.about.comment.state != COMMENT_VISIBLE && !comment_command_imports(command))
            return COMMENT_REFUSAL_NOT_VISIBLE;
    }
    int refused = comment_command_imports(command) ? THREAD_DONE : may_write(command, &now);
    if (refused != THREAD_DONE) return refused;
    if (!take_turn(command, &now)) {
        thread->wait_ms = now.wait_ms;
        return THREAD_TOO_FAST;
    }
    make(command, &now);
    *thread = now;
    return THREAD_DONE;
}

/* ---- reactions ---- */

/* likes: those of the comment, or of the subject itself. */
static int like(const struct comment_command *command, struct thread *thread, int64_t *likes) {
    bool wanted = command->kind == COMMENT_COMMAND_LIKE;
    if (thread->likes == wanted) return THREAD_DONE;
    if (wanted && thread->banned && !comment_command_imports(command)) return COMMENT_REFUSAL_BANNED;
    if (wanted && command->blocked) return COMMENT_REFUSAL_BLOCKED;
    thread->likes = wanted;
    *likes += wanted ? 1 : -1;
    thread->subject.counters++;
    thread->reaction_changed = thread->subject_changed = true;
    return THREAD_DONE;
}

static int like_comment(const struct comment_command *command, struct thread *thread) {
    struct comment *comment = &thread->about.comment;
    bool may = comment->state == COMMENT_VISIBLE || thread->likes || comment_command_imports(command);
    if (command->kind == COMMENT_COMMAND_LIKE && !may) return COMMENT_REFUSAL_NOT_VISIBLE;
    int refused = like(command, thread, &comment->likes);
    thread->about.changed = thread->reaction_changed;
    return refused;
}

/* Nobody may have commented on it yet. */
static int like_subject(const struct comment_command *command, struct thread *thread) {
    if (!thread->registered && command->kind == COMMENT_COMMAND_UNLIKE) return THREAD_DONE;
    if (!thread->registered && command->owner < 0) return COMMENT_REFUSAL_NO_SUBJECT;
    int refused = like(command, thread, &thread->subject.likes);
    if (thread->registered || refused != THREAD_DONE) return refused;
    register_post(command, thread);
    thread->subject.likes = thread->subject.counters = 1;
    return THREAD_DONE;
}

static int report(struct thread *thread) {
    if (thread->reported) return THREAD_DONE;
    if (thread->about.comment.state != COMMENT_VISIBLE) return COMMENT_REFUSAL_NOT_VISIBLE;
    thread->reported = true;
    thread->about.comment.reports++;
    thread->reaction_changed = thread->about.changed = true;
    return THREAD_DONE;
}

/* A post, or a user (user:123), who need not be registered, and is not by it: it is noted who has reported, and the log has the reason. */
static int report_subject(const struct comment_command *command, struct thread *thread) {
    if (command->owner < 0) return COMMENT_REFUSAL_NO_SUBJECT;
    if (thread->reported) return THREAD_DONE;
    thread->reported = thread->reaction_changed = true;
    return THREAD_DONE;
}

/* ---- the subject's owner, authors and moderators ---- */

static bool wrote(const struct comment_command *command, const struct thread *thread) {
    return command->role != COMMENT_COMMAND_SERVICE && command->user == thread->about.comment.user;
}

static int delete_comment(const struct comment_command *command, struct thread *thread) {
    bool author = wrote(command, thread);
    if (!author && !owns(command, thread) && !moderates(command)) return COMMENT_REFUSAL_NOT_YOURS;
    if (thread->about.comment.state != COMMENT_DELETED) set_state(thread, COMMENT_DELETED);
    return THREAD_DONE;
}

static int pin(const struct comment_command *command, struct thread *thread) {
    struct subject_state *subject = &thread->subject;
    if (!owns(command, thread) && !moderates(command) && !comment_command_imports(command))
        return COMMENT_REFUSAL_NOT_YOURS;
    if (thread->about.comment.root) return COMMENT_REFUSAL_NO_ROOT;
    if (command->kind == COMMENT_COMMAND_UNPIN) {
        unpin(thread, thread->about.id);
        return THREAD_DONE;
    }
    if (is_pinned(subject, thread->about.id)) return THREAD_DONE;
    if (thread->about.comment.state != COMMENT_VISIBLE) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (subject->pins == COMMENT_PINS_MAX) return COMMENT_REFUSAL_PINS;
    memmove(subject->pinned + 1, subject->pinned, subject->pins++ * sizeof *subject->pinned);
    subject->pinned[0] = thread->about.id;
    change_structure(thread);
    return THREAD_DONE;
}

static int moderate(const struct comment_command *command, struct thread *thread) {
    enum comment_state state = thread->about.comment.state;
    enum comment_state wanted = command->kind == COMMENT_COMMAND_HIDE ? COMMENT_HIDDEN : COMMENT_VISIBLE;
    if (!moderates(command)) return COMMENT_REFUSAL_NOT_YOURS;
    if (state == wanted) return THREAD_DONE;
    if (state == COMMENT_DELETED) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (state == COMMENT_HIDDEN && command->kind == COMMENT_COMMAND_APPROVE) return COMMENT_REFUSAL_NOT_VISIBLE;
    set_state(thread, wanted);
    return THREAD_DONE;
}

/* The author does not change a comment any more that a moderator has approved. */
static int may_edit(const struct comment_command *command, const struct thread *thread) {
    enum comment_state state = thread->about.comment.state;
    if (state == COMMENT_DELETED) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (moderates(command)) return THREAD_DONE;
    if (!wrote(command, thread)) return COMMENT_REFUSAL_NOT_YOURS;
    if (thread->banned) return COMMENT_REFUSAL_BANNED;
    if (state == COMMENT_HIDDEN) return COMMENT_REFUSAL_NOT_VISIBLE;
    bool approved = state == COMMENT_VISIBLE && thread->subject.review == COMMENT_SUBJECT_BEFORE;
    return approved && !owns(command, thread) ? COMMENT_REFUSAL_NOT_ALLOWED : THREAD_DONE;
}

static int edit(const struct comment_command *command, struct thread *thread) {
    struct comment *comment = &thread->about.comment;
    int refused = may_edit(command, thread);
    if (refused != THREAD_DONE) return refused;
    if (thread->repeats && command->version + 1 == comment->version) return THREAD_DONE; // a client has sent it twice
    switch (edit_decide(comment->version, command->version)) {
    case EDIT_OLD_VERSION: return COMMENT_REFUSAL_OLD_VERSION;
    case EDIT_TOO_MANY: return COMMENT_REFUSAL_EDITS;
    case EDIT_DONE: break;
    }
    if (!take_turn(command, thread)) return THREAD_TOO_FAST;
    comment->version++;
    comment->edited = thread->now_ms;
    thread->edited = thread->about.changed = true;
    change_structure(thread);
    return THREAD_DONE;
}

static int close_subject(const struct comment_command *command, struct thread *thread) {
    bool closed = command->kind == COMMENT_COMMAND_CLOSE;
    if (!owns(command, thread) && command->role == COMMENT_COMMAND_USER) return COMMENT_REFUSAL_NOT_YOURS;
    if (thread->subject.closed == closed) return THREAD_DONE;
    thread->subject.closed = closed;
    change_structure(thread);
    return THREAD_DONE;
}

static int register_subject(const struct comment_command *command, struct thread *thread) {
    struct subject_state now = thread->subject;
    if (command->role != COMMENT_COMMAND_SERVICE) return COMMENT_REFUSAL_NOT_YOURS;
    if (!thread->registered && command->owner < 0) return COMMENT_REFUSAL_NO_SUBJECT;
    if (command->owner >= 0) now.owner = command->owner;
    if (command->level >= 0) now.level = command->level;
    if (command->who_may != COMMENT_COMMAND_SAME_WHO) now.who_may = (enum comment_subject_who)command->who_may;
    if (command->review != COMMENT_COMMAND_SAME_REVIEW) now.review = (enum comment_subject_review)command->review;
    if (command->closing != COMMENT_COMMAND_SAME_CLOSING) now.closed = command->closing == COMMENT_COMMAND_CLOSED;
    bool same = thread->registered && now.owner == thread->subject.owner && now.level == thread->subject.level &&
                now.who_may == thread->subject.who_may && now.review == thread->subject.review &&
                now.closed == thread->subject.closed;
    if (same) return THREAD_DONE;
    thread->registered = true;
    thread->subject = now;
    change_structure(thread);
    return THREAD_DONE;
}

/* ---- all of them ---- */

int thread_decide(const struct comment_command *command, struct thread *thread) {
    if (comment_command_writes(command->kind)) return write_comment(command, thread);
    if (command->kind == COMMENT_COMMAND_REGISTER) return register_subject(command, thread);
    if (comment_command_of_subject(command))
        return command->kind == COMMENT_COMMAND_REPORT ? report_subject(command, thread)
                                                       : like_subject(command, thread);
    if (!thread->registered) return COMMENT_REFUSAL_NO_SUBJECT;
    if (names_a_comment(command->kind) && !thread->about.id) return COMMENT_REFUSAL_NO_COMMENT;
    switch (command->kind) {
    case COMMENT_COMMAND_LIKE:
    case COMMENT_COMMAND_UNLIKE: return like_comment(command, thread);
    case COMMENT_COMMAND_REPORT: return report(thread);
    case COMMENT_COMMAND_DELETE: return delete_comment(command, thread);
    case COMMENT_COMMAND_PIN:
    case COMMENT_COMMAND_UNPIN: return pin(command, thread);
    case COMMENT_COMMAND_HIDE:
    case COMMENT_COMMAND_RESTORE:
    case COMMENT_COMMAND_APPROVE: return moderate(command, thread);
    case COMMENT_COMMAND_EDIT: return edit(command, thread);
    case COMMENT_COMMAND_CLOSE:
    case COMMENT_COMMAND_OPEN: return close_subject(command, thread);
    case COMMENT_COMMAND_POST:
    case COMMENT_COMMAND_REPLY:
    case COMMENT_COMMAND_REGISTER: break; // above
    }
    return THREAD_DONE;
}

const char *comment_refusal_name(int refused) {
    static const char *const NAMES[] = {
        [COMMENT_REFUSAL_NO_SUBJECT] = "no_subject",
        [COMMENT_REFUSAL_NO_COMMENT] = "no_comment",
        [COMMENT_REFUSAL_CLOSED] = "closed",
        [COMMENT_REFUSAL_BANNED] = "banned",
        [COMMENT_REFUSAL_NOT_ALLOWED] = "not_allowed",
        [COMMENT_REFUSAL_LEVEL] = "level",
        [COMMENT_REFUSAL_BLOCKED] = "blocked",
        [COMMENT_REFUSAL_NOT_YOURS] = "not_yours",
        [COMMENT_REFUSAL_NOT_VISIBLE] = "not_visible",
        [COMMENT_REFUSAL_NO_ROOT] = "no_root",
        [COMMENT_REFUSAL_PINS] = "pins",
        [COMMENT_REFUSAL_OLD_VERSION] = "old_version",
        [COMMENT_REFUSAL_EDITS] = "edits",
    };
    if (refused == THREAD_TOO_FAST) return "too_fast";
    return refused == THREAD_OLD_FACTS ? "old_facts" : NAMES[refused];
}

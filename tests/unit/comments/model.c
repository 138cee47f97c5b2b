#include "unit/comments/model.h"

#include <assert.h>
#include <stddef.h>

#include "ids/ids.h"

/* ---- counting ---- */

struct model_comment *model_find(struct model_subject *subject, int64_t id) {
    for (size_t i = 0; i < subject->count; i++)
        if (subject->comments[i].id == id) return &subject->comments[i];
    return NULL;
}

int model_likes(const bool likes[MODEL_USERS]) {
    int count = 0;
    for (int u = 0; u < MODEL_USERS; u++) count += likes[u];
    return count;
}

int model_reports(const struct model_comment *comment) {
    int reports = 0;
    for (int u = 0; u < MODEL_USERS; u++) reports += comment->reported[u];
    return reports;
}

int model_replies(const struct model_subject *subject, const struct model_comment *comment) {
    int replies = 0;
    for (size_t i = 0; i < subject->count; i++) {
        const struct model_comment *other = &subject->comments[i];
        int64_t counted_by = comment->root ? other->answers : other->root;
        replies += other->state == COMMENT_VISIBLE && counted_by == comment->id;
    }
    return replies;
}

int model_count(const struct model_subject *subject, enum comment_state state) {
    int count = 0;
    for (size_t i = 0; i < subject->count; i++) count += subject->comments[i].state == state;
    return count;
}

int model_floors(const struct model_subject *subject, int64_t root) {
    int floors = 0;
    for (size_t i = 0; i < subject->count; i++) floors += subject->comments[i].root == root;
    return floors;
}

/* ---- rules: each returns -1, or why the command is refused ---- */

enum { DONE = -1, PASSING = -2 };

/* Once at that time; an edit may mention the user who owned the subject, and was told of the comment as its owner. */
static void tell(struct model *model, const struct model_comment *comment, int64_t user, bool mention, int64_t time) {
    if (user == comment->user) return;
    for (size_t i = 0; i < model->notice_count; i++) {
        const struct model_notice *before = &model->notices[i];
        bool same = before->user == user && before->comment == comment->id && before->time == time;
        if (same && !before->likes) return;
    }
    assert(model->notice_count < MODEL_NOTICES_MAX);
    model->notices[model->notice_count++] = (struct model_notice){
        .user = user, .by = comment->user, .comment = comment->id, .time = time, .mention = mention};
}

static bool imports(const struct comment_command *command) {
    return command->role == COMMENT_COMMAND_SERVICE && command->written > 0;
}

/* comment 0: of the subject. Who likes, and no longer, and likes in the same moment is one notice, as are likes of two things then. */
static void tell_like(struct model *model, const struct model_command *drawn, int64_t user, int64_t comment,
                      int likes) {
    struct model_notice told = {
        .user = user, .by = drawn->command.user, .comment = comment, .time = drawn->time_ms, .likes = likes};
    size_t at = 0;
    if (told.user == told.by || imports(&drawn->command)) return;
    for (; at < model->notice_count; at++) {
        const struct model_notice *before = &model->notices[at];
        if (before->likes && before->user == user && before->by == told.by && before->time == told.time) break;
    }
    assert(at < MODEL_NOTICES_MAX);
    model->notice_count += at == model->notice_count;
    model->notices[at] = told;
}

/* The comment is seen for the first time. */
static void tell_all(struct model *model, struct model_subject *subject, const struct model_comment *comment,
                     int64_t time) {
    const struct model_comment *answered = comment->answers ? model_find(subject, comment->answers) : NULL;
    if (answered && answered->state == COMMENT_VISIBLE) tell(model, comment, answered->user, false, time);
    tell(model, comment, subject->owner, false, time);
    for (int64_t user = 0; user < MODEL_USERS; user++)
        if (comment->mentioned[user]) tell(model, comment, user, true, time);
}

static void mention(struct model_comment *comment, const struct event_longs *mentions) {
    for (size_t i = 0; i < mentions->count; i++) comment->mentioned[mentions->items[i]] = true;
}

static bool unpin(struct model_subject *subject, int64_t id) {
    size_t at = 0;
    while (at < subject->pins && subject->pinned[at] != id) at++;
    if (at == subject->pins) return false;
    for (subject->pins--; at < subject->pins; at++) subject->pinned[at] = subject->pinned[at + 1];
    subject->structure++;
    return true;
}

static void become(struct model_subject *subject, struct model_comment *comment, enum comment_state state) {
    comment->state = state;
    if (state != COMMENT_VISIBLE) unpin(subject, comment->id);
    subject->structure++;
}

/* The comment that a command is about; NULL: there is none. */
static struct model_comment *named(struct model *model, const struct model_command *drawn) {
    const struct comment_command *command = &drawn->command;
    int64_t id = command->comment;
    for (size_t i = 0; command->named_key.size && i < model->outcome_count; i++) {
        const struct model_outcome *outcome = &model->outcomes[i];
        bool same = outcome->subject == drawn->subject && outcome->key == drawn->named;
        if (same && outcome->user == command->named_user && outcome->made) id = outcome->made;
    }
    return model_find(&model->subjects[drawn->subject], id);
}

static bool take_turn(struct model_subject *subject, const struct comment_command *command, int64_t time_ms) {
    int64_t *rested = &subject->rested_at[command->user];
    int64_t next = (*rested > time_ms ? *rested : time_ms) + MODEL_INTERVAL_MS;
    if (command->role != COMMENT_COMMAND_USER) return true;
    if (next > time_ms + MODEL_BURST * MODEL_INTERVAL_MS) return false;
    *rested = next;
    return true;
}

static int may_write(struct model_subject *subject, const struct comment_command *command, int64_t owner,
                     int64_t time_ms) {
    bool owns = command->user == owner && command->role != COMMENT_COMMAND_SERVICE, asked = command->owner == owner;
    if (subject->closed) return COMMENT_REFUSAL_CLOSED;
    if (command->user == MODEL_BANNED) return COMMENT_REFUSAL_BANNED;
    if (command->blocked) return COMMENT_REFUSAL_BLOCKED;
    if (!owns) {
        if (subject->who_may == COMMENT_SUBJECT_NOBODY) return COMMENT_REFUSAL_NOT_ALLOWED;
        if (subject->who_may == COMMENT_SUBJECT_FOLLOWERS && !(asked && command->follows))
            return asked && command->who_may == COMMENT_COMMAND_FOLLOWERS ? COMMENT_REFUSAL_NOT_ALLOWED : PASSING;
        if (subject->who_may == COMMENT_SUBJECT_FRIENDS && !(asked && command->friends))
            return asked ? COMMENT_REFUSAL_NOT_ALLOWED : PASSING;
        if (command->level < subject->level) return COMMENT_REFUSAL_LEVEL;
    }
    return take_turn(subject, command, time_ms) ? DONE : PASSING;
}

static int write_comment(struct model *model, const struct model_command *drawn, struct model_outcome *outcome) {
    struct model_subject *subject = &model->subjects[drawn->subject];
    const struct comment_command *command = &drawn->command;
    bool reply = command->kind == COMMENT_COMMAND_REPLY, fresh = !subject->registered, import = imports(command);
    struct model_comment *about = reply ? named(model, drawn) : NULL;
    if (fresh && (reply || command->owner < 0)) return COMMENT_REFUSAL_NO_SUBJECT;
    int64_t owner = fresh ? command->owner : subject->owner;
    bool owns = command->user == owner && command->role != COMMENT_COMMAND_SERVICE;
    bool held = (subject->review == COMMENT_SUBJECT_BEFORE && !owns) || command->state == COMMENT_COMMAND_HELD;
    if (reply && !about) return COMMENT_REFUSAL_NO_COMMENT;
    if (reply && !import && about->state != COMMENT_VISIBLE) return COMMENT_REFUSAL_NOT_VISIBLE;
    int refused = import ? DONE : may_write(subject, command, owner, drawn->time_ms);
    if (refused != DONE) return refused;
    if (fresh) {
        subject->registered = true;
        subject->owner = owner;
        subject->structure++;
    }
    int64_t root = !reply ? 0 : about->root ? about->root : about->id, *tick = &model->ticks[drawn->partition];
    *tick = ids_tick(drawn->time_ms, drawn->offset, *tick);
    assert(subject->count < MODEL_COMMENTS_MAX);
    int floor = model_floors(subject, root) + 1;
    subject->comments[subject->count++] = (struct model_comment){
        .id = ids_make(*tick, drawn->partition),
        .user = command->user,
        .root = root,
        .answers = reply ? about->id : 0,
        .written = command->written,
        .floor = floor,
        .key = drawn->key,
        .level = command->level,
        .versions = {{.text = command->text, .editor = -1}},
        .version_count = 1,
        .state = import ? (enum comment_state)command->state
                 : held ? COMMENT_HELD
                        : COMMENT_VISIBLE,
    };
    subject->structure++;
    struct model_comment *made = &subject->comments[subject->count - 1];
    if (made->state == COMMENT_DELETED) made->level = 0;
    mention(made, &command->mentions);
    if (made->state == COMMENT_VISIBLE && command->role != COMMENT_COMMAND_SERVICE)
        tell_all(model, subject, made, ids_time_ms(made->id));
    outcome->made = subject->comments[subject->count - 1].id;
    return DONE;
}

static int pin(struct model_subject *subject, const struct comment_command *command, struct model_comment *about) {
    if (about->root) return COMMENT_REFUSAL_NO_ROOT;
    if (command->kind == COMMENT_COMMAND_UNPIN) {
        unpin(subject, about->id);
        return DONE;
    }
    for (size_t i = 0; i < subject->pins; i++)
        if (subject->pinned[i] == about->id) return DONE;
    if (about->state != COMMENT_VISIBLE) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (subject->pins == 10) return COMMENT_REFUSAL_PINS;
    for (size_t i = subject->pins++; i > 0; i--) subject->pinned[i] = subject->pinned[i - 1];
    subject->pinned[0] = about->id;
    subject->structure++;
    return DONE;
}

static int react(struct model *model, const struct model_command *drawn, struct model_comment *about) {
    struct model_subject *subject = &model->subjects[drawn->subject];
    const struct comment_command *command = &drawn->command;
    bool wanted = command->kind != COMMENT_COMMAND_UNLIKE, report = command->kind == COMMENT_COMMAND_REPORT;
    bool *mark = report ? &about->reported[command->user] : &about->likes[command->user];
    if (*mark == wanted) return DONE;
    if (wanted && !imports(command) && about->state != COMMENT_VISIBLE) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (wanted && !report && command->user == MODEL_BANNED && !imports(command)) return COMMENT_REFUSAL_BANNED;
    if (wanted && !report && command->blocked) return COMMENT_REFUSAL_BLOCKED;
    *mark = wanted;
    if (!report) subject->counters++;
    if (wanted && !report) tell_like(model, drawn, about->user, about->id, model_likes(about->likes));
    return DONE;
}

static int react_to_subject(struct model *model, const struct model_command *drawn) {
    struct model_subject *subject = &model->subjects[drawn->subject];
    const struct comment_command *command = &drawn->command;
    bool wanted = command->kind == COMMENT_COMMAND_LIKE;
    if (!subject->registered && wanted && command->owner < 0) return COMMENT_REFUSAL_NO_SUBJECT;
    if (subject->likes[command->user] == wanted) return DONE;
    if (wanted && command->user == MODEL_BANNED && !imports(command)) return COMMENT_REFUSAL_BANNED;
    if (wanted && command->blocked) return COMMENT_REFUSAL_BLOCKED;
    if (!subject->registered) {
        subject->registered = true;
        subject->owner = command->owner;
        subject->structure++;
    }
    subject->likes[command->user] = wanted;
    subject->counters++;
    if (wanted) tell_like(model, drawn, subject->owner, 0, model_likes(subject->likes));
    return DONE;
}

static int moderate(struct model *model, const struct model_command *drawn, struct model_comment *about) {
    struct model_subject *subject = &model->subjects[drawn->subject];
    const struct comment_command *command = &drawn->command;
    enum comment_state to = command->kind == COMMENT_COMMAND_HIDE ? COMMENT_HIDDEN : COMMENT_VISIBLE;
    if (command->role != COMMENT_COMMAND_MODERATOR) return COMMENT_REFUSAL_NOT_YOURS;
    if (about->state == to) return DONE;
    if (about->state == COMMENT_DELETED) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (command->kind == COMMENT_COMMAND_APPROVE && about->state != COMMENT_HELD) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (about->state == COMMENT_HELD && to == COMMENT_VISIBLE) tell_all(model, subject, about, drawn->time_ms);
    become(subject, about, to);
    return DONE;
}

static int edit(struct model *model, const struct model_command *drawn, struct model_comment *about) {
    struct model_subject *subject = &model->subjects[drawn->subject];
    const struct comment_command *command = &drawn->command;
    const struct model_comment *answered = about->answers ? model_find(subject, about->answers) : NULL;
    bool moderator = command->role == COMMENT_COMMAND_MODERATOR, held = about->state == COMMENT_HELD;
    bool author = command->role != COMMENT_COMMAND_SERVICE && command->user == about->user;
    bool visible = about->state == COMMENT_VISIBLE;
    if (about->state == COMMENT_DELETED) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (!author && !moderator) return COMMENT_REFUSAL_NOT_YOURS;
    if (!moderator && command->user == MODEL_BANNED) return COMMENT_REFUSAL_BANNED;
    if (!moderator && about->state == COMMENT_HIDDEN) return COMMENT_REFUSAL_NOT_VISIBLE;
    if (!moderator && visible && subject->review == COMMENT_SUBJECT_BEFORE && command->user != subject->owner)
        return COMMENT_REFUSAL_NOT_ALLOWED;
    const struct model_version *newest = &about->versions[about->version_count - 1];
    if (command->version + 1 == (int64_t)about->version_count && newest->editor == command->user &&
        newest->text.size == command->text.size && newest->text.data == command->text.data)
        return DONE;
    if (command->version != (int64_t)about->version_count) return COMMENT_REFUSAL_OLD_VERSION;
    if (!take_turn(subject, command, drawn->time_ms)) return PASSING;
    assert(about->version_count < MODEL_VERSIONS_MAX);
    about->versions[about->version_count++] =
        (struct model_version){.text = command->text, .editor = command->user, .edited = drawn->time_ms};
    if (command->user == about->user) about->level = command->level;
    for (int u = 0; held && u < MODEL_USERS; u++) about->mentioned[u] = false;
    for (size_t i = 0; i < command->mentions.count; i++) {
        int64_t user = command->mentions.items[i];
        if (visible && !about->mentioned[user] && user != subject->owner && !(answered && user == answered->user))
            tell(model, about, user, true, drawn->time_ms);
        about->mentioned[user] = true;
    }
    subject->structure++;
    model->edits++;
    return DONE;
}

static int register_subject(struct model_subject *subject, const struct comment_command *command) {
    struct model_subject now = *subject;
    if (command->role != COMMENT_COMMAND_SERVICE) return COMMENT_REFUSAL_NOT_YOURS;
    if (!subject->registered && command->owner < 0) return COMMENT_REFUSAL_NO_SUBJECT;
    now.registered = true;
    if (command->owner >= 0) now.owner = command->owner;
    if (command->level >= 0) now.level = command->level;
    if (command->who_may < COMMENT_COMMAND_SAME_WHO) now.who_may = (int)command->who_may;
    if (command->review < COMMENT_COMMAND_SAME_REVIEW) now.review = (int)command->review;
    if (command->closing < COMMENT_COMMAND_SAME_CLOSING) now.closed = command->closing == COMMENT_COMMAND_CLOSED;
    bool same = subject->registered && now.owner == subject->owner && now.level == subject->level &&
                now.who_may == subject->who_may && now.review == subject->review && now.closed == subject->closed;
    if (same) return DONE;
    now.structure++;
    *subject = now;
    return DONE;
}

static int decide(struct model *model, const struct model_command *drawn, struct model_outcome *outcome) {
    struct model_subject *subject = &model->subjects[drawn->subject];
    const struct comment_command *command = &drawn->command;
    enum comment_command_kind kind = command->kind;
    bool service = command->role == COMMENT_COMMAND_SERVICE, moderator = command->role == COMMENT_COMMAND_MODERATOR;
    if (kind == COMMENT_COMMAND_POST || kind == COMMENT_COMMAND_REPLY) return write_comment(model, drawn, outcome);
    if (kind == COMMENT_COMMAND_REGISTER) return register_subject(subject, command);
    bool likes = kind == COMMENT_COMMAND_LIKE || kind == COMMENT_COMMAND_UNLIKE;
    if (likes && !command->comment && !command->named_key.size) return react_to_subject(model, drawn);
    if (!subject->registered) return COMMENT_REFUSAL_NO_SUBJECT;
    bool owns = command->user == subject->owner && !service;
    if (kind == COMMENT_COMMAND_CLOSE || kind == COMMENT_COMMAND_OPEN) {
        if (!owns && !moderator && !service) return COMMENT_REFUSAL_NOT_YOURS;
        if (subject->closed != (kind == COMMENT_COMMAND_CLOSE)) subject->structure++;
        subject->closed = kind == COMMENT_COMMAND_CLOSE;
        return DONE;
    }
    struct model_comment *about = named(model, drawn);
    if (!about) return COMMENT_REFUSAL_NO_COMMENT;
    if (likes || kind == COMMENT_COMMAND_REPORT) return react(model, drawn, about);
    if (kind == COMMENT_COMMAND_PIN || kind == COMMENT_COMMAND_UNPIN)
        return owns || moderator || imports(command) ? pin(subject, command, about) : COMMENT_REFUSAL_NOT_YOURS;
    if (kind == COMMENT_COMMAND_EDIT) return edit(model, drawn, about);
    if (kind != COMMENT_COMMAND_DELETE) return moderate(model, drawn, about);
    if (!owns && !moderator && (service || command->user != about->user)) return COMMENT_REFUSAL_NOT_YOURS;
    if (about->state != COMMENT_DELETED) become(subject, about, COMMENT_DELETED);
    about->level = 0;
    return DONE;
}

void model_decide(struct model *model, const struct model_command *drawn) {
    bool writes = drawn->command.kind == COMMENT_COMMAND_POST || drawn->command.kind == COMMENT_COMMAND_REPLY;
    struct model_outcome outcome = {
        .subject = drawn->subject, .key = drawn->key, .user = drawn->command.user, .refused = DONE};
    for (size_t i = 0; i < model->outcome_count; i++) {
        const struct model_outcome *old = &model->outcomes[i];
        bool same = old->subject == outcome.subject && old->key == outcome.key && old->user == outcome.user;
        if (same && (old->made ? writes : true)) return;
    }
    outcome.refused = decide(model, drawn, &outcome);
    if (outcome.refused == PASSING) {
        model->passing++;
        return;
    }
    assert(model->outcome_count < MODEL_KEYS_MAX);
    if (outcome.made || outcome.refused != DONE) model->outcomes[model->outcome_count++] = outcome;
}

/* Notices to users whom a comment answers or mentions, or whose comment or post is liked. They are in the deciding transaction, and the same comment makes the same keys: a
 * command that is decided once more, because its transaction was given up, tells nobody twice. */
#include <string.h>

#include "base/hash.h"
#include "comments/decisions_private.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "users/notice.h"

enum { TOLD_ALL = 1000, TOLD_ONE_IN = 100, TOLD_LIKES = 16 };

/* The people who are told of one comment. */
struct told {
    struct decisions *decisions;
    const struct decision *decided;
    const struct comment_place *place;
    int64_t time; /* when it became visible */
    int64_t users[2 + EDIT_TOLD_MAX];
    size_t count;
};

/* Each user once, and nobody of what he has written himself. */
static int tell(struct told *told, int64_t user, enum notice_kind kind) {
    const struct decisions_options *options = &told->decisions->options;
    struct buffer *value = &told->decisions->value;
    uint8_t bytes[NOTICE_KEY_SIZE];
    if (user == told->place->comment.user) return 0;
    for (size_t i = 0; i < told->count; i++)
        if (told->users[i] == user) return 0;
    told->users[told->count++] = user;
    notice_key_write(bytes,
                     &(struct notice_key){.user = user, .time = told->time, .kind = kind, .number = told->place->id});
    buffer_clear(value);
    notice_encode(value, &(struct notice){.what = kind == NOTICE_OF_REPLY ? NOTICE_REPLY : NOTICE_MENTION,
                                          .user = told->place->comment.user,
                                          .subject = told->decided->command->subject,
                                          .comment = told->place->id,
                                          .time = told->time});
    return options->write(options->context, &TOPIC_NOTICES, hash_user_partition(user, options->user_partitions), bytes,
                          sizeof bytes, value->data, value->size);
}

/* An author with thousands of comments or answers is not told of each. */
static bool is_worth_telling(int64_t count) { return count <= TOLD_ALL || count % TOLD_ONE_IN == 0; }

static int tell_all(struct told *told, const struct comment_place *answered, const struct event_longs *mentions) {
    const struct subject_state *subject = &told->decided->thread.subject;
    int code = 0;
    if (answered && answered->comment.state == COMMENT_VISIBLE && is_worth_telling(answered->comment.replies))
        code = tell(told, answered->comment.user, NOTICE_OF_REPLY);
    if (!code && is_worth_telling(subject->visible)) code = tell(told, subject->owner, NOTICE_OF_REPLY);
    for (size_t i = 0; !code && i < mentions->count; i++) code = tell(told, mentions->items[i], NOTICE_OF_MENTION);
    return code;
}

/* The comment that one answers; NULL: it is a root. */
static const struct comment_place *answered_by(const struct thread *thread, const struct comment_place *place) {
    if (!place->comment.root) return NULL;
    if (place == &thread->made) return &thread->about;
    return thread->answered.id ? &thread->answered : &thread->root;
}

/* An edit is news to those whom no former version mentions; and who the comment answers has heard of it. */
static int tell_edit(struct told *told, const struct event_longs *before) {
    const struct thread *thread = &told->decided->thread;
    const struct comment_place *answered = answered_by(thread, told->place);
    struct edit_mentions all;
    int code = 0;
    edit_mentions_of(&all, before, &told->decided->command->mentions);
    told->users[told->count++] = thread->subject.owner;
    if (answered) told->users[told->count++] = answered->comment.user;
    for (size_t i = all.told; !code && i < all.count; i++) code = tell(told, all.users[i], NOTICE_OF_MENTION);
    return code;
}

/* The first likes, then one each time that they have doubled: a notice says how many there are. */
static bool is_like_worth_telling(int64_t likes) { return likes <= TOLD_LIKES || !(likes & (likes - 1)); }

static int tell_like(struct decisions *decisions, const struct decision *decided) {
    const struct decisions_options *options = &decisions->options;
    const struct comment_command *command = decided->command;
    const struct thread *thread = &decided->thread;
    int64_t user = command->comment ? thread->about.comment.user : thread->subject.owner;
    int64_t likes = command->comment ? thread->about.comment.likes : thread->subject.likes;
    uint8_t key[NOTICE_KEY_SIZE];
    if (user < 0 || user == command->user || !is_like_worth_telling(likes)) return 0;
    notice_key_write(key, &(struct notice_key){user, decided->arrived_ms, NOTICE_OF_LIKE, command->user});
    buffer_clear(&decisions->value);
    notice_encode(&decisions->value, &(struct notice){.what = NOTICE_LIKE,
                                                      .user = command->user,
                                                      .subject = command->subject,
                                                      .comment = command->comment,
                                                      .time = decided->arrived_ms,
                                                      .likes = likes});
    return options->write(options->context, &TOPIC_NOTICES, hash_user_partition(user, options->user_partitions), key,
                          sizeof key, decisions->value.data, decisions->value.size);
}

static int not_written(int code, struct error *error) {
    return code ? error_set(error, code, "a notice could not be written: %s", strerror(-code)) : 0;
}

/* Comments that services write, such as imported ones, are news to nobody. */
int decisions_write_notices(struct decisions *decisions, const struct decision *decided, struct error *error) {
    const struct thread *thread = &decided->thread;
    const struct comment_command *command = decided->command;
    struct told told = {.decisions = decisions, .decided = decided, .time = decided->arrived_ms};
    struct comment_text text = {.mentions = command->mentions};
    int code = 0;
    if (command->kind == COMMENT_COMMAND_LIKE && thread->reaction_changed && !comment_command_imports(command))
        return not_written(tell_like(decisions, decided), error);
    if (thread->edited && thread->about.comment.state != COMMENT_VISIBLE) return 0;
    if (thread->made.changed) {
        if (thread->made.comment.state != COMMENT_VISIBLE || command->role == COMMENT_COMMAND_SERVICE) return 0;
        told.place = &thread->made;
        told.time = ids_time_ms(thread->made.id);
    } else if (thread->approved || thread->edited) {
        told.place = &thread->about;
        code = decisions_text(decisions, decided, thread->about.id, &text, error);
        if (code) return code;
    } else {
        return 0;
    }
    // The text is valid until the store is read again: nothing here does.
    code = thread->edited ? tell_edit(&told, &text.mentions)
                          : tell_all(&told, answered_by(thread, told.place), &text.mentions);
    return not_written(code, error);
}

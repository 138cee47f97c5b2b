/* Two records, as anybody may have written them: what daemons calculate from a state that they have read and a command about it never
 * overflows. The first two bytes say how long the first record is. */
#include <string.h>

#include "comments/rules.h"
#include "event/codec.h"
#include "feed/names_rules.h"
#include "feed/rules.h"
#include "fuzz.h"
#include "router/consents.h"
#include "router/friendship.h"
#include "router/presence.h"
#include "router/report_clock.h"

#define NOW_MS INT64_C(1750000000000)

struct piece {
    const uint8_t *data;
    size_t size;
};

static struct codec *codec, *codec_of_state;

#define READ(NAME, PIECE) (event_decode_##NAME(codec, (PIECE).data, (PIECE).size, &NAME, NULL) == 0)
#define READ_STATE(NAME, PIECE) (event_decode_##NAME(codec_of_state, (PIECE).data, (PIECE).size, &NAME, NULL) == 0)

static void of_router(struct piece state, struct piece piece) {
    struct location location;
    struct sharing sharing;
    struct friend_command friend_command;
    struct friendship friendship, next;
    if (READ(location, piece)) {
        struct report_clock *clock = report_clock_new(true, 1, 60000, 3600000);
        struct presence *presence = presence_new(600000);
        if (presence_valid(&location) && report_clock_accept(clock, 0, &location))
            presence_apply(presence, &location, location.time, NULL, NULL);
        presence_free(presence);
        report_clock_free(clock);
    }
    if (READ(sharing, piece)) {
        struct consents *consents = consents_new(1, 600000);
        int64_t offset;
        consents_attach(consents, 0);
        for (int i = 0; i < 2; i++) consents_record(consents, 0, 7, &sharing, i, NOW_MS);
        consents_refuses(consents, 0, 7, 0, NOW_MS, &offset);
        consents_free(consents);
    }
    bool has = READ_STATE(friendship, state);
    if (!has) friendship = (struct friendship){.state = FRIENDSHIP_NONE};
    if (READ(friend_command, piece) && friendship_command_valid(&friend_command))
        friendship_decide(&friendship, &friend_command, false, &next);
}

static void copy_name(char to[HANDLE_SIZE], struct event_text text) {
    size_t size = text.size < HANDLE_SIZE - 1 ? text.size : HANDLE_SIZE - 1;
    if (size) memcpy(to, text.data, size);
    to[size] = '\0';
}

static void of_feed(struct piece state, struct piece piece) {
    struct follower_command follower_command;
    struct follow follow = {.since = 0};
    struct user_name user_name;
    struct name_command name_command;
    struct name_of_user name = {.number = 0};
    struct name_of_handle handle = {.user = -1};
    struct name_step step;
    struct name_steps steps = {.count = 0};
    bool follows = READ_STATE(follow, state);
    if (READ(follower_command, piece) && !follower_command_complaint(&follower_command))
        follower_decide(&follower_command, &(struct follower_now){.follows = follows, .since = follow.since}, 100);
    if (READ_STATE(user_name, state)) {
        name.number = user_name.number;
        name.granted = user_name.granted;
        copy_name(name.handle, user_name.handle);
        copy_name(name.wish, user_name.wish);
        copy_name(name.refused, user_name.refused);
    }
    if (!READ(name_command, piece) || name_command_complaint(&name_command, &step)) return;
    if (name_is_for_handle(step.kind))
        name_decide_handle(&handle, &step, &steps);
    else
        name_decide_user(&name, &step, &steps);
}

static void of_comments(struct piece state, struct piece piece) {
    struct comment_command comment_command;
    struct comment_subject comment_subject;
    struct comment comment;
    struct thread thread = {
        .registered = true, .made.id = 5, .now_ms = NOW_MS, .rate = {.interval_ms = 1000, .burst = 60}};
    if (READ_STATE(comment_subject, state))
        thread.subject = (struct subject_state){.owner = comment_subject.owner,
                                                .level = comment_subject.level,
                                                .roots = comment_subject.roots,
                                                .visible = comment_subject.visible,
                                                .held = comment_subject.held,
                                                .likes = comment_subject.likes,
                                                .structure = comment_subject.structure,
                                                .counters = comment_subject.counters};
    if (READ_STATE(comment, state)) thread.about = (struct comment_place){.id = 3, .comment = comment};
    if (READ(comment_command, piece) && !comment_command_complaint(&comment_command))
        thread_decide(&comment_command, &thread);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    if (!codec) codec = codec_new();
    if (!codec_of_state) codec_of_state = codec_new();
    size_t first = (size_t)data[0] | (size_t)data[1] << 8;
    if (first > size - 2) first = size - 2;
    struct piece state = {data + 2, first}, piece = {data + 2 + first, size - 2 - first};
    of_router(state, piece);
    of_feed(state, piece);
    of_comments(state, piece);
    return 0;
}

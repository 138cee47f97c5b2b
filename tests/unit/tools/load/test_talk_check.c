/* Threads that a simulation checks: pages that are right pass, and each fault is found. */
#include "tools/load/talk_check.h"
#include "unit/kit/kit.h"

enum { FAR = 1000, MARGIN = 30 };

/* Roots 10, 20, 30 (deleted) with the replies 11 and 12 under 10; 12 answers 11. All outcomes are known at their id's time. */
static struct talk_thread *some_talk(void) {
    struct talk_thread *talk = talk_new(5);
    const struct talk_comment comments[] = {
        {.id = 10, .user = 1, .floor = 1, .known_us = 10, .text = talk_hash("10")},
        {.id = 11, .user = 2, .root = 10, .answers = 10, .floor = 1, .known_us = 11, .text = talk_hash("11")},
        {.id = 12, .user = 1, .root = 10, .answers = 11, .floor = 2, .known_us = 12, .text = talk_hash("12")},
        {.id = 20, .user = 3, .floor = 2, .known_us = 20, .text = talk_hash("20")},
        {.id = 30, .user = 4, .floor = 3, .known_us = 30, .text = talk_hash("30"), .deleting = true, .deleted_us = 40},
    };
    for (size_t i = 0; i < ARRAY_SIZE(comments); i++) talk_add(talk, &comments[i]);
    talk_like(talk_find(talk, 20), 7, true);
    talk_like(talk_find(talk, 20), 8, true);
    talk_like(talk_find(talk, 20), 8, true);
    talk_like(talk_find(talk, 20), 7, false);
    return talk;
}

static struct talk_item item_of(const struct talk_thread *talk, int64_t id) {
    const struct talk_comment *known = talk_find(talk, id);
    return (struct talk_item){.id = id,
                              .user = known->user,
                              .root = known->root,
                              .answers = known->answers,
                              .floor = known->floor,
                              .likes = (int64_t)known->liker_count,
                              .reply_count = id == 10   ? 2
                                             : id == 11 ? 1
                                                        : 0,
                              .deleted = known->deleting,
                              .text = known->text};
}

struct look {
    struct talk_thread *talk;
    struct talk_item items[8];
    size_t count;
    int64_t total;
};

static struct look whole(void) {
    static const int64_t IDS[] = {10, 11, 12, 20, 30};
    struct look look = {.talk = some_talk(), .count = ARRAY_SIZE(IDS), .total = 4};
    for (size_t i = 0; i < look.count; i++) look.items[i] = item_of(look.talk, IDS[i]);
    return look;
}

static struct look newest(void) {
    static const int64_t IDS[] = {30, 20, 10};
    struct look look = {.talk = some_talk(), .count = ARRAY_SIZE(IDS)};
    for (size_t i = 0; i < look.count; i++) look.items[i] = item_of(look.talk, IDS[i]);
    return look;
}

static void expect(struct look *look, bool at_the_end, int64_t asked_us, const char *fault) {
    FREED_BUFFER why = {.size = 0};
    bool wrong = at_the_end ? talk_whole_wrong(look->talk, look->items, look->count, look->total, &why)
                            : talk_page_wrong(look->talk, look->items, look->count, asked_us, MARGIN, &why);
    assert_int_equal(wrong, fault != NULL);
    if (fault) assert_non_null(strstr(buffer_cstring(&why), fault));
    talk_free(look->talk);
}

#define WHOLE(fault, ...)                                                                                              \
    do {                                                                                                               \
        struct look look = whole();                                                                                    \
        __VA_ARGS__;                                                                                                   \
        expect(&look, true, 0, fault);                                                                                 \
    } while (0)
#define NEWEST(at, fault, ...)                                                                                         \
    do {                                                                                                               \
        struct look look = newest();                                                                                   \
        __VA_ARGS__;                                                                                                   \
        expect(&look, false, at, fault);                                                                               \
    } while (0)

TEST(a_whole_thread_is_exact) {
    WHOLE(NULL, (void)0);
    WHOLE("another number of likes", look.items[3].likes++);
    WHOLE("another number of replies", look.items[0].reply_count--);
    WHOLE("another text", look.items[1].text++);
    WHOLE("of another user", look.items[1].user++);
    WHOLE("another number than when it was written", look.items[3].floor++);
    WHOLE("deleted by nobody", look.items[3].deleted = true);
    WHOLE("still there after its deletion", look.items[4].deleted = false);
    WHOLE("another number of comments", look.total++);
    WHOLE("30: is missing", look.count--);
    WHOLE("nobody has written this", look.items[4].id = 99);
    WHOLE("twice", look.items[4] = look.items[3]);
    WHOLE("out of order", struct talk_item item = look.items[1]; look.items[1] = look.items[2]; look.items[2] = item);
}

TEST(a_page_shows_what_is_certain) {
    NEWEST(FAR, NULL, (void)0);
    NEWEST(FAR, "out of order", look.items[1] = look.items[2]; look.count = 2);
    NEWEST(FAR, "the newest comments are missing", look.count = 0);
    NEWEST(FAR, "still there after its deletion", look.items[0].deleted = false);
    NEWEST(FAR, "in the place of another", look.items[1].id = 99);
    // A comment and a deletion that are not certain may be there or not.
    NEWEST(30 + MARGIN - 1, NULL, look.count = 2; memmove(look.items, look.items + 1, 2 * sizeof *look.items));
    NEWEST(40 + MARGIN - 1, NULL, look.items[0].deleted = false);
    // Somebody's comment whose outcome is not known yet.
    NEWEST(FAR, NULL, memmove(look.items + 1, look.items, 3 * sizeof *look.items); look.count++; look.items[0].id = 99;
           look.items[0].floor = 4);
}

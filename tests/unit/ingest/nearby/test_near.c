/* Friends of the router's page, as callers get them. The gateway's copies are played here: their functions are this file's own. */
#include "ingest/nearby/parts.h"
#include "unit/kit/kit.h"
#include "users/user_copies.h"

enum { CALLER = 1, OFF = 8, PLAIN = 9, MUTED = 10 };

struct sharing_modes *user_copies_modes(struct user_copies *copies) {
    return NULL;
}
struct profiles *user_copies_profiles(struct user_copies *copies) {
    return NULL;
}
struct mutes *user_copies_mutes(struct user_copies *copies) {
    return NULL;
}

enum sharing_mode sharing_modes_find(const struct sharing_modes *modes, int64_t user, int64_t *offset) {
    return user == OFF ? SHARING_OFF : SHARING_FRIENDS;
}

bool sharing_modes_details(const struct sharing_modes *modes, int64_t user) { return user != PLAIN; }
bool mutes_has(const struct mutes *mutes, int64_t user, int64_t other) { return user == CALLER && other == MUTED; }

static void put(struct buffer *body, const struct near_friend *near, struct profiles *profiles) {
    buffer_format(body, "{\"user\":%" PRId64, near->user);
    if (near->accuracy >= 0) buffer_format(body, ",\"accuracy\":%" PRId64, near->accuracy);
    json_member_details(body, &near->details);
    buffer_byte(body, '}');
}

/* What becomes of friends with these ids and members; NULL: the page is refused. */
static const char *shown(struct buffer *body, int64_t first, const char *members, int64_t second,
                         const char *other_members) {
    const struct nearby_gateway nearby = {.copies = NULL};
    FREED_BUFFER text = {.size = 0};
    static const char FORMAT[] = "{\"user\":%" PRId64 ",\"lat\":1.5,\"lng\":2.5,\"time\":3,\"distance_m\":4%s}";
    buffer_string(&text, "{\"items\":[");
    buffer_format(&text, FORMAT, first, members);
    buffer_byte(&text, ',');
    buffer_format(&text, FORMAT, second, other_members);
    buffer_string(&text, "]}");
    FREED_JSON *page = json_parse((const char *)text.data, text.size, NULL);
    assert_non_null(page);
    buffer_clear(body);
    return near_put_friends(&nearby, CALLER, body, page, put) ? buffer_cstring(body) : NULL;
}

TEST(details_are_those_of_friends_who_show_them) {
    FREED_BUFFER body = {.size = 0};
    static const char SAID[] = ",\"accuracy\":5,\"battery\":0.5,\"activity\":\"still\"";
    assert_string_equal(shown(&body, 2, SAID, PLAIN, SAID),
                        "[{\"user\":2,\"accuracy\":5,\"battery\":0.5,\"activity\":\"still\"},{\"user\":9}]");
    assert_string_equal(shown(&body, OFF, SAID, MUTED, SAID), "[]");
}

/* While routers are of the next release, and gateways still of this one. */
TEST(an_activity_of_a_later_router_is_unknown) {
    FREED_BUFFER body = {.size = 0};
    assert_string_equal(shown(&body, 2, ",\"battery\":0.5,\"activity\":\"flying\"", 3, ""),
                        "[{\"user\":2,\"battery\":0.5,\"activity\":\"unknown\"},{\"user\":3}]");
    assert_null(shown(&body, 2, ",\"activity\":7", 3, ""));
    assert_null(shown(&body, 2, ",\"battery\":2", 3, ""));
}

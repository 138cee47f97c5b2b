/* Pages of notices become lists: what is gathered, who is named, and how many are unread. */
#include "posts/notice_list.h"
#include "unit/kit/kit.h"

#define NOTICE(id, what, user, subject, comment, time)                                                                 \
    "{\"id\":\"" id "\",\"what\":\"" what "\",\"user\":" user ",\"subject\":" subject ",\"comment\":" comment          \
    ",\"time\":" time "}"

static char *gathered(const char *items, const char *read) {
    FREED char *text = mem_format("{\"items\":[%s],\"next\":\"5.1.1\",\"read\":%s}", items, read);
    json_t *page = json_parse(text, strlen(text), &failure);
    assert_non_null(page);
    notice_list_gather(page);
    FREED_BUFFER out = {0};
    json_put_value(&out, page);
    json_decref(page);
    return mem_string(buffer_cstring(&out));
}

TEST(test_follows_of_a_day_are_one_with_three_names) {
    FREED char *list = gathered(
        NOTICE("86400009.1.5", "follow", "5", "null", "null", "86400009") "," NOTICE(
            "86400008.1.4", "follow", "4", "null", "null",
            "86400008") "," NOTICE("86400007.4.9", "request", "9", "null", "null",
                                   "86400007") "," NOTICE("86400006.1.3", "follow", "3", "null", "null",
                                                          "86400006") "," NOTICE("86400005.1.2", "follow", "2", "null",
                                                                                 "null",
                                                                                 "86400005") "," NOTICE("86399999.1.1",
                                                                                                        "follow", "1",
                                                                                                        "null", "null",
                                                                                                        "86399999"),
        "null");
    assert_string_equal(list,
                        "{\"items\":["
                        "{\"id\":\"86400009.1.5\",\"what\":\"follow\",\"user\":5,\"subject\":null,\"comment\":null,"
                        "\"time\":86400009,\"users\":[5,4,3],\"count\":4},"
                        "{\"id\":\"86400007.4.9\",\"what\":\"request\",\"user\":9,\"subject\":null,\"comment\":null,"
                        "\"time\":86400007},"
                        "{\"id\":\"86399999.1.1\",\"what\":\"follow\",\"user\":1,\"subject\":null,\"comment\":null,"
                        "\"time\":86399999}],\"unread\":3}");
}

#define LIKE(id, user, comment, time, likes)                                                                           \
    "{\"id\":\"" id "\",\"what\":\"like\",\"user\":" user ",\"subject\":\"post:1\",\"comment\":" comment               \
    ",\"time\":" time ",\"likes\":" likes "}"

TEST(test_likes_say_how_many_there_are) {
    FREED char *list =
        gathered(LIKE("9.6.4", "4", "null", "9", "64") "," LIKE("8.6.4", "4", "\"7\"", "8", "1") "," LIKE(
                     "7.6.3", "3", "null", "7", "32") "," LIKE("6.6.4", "4", "null", "6", "31"),
                 "\"8.6.4\"");
    assert_string_equal(list, "{\"items\":[{\"id\":\"9.6.4\",\"what\":\"like\",\"user\":4,\"subject\":\"post:1\","
                              "\"comment\":null,\"time\":9,\"users\":[4,3],\"count\":64},"
                              "{\"id\":\"8.6.4\",\"what\":\"like\",\"user\":4,\"subject\":\"post:1\",\"comment\":\"7\","
                              "\"time\":8}],\"unread\":1}");
}

TEST(test_mentions_and_replies_stay_one_each) {
    FREED char *list = gathered(NOTICE("9.3.7", "reply", "5", "\"post:1\"", "\"7\"", "9") "," NOTICE(
                                    "8.3.6", "reply", "5", "\"post:1\"", "\"6\"",
                                    "8") "," NOTICE("7.2.1", "mention", "5", "\"post:1\"", "null", "7"),
                                "\"9.4.1\"");
    json_t *read = json_parse(list, strlen(list), &failure);
    assert_int_equal(json_array_size(json_object_get(read, "items")), 3);
    assert_int_equal(json_integer_value(json_object_get(read, "unread")), 1); // at the same time, a lower kind is newer
    json_decref(read);
}

TEST(test_arrivals_and_departures_stay_one_each) {
    FREED char *list = gathered(NOTICE("9.8.7", "arrived", "5", "null", "null", "9") "," NOTICE(
                                    "8.8.6", "arrived", "5", "null", "null",
                                    "8") "," NOTICE("7.9.1", "left", "6", "null", "null",
                                                    "7") "," NOTICE("6.9.2", "left", "5", "null", "null", "6"),
                                "null");
    FREED_JSON *read = json_parse(list, strlen(list), &failure);
    assert_int_equal(json_array_size(json_object_get(read, "items")), 4);
    assert_int_equal(json_integer_value(json_object_get(read, "unread")), 4);
}

TEST(test_an_empty_page_is_an_empty_list) {
    FREED char *list = gathered("", "null");
    assert_string_equal(list, "{\"items\":[],\"unread\":0}");
}

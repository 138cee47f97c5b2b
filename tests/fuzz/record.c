/* Every other topic carries records in the wire format. The record that is decoded is encoded, and decodes as the same; and
 * whatever it is, the JSON for people is made of it by avro-c, or it is refused. */
#include <errno.h>
#include <string.h>

#include "event/codec.h"
#include "fuzz.h"
#include "json/json.h"

/* The same for each record, but for its type. */
#define CHECK(NAME)                                                                                                    \
    do {                                                                                                               \
        struct NAME record;                                                                                            \
        error.text[0] = '\0';                                                                                          \
        buffer_clear(&first);                                                                                          \
        buffer_clear(&second);                                                                                         \
        int code = event_decode_##NAME(codec, data, size, &record, &error);                                            \
        fuzz_require(code == 0 || ((code == -EBADMSG || code == -ENOENT) && error.text[0]));                           \
        if (code) break;                                                                                               \
        event_encode_##NAME(&first, &record);                                                                          \
        fuzz_require(event_decode_##NAME(codec, first.data, first.size, &record, &error) == 0);                        \
        event_encode_##NAME(&second, &record);                                                                         \
        fuzz_require(first.size == second.size && !memcmp(first.data, second.data, first.size));                       \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct codec *codec;
    static struct buffer first, second;
    struct error error = {.text = ""};
    if (!codec) codec = codec_new();
    CHECK(location);
    CHECK(friend_command);
    CHECK(friendship);
    CHECK(profile);
    CHECK(sharing);
    CHECK(follow_command);
    CHECK(follow);
    CHECK(follow_refusal);
    CHECK(follower_command);
    CHECK(visibility);
    CHECK(notice_command);
    CHECK(notice_settings);
    CHECK(friend_approach);
    CHECK(directory_command);
    CHECK(directory_entry);
    CHECK(device);
    CHECK(device_end);
    CHECK(link_command);
    CHECK(user_links);
    CHECK(place_command);
    CHECK(user_place);
    CHECK(place_state);
    CHECK(place_event);
    CHECK(place_told);
    CHECK(post_command);
    CHECK(post);
    CHECK(post_text);
    CHECK(name_command);
    CHECK(user_name);
    CHECK(handle_user);
    CHECK(notice);
    CHECK(comment_command);
    CHECK(comment_subject);
    CHECK(comment);
    CHECK(comment_text);
    CHECK(comment_reaction);
    CHECK(comment_refusal);
    CHECK(comment_ban);
    CHECK(moderation_entry);
    CHECK(comment_wide);
    CHECK(location_reports);
    CHECK(nearby_mute);
    CHECK(audit_entry);
    buffer_clear(&first);
    error.text[0] = '\0';
    int code = event_to_json(codec, data, size, &first, &error);
    fuzz_require(code == 0 || ((code == -EBADMSG || code == -ENOENT) && error.text[0]));
    return 0;
}

#include "feed/told.h"

#include <errno.h>

#include "base/hash.h"
#include "users/user_key.h"

static void of_approach(const struct friend_approach *approach, struct notice_key *key, struct notice *notice) {
    key->kind = NOTICE_OF_APPROACH;
    key->time = approach->time;
    key->number = approach->friend;
    *notice = (struct notice){.what = NOTICE_APPROACH,
                              .user = approach->friend,
                              .subject = {"", 0},
                              .time = approach->time,
                              .distance_dm = approach->distance_dm,
                              .place = {"", 0}};
}

/* Two places may be entered by one report: the event's number tells them apart. */
static void of_place(const struct place_told *told, struct notice_key *key, struct notice *notice) {
    bool arrived = told->what == PLACE_TOLD_ARRIVED;
    key->kind = arrived ? NOTICE_OF_ARRIVED : NOTICE_OF_LEFT;
    key->time = told->time;
    key->number = (int64_t)(hash_fold(hash_fold((uint64_t)told->user) ^ (uint64_t)told->number) & (uint64_t)INT64_MAX);
    *notice = (struct notice){.what = arrived ? NOTICE_ARRIVED : NOTICE_LEFT,
                              .user = told->user,
                              .subject = {"", 0},
                              .time = told->time,
                              .place = told->name};
}

int told_read(struct codec *codec, const struct kafka_record *record, struct notice_key *key, struct notice *notice,
              struct error *error) {
    struct friend_approach approach;
    struct place_told told;
    if (!record->value) return error_set(error, -EBADMSG, "such a record has a value");
    if (user_key_read(record, &key->user, error)) return -EBADMSG;
    int code = event_decode_friend_approach(codec, record->value, record->value_size, &approach, error);
    if (!code) {
        of_approach(&approach, key, notice);
        return 0;
    }
    if (code != -ENOENT) return code;
    code = event_decode_place_told(codec, record->value, record->value_size, &told, error);
    if (code) return -EBADMSG;
    of_place(&told, key, notice);
    return 0;
}

#include "users/bans.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "users/user_key.h"

struct bans {
    struct codec *codec;
    struct map *users; /* user -> until, ms; INT64_MAX: for ever */
};

struct bans *bans_new(void) {
    return MEM_NEW(&(struct bans){.codec = codec_new(), .users = map_new()});
}

void bans_free(struct bans *bans) {
    if (!bans) return;
    codec_free(bans->codec);
    map_free(bans->users);
    free(bans);
}

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct bans *bans = context;
    struct comment_ban ban;
    int64_t user = -1;
    int code = user_key_read(record, &user, error);
    if (!code && record->value)
        code = event_decode_comment_ban(bans->codec, record->value, record->value_size, &ban, error);
    if (code) return code;
    if (record->value)
        *map_put(bans->users, (uint64_t)user, NULL) = (uint64_t)(ban.until > 0 ? ban.until : INT64_MAX);
    else
        map_remove(bans->users, (uint64_t)user, NULL);
    return 0;
}

static void forget(void *context) {
    struct bans *bans = context;
    map_free(bans->users);
    bans->users = map_new();
}

struct copy_definition bans_copy(struct bans *bans) {
    return (struct copy_definition){.topic = &TOPIC_BANS, .context = bans, .apply = apply, .forget = forget};
}

bool bans_has(const struct bans *bans, int64_t user, int64_t now_ms) {
    const uint64_t *until = map_find(bans->users, (uint64_t)user);
    return until && now_ms < (int64_t)*until;
}

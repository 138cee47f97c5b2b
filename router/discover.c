#include "router/discover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "budget/rates.h"
#include "base/text.h"
#include "copies/copies.h"
#include "event/codec.h"
#include "event/topics.h"
#include "json/json.h"
#include "router/strangers.h"
#include "users/ends.h"
#include "users/user_key.h"

enum { SECOND_MS = 1000, TURN_MS = 60000, TURNS_KEPT = 10, TENTH_BUDGET = 5000 };

struct discover {
    struct discover_options options;
    struct strangers *strangers;
    struct ends *ends;   /* of public modes that end by themselves */
    struct rates *rates; /* of questions: here, because all of a user's come here, by whatever way */
    struct codec *codec;
    struct copies *copies;
    struct stranger *list; /* room for discover.max */
    struct id_list friends;
};

/* ---- who shares publicly, and where they are ---- */

static void look(struct discover *discover, int64_t user, int64_t received_ms) {
    const struct presence_slot *slot = presence_find(discover->options.presence, user);
    if (!slot || slot->left)
        strangers_hide(discover->strangers, user);
    else
        strangers_place(discover->strangers, user, slot->at, slot->time, received_ms);
}

void discover_event(struct discover *discover, int64_t user, int64_t received_ms) {
    if (strangers_has(discover->strangers, user)) look(discover, user, received_ms);
}

/* The copy of sharing. A record that cannot be read changes nothing here: the owner of its partition sends it to the dead letters. */
static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct discover *discover = context;
    struct sharing sharing = {.mode = SHARING_OFF}; // a tombstone
    int64_t user = -1;
    if (user_key_read(record, &user, error)) return 0;
    if (record->value && event_decode_sharing(discover->codec, record->value, record->value_size, &sharing, error))
        return 0;
    bool ended = sharing.until && sharing.until <= report_clock_now(discover->options.clock);
    ends_set(discover->ends, user, sharing.mode == SHARING_PUBLIC && !ended ? sharing.until : 0);
    if (sharing.mode != SHARING_PUBLIC || ended) {
        strangers_drop(discover->strangers, user);
    } else if (!strangers_has(discover->strangers, user)) {
        strangers_add(discover->strangers, user);
        look(discover, user, clock_wall_ms());
    }
    return 0;
}

static void ready(void *context) {
    const struct discover *discover = context;
    discover->options.ready(discover->options.context);
}

static void forget(void *context) {
    struct discover *discover = context;
    strangers_clear(discover->strangers);
    ends_free(discover->ends);
    discover->ends = ends_new();
}

/* Thousands may end in the same second: the others are dropped in the next tenths, and hidden until then. */
static void end_due(struct discover *discover) {
    int64_t now = report_clock_now(discover->options.clock), user, time;
    for (size_t i = 0; i < TENTH_BUDGET && ends_take(discover->ends, now, &user, &time); i++)
        strangers_drop(discover->strangers, user);
}

static bool ended(const struct discover *discover, int64_t user) {
    int64_t end = ends_of(discover->ends, user);
    return end && end <= report_clock_now(discover->options.clock);
}

void discover_tenth(struct discover *discover) {
    end_due(discover);
    strangers_advance(discover->strangers, clock_wall_ms(), report_clock_now(discover->options.clock), TENTH_BUDGET);
    discover->options.metrics->public_users->value = (double)strangers_count(discover->strangers);
    discover->options.metrics->public_placed->value = (double)strangers_placed(discover->strangers);
}

/* ---- answers ---- */

/* Where a page begins: behind this place of the list of this turn, "TURN-DISTANCE-USER". */
struct cursor {
    int64_t turn, distance_dm, user;
};

static bool cursor_read(const char *text, struct cursor *cursor) {
    int64_t *const numbers[] = {&cursor->turn, &cursor->distance_dm, &cursor->user};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        size_t size = strcspn(text, "-");
        if (!text_number(text, size, INT64_MAX, numbers[i])) return false;
        text += size;
        if (*text != (i + 1 < ARRAY_SIZE(numbers) ? '-' : '\0')) return false;
        text++;
    }
    return true;
}

static bool behind(const struct stranger *stranger, const struct cursor *cursor) {
    if (stranger->distance_dm != cursor->distance_dm) return stranger->distance_dm > cursor->distance_dm;
    return stranger->user > cursor->user;
}

/* The facts that decide who is hidden from a user. */
struct asker {
    struct discover *discover;
    int64_t user;
    int32_t partition;
    int code; /* of the first failure of the store */
    struct error error;
};

/* Friends have a list of their own, and of two users of whom one blocks the other neither sees the other. */
static bool hidden(void *context, int64_t user) {
    struct asker *asker = context;
    struct discover *discover = asker->discover;
    struct friendship half;
    struct error error;
    if (asker->code || ended(discover, user)) return true;
    int code = graph_half_beside(discover->options.graph, asker->partition, asker->user, &discover->friends, user,
                                 false, &half, &error);
    if (code) {
        asker->code = code;
        asker->error = error;
        return true;
    }
    return half.blocked_by_me || half.blocked_by_them || half.state == FRIENDSHIP_FRIENDS;
}

static void put_stranger(struct buffer *body, const struct stranger *stranger) {
    json_member_int(body, "{\"user\":", stranger->user);
    json_member_place(body, stranger->at.lat, stranger->at.lng);
    buffer_format(body, ",\"distance_m\":%" PRId64 ".%d,\"time\":%" PRId64 "}", stranger->distance_dm / 10,
                  (int)(stranger->distance_dm % 10), stranger->time);
}

static void reply_list(struct discover *discover, struct http_request *request, size_t count,
                       const struct cursor *cursor, size_t limit) {
    const struct grid *grid = strangers_grid(discover->strangers);
    struct buffer body = {.data = NULL};
    size_t from = 0;
    while (from < count && !behind(&discover->list[from], cursor)) from++;
    size_t end = count - from > limit ? from + limit : count;
    buffer_string(&body, "{\"items\":[");
    for (size_t i = from; i < end; i++) {
        if (i > from) buffer_byte(&body, ',');
        put_stranger(&body, &discover->list[i]);
    }
    if (end < count) {
        const struct stranger *last = &discover->list[end - 1];
        buffer_format(&body, "],\"next\":\"%" PRId64 "-%" PRId64 "-%" PRId64 "\"", cursor->turn, last->distance_dm,
                      last->user);
    } else {
        buffer_string(&body, "],\"next\":null");
    }
    buffer_format(&body, ",\"cell\":{\"height\":%.17g,\"width\":%.17g}}", grid_height(grid), grid_width(grid));
    http_reply_json_free(request, 200, &body);
}

static void answer_from(struct discover *discover, struct http_request *request, int64_t user, struct geo_point at,
                        const struct cursor *cursor, size_t limit) {
    const struct discover_options *options = &discover->options;
    struct asker asker = {
        .discover = discover, .user = user, .partition = hash_user_partition(user, options->partitions)};
    struct strangers_question question = {
        .user = user,
        .at = at,
        .now_ms = report_clock_now(options->clock),
        .turn = cursor->turn,
        .max = (size_t)options->settings->discover_max,
        .context = &asker,
        .hidden = hidden,
    };
    asker.code = graph_friends(options->graph, asker.partition, user, &discover->friends, &asker.error);
    size_t count = asker.code ? 0 : strangers_list(discover->strangers, &question, discover->list);
    if (asker.code) {
        http_problem(request, 503, "store", asker.error.text, 1);
        return;
    }
    options->metrics->discovered->value++;
    reply_list(discover, request, count, cursor, limit);
}

void discover_answer(struct discover *discover, struct http_request *request, const struct rpc_asked *asked,
                     bool warm) {
    const struct discover_options *options = &discover->options;
    int64_t turn = clock_wall_ms() / TURN_MS, user = asked->numbers[RPC_USER];
    struct cursor cursor = {.turn = turn, .distance_dm = -1};
    const char *after = asked->texts[RPC_AFTER];
    if (after && !cursor_read(after, &cursor)) {
        rpc_bad_query(request);
        return;
    }
    if (cursor.turn > turn || cursor.turn < turn - TURNS_KEPT) cursor.turn = turn;
    if (rates_take(discover->rates, (uint64_t)user, 1, clock_coarse_ms())) {
        http_problem(request, 429, "too-many-questions", "the user asks faster than anybody may", 1);
        return;
    }
    const struct presence_slot *slot = presence_find(options->presence, user);
    if (!discover_ready(discover) || !warm)
        http_problem(request, 503, "restoring", "presence or sharing is still being read", 1);
    else if (!strangers_has(discover->strangers, user) || ended(discover, user))
        http_problem(request, 403, "not-public", "only who shares publicly is shown who else does", 0);
    else if (!presence_active(slot, report_clock_now(options->clock), options->inactive_ms))
        http_problem(request, 409, "no-position", "the user has not reported a position recently", 0);
    else
        answer_from(discover, request, user, slot->at, &cursor, (size_t)asked->numbers[RPC_LIMIT]);
}

/* ---- beginning and end ---- */

static struct strangers *new_strangers(const struct discover_options *options) {
    struct strangers_options strangers = {
        .precision = (int)options->settings->discover_precision,
        .delay_ms = options->settings->discover_delay_s * SECOND_MS,
        .inactive_ms = options->inactive_ms,
    };
    const uint8_t begin[16] = {'d', 'i', 's', 'c', 'o', 'v', 'e', 'r'};
    bytes_put_be64(strangers.key, hash_sip(begin, options->secret, strlen(options->secret)));
    bytes_put_be64(strangers.key + 8, hash_sip(strangers.key, options->secret, strlen(options->secret)));
    return strangers_new(&strangers);
}

int discover_new(const struct discover_options *options, struct discover **out, struct error *error) {
    struct discover *discover =
        MEM_NEW(&(struct discover){.options = *options, .strangers = new_strangers(options), .ends = ends_new()});
    discover->rates = rates_new(&(struct rates_options){
        .metrics = options->registry,
        .what = "discover_questions",
        .by = "user",
        .per_second = options->settings->discover_rate,
        .burst = options->settings->discover_burst,
    });
    discover->codec = codec_new();
    discover->list = mem_zero((size_t)options->settings->discover_max, sizeof *discover->list);
    *out = discover;
    const struct copy_definition definition = {
        .topic = &TOPIC_SHARING,
        .context = discover,
        .apply = apply,
        .forget = forget,
    };
    return copies_new(
        &(struct copies_options){
            .loop = options->loop,
            .settings = options->kafka,
            .partitions = options->partitions,
            .definitions = &definition,
            .count = 1,
            .log = options->log,
            .metrics = options->registry,
            .context = discover,
            .on_ready = ready,
        },
        &discover->copies, error);
}

bool discover_ready(const struct discover *discover) { return copies_ready(discover->copies); }

void discover_free(struct discover *discover) {
    if (!discover) return;
    copies_free(discover->copies);
    strangers_free(discover->strangers);
    ends_free(discover->ends);
    rates_free(discover->rates);
    codec_free(discover->codec);
    id_list_free(&discover->friends);
    free(discover->list);
    free(discover);
}

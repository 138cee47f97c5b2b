/* Between places/deciding.c, which knows the decider, and places/deciding_changes.c, which decides changes of places. */
#pragma once

#include "places/deciding.h"

struct deciding_part {
    int64_t decided;    /* all reports before are, of users with places; -1: none was since the partition was begun */
    int64_t arrived_ms; /* the last one of these, */
    int64_t arrived_us; /* which was decided then, by the monotonic clock */
};

struct deciding_places {
    struct deciding_places_options options;
    struct decider *decider;
    struct overlay *rows; /* the decider's, of `places`: records without their headers' meaning; size 0: a tombstone */
    struct standing *standing;
    struct deciding_part *parts;
    struct codec *codec, *row_codec;
    struct buffer value;
    struct metric *events, *covers, *users;
};

/* An item of the decider's queue. */
struct placing_item {
    bool change;     /* else a report */
    bool unreadable; /* a report: routers bury it */
    int64_t user, arrived_ms;
    struct location event; /* of a report */
    uint8_t *value;        /* of a change: the record, which is the item's */
    size_t size;
};

/* All of these: 0 or a negative errno code. */
int deciding_write_state(struct deciding_places *deciding, int32_t partition, struct standing_user *user,
                         struct error *error);
int deciding_write_place(struct deciding_places *deciding, int32_t partition, const struct place_key *key,
                         const struct user_place *place, struct error *error); /* NULL: a tombstone */
int deciding_write_event(struct deciding_places *deciding, int32_t partition, const struct place_event_key *key,
                         const struct place_event *event, struct error *error); /* NULL: a tombstone */
/* Where the next report of a user with places is, at least. */
int64_t deciding_position(const struct deciding_places *deciding, int32_t partition);

/* deciding_changes.c */
int deciding_read_change(struct deciding_places *deciding, const struct kafka_record *record, struct error *error);
int deciding_change(struct deciding_places *deciding, int32_t partition, const struct placing_item *item,
                    struct error *error);

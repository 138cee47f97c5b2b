/* What records of compacted topics say about pairs of users. Pure; a codec is for one thread. */
#ifndef CLI_HALF_RECORDS_H
#define CLI_HALF_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/codec.h"
#include "kafka/consumer.h"

/* The pair a, b is, or is no more. */
struct half_said {
    int64_t a, b;
    bool is;
};

/* 1: *said is what the record says; 0: it says nothing that the other half of the pair does not say, or is about something else;
 * -EBADMSG: it cannot be read. */
typedef int half_reader(struct codec *codec, const struct kafka_record *record, struct half_said *said);

half_reader half_of_friendship; /* of `friendships`: a < b */
half_reader half_of_follow;     /* of `follows`: a follows b */

/* A key of `follows`. */
enum follow_direction { FOLLOW_DIRECTION_FOLLOWS = 1, FOLLOW_DIRECTION_FOLLOWED = 2, FOLLOW_DIRECTION_MUTES = 3 };
struct follow_key {
    int64_t user, other;
    enum follow_direction direction;
};
bool follow_key_read(const void *key, size_t size, struct follow_key *out); /* false: it is none */

#endif

/* Reads from records of compacted topics which pairs of users there are. Pure; a codec is for one thread. */
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

#endif

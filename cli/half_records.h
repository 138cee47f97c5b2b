/* Reads from records of compacted topics which pairs of users there are. Pure; a codec is for one thread. */
#pragma once

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

/* These read one side alone: the own half of a pair a, b lies in the partition of a, its mirror in that of b. */
half_reader own_half_of_friendship; /* a has the friend b */
half_reader mirror_of_friendship;   /* b has the friend a: the same records, with the users swapped */
half_reader mirror_of_follow;       /* b has the follower a; half_of_follow reads the own half */

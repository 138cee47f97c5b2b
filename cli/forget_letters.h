/* A forgotten user's dead letters. Kafka deletes records only from the beginning of a queue, so a queue that has some of them is
 * rewritten: the letters of others that stand before the user's last one are copied to its end, with their times and headers, and when
 * Kafka has acknowledged these, everything up to the user's last one is deleted.
 *
 *     before  [ ada | ben | ada | eve ]        copied  [ ada | ben | ada | eve | ben ]        deleted  [ eve | ben ]
 *
 * A process that is killed in between leaves letters twice, and loses none. */
#ifndef CLI_FORGET_LETTERS_H
#define CLI_FORGET_LETTERS_H

#include <stdint.h>

#include "kafka/settings.h"

/* Blocking. *removed: how many letters went, in all queues. Letters are the user's as record_concerns says. */
int forget_letters(const struct kafka_settings *settings, int64_t user, int64_t *removed, struct error *error);

#endif

/* The users who were forgotten within the last four weeks, from the topic `erasures`, and when. One thread. */
#ifndef CLI_FORGOTTEN_H
#define CLI_FORGOTTEN_H

#include <stdbool.h>

#include "event/codec.h"
#include "kafka/consumer.h"

struct forgotten;

/* Reads the topic to its end. Blocking; fails as reader_run does. */
int forgotten_read(const struct kafka_settings *settings, int32_t partitions, struct forgotten **forgotten,
                   struct error *error);
void forgotten_free(struct forgotten *forgotten); /* NULL is fine */

/* The dead letter concerns one of them and was written before that one was forgotten: the same number may be somebody new's
 * later. */
bool forgotten_has(const struct forgotten *forgotten, struct codec *codec, const struct kafka_record *letter);

#endif

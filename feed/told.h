/* Routers tell users of where others are: each record of the topic `approaches` becomes a notice. Pure, but for the codec. */
#pragma once

#include "kafka/consumer.h"
#include "users/notice.h"

/* The notice's texts point into the record. The same event makes the same key. 0, or -EBADMSG: it is no such record. */
int told_read(struct codec *codec, const struct kafka_record *record, struct notice_key *key, struct notice *notice,
              struct error *error);

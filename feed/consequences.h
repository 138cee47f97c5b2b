/* The effects of a record of state, once it is stored: the functions of feed/topology.c's table (tasks/tasks.h). Pushes, backlogs and
 * requests are carried out by feed/effects.h. The context is the feed. */
#pragma once

#include "kafka/consumer.h"

void feed_see_half(void *feed, const struct kafka_record *record); /* its user's timeline changes */

int feed_half_is(void *feed, const struct kafka_record *record, struct error *error);
int feed_post_is(void *feed, const struct kafka_record *record, struct error *error);
int feed_text_is(void *feed, const struct kafka_record *record, struct error *error);
int feed_friendship_is(void *feed, const struct kafka_record *record, struct error *error);
int feed_timeline_is(void *feed, const struct kafka_record *record, struct error *error);
int feed_notice_is(void *feed, const struct kafka_record *record, struct error *error);
int feed_approach_is(void *feed, const struct kafka_record *record, struct error *error);
int feed_notice_settings_are(void *feed, const struct kafka_record *record, struct error *error);

int64_t feed_posts_held(void *feed, int32_t partition); /* pushes that take longer */
int64_t feed_notices_held(void *feed, int32_t partition);

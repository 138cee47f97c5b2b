/* Brings wide comments, posts, their texts and reports of posts and people into the search index.
 *
 *     Kafka --> gathering --> writing (worker thread) --> the index
 *               a batch       a batch, in one transaction with its offsets
 *
 * Each process is a member of the consumer group, so that gateways find it, and reads all partitions whatever the group gives it.
 * A batch that the disk refuses is tried again each second. An index that is damaged, as its writer or a search noticed, or that has
 * read further than the topic goes (the topic was made anew), is begun anew. Loop's thread. All that the options name must outlive the intake.
 */
#pragma once

#include "kafka/producer.h"
#include "moderation/index.h"
#include "service/service.h"

struct intake;

/* How many partitions of all topics are read: those that the index counts. */
int32_t intake_places(int32_t subjects, int32_t users);

struct intake_options {
    struct service *service;
    const char *group;
    int partitions, user_partitions; /* of the topics of comments, and of posts */
    struct index *index;
    struct kafka_producer *dead_letters; /* records that are no wide comments */
};

int intake_new(const struct intake_options *options, struct intake **intake, struct error *error);
bool intake_ready(const struct intake *intake); /* all is in the index that the topic held when it was asked last */
void intake_damaged(struct intake *intake);     /* a search found the index damaged: it is begun anew */
void intake_stop(struct intake *intake);        /* begins no more work */
bool intake_busy(const struct intake *intake);  /* a worker thread is at it; not to be freed */
void intake_free(struct intake *intake);        /* NULL is fine */

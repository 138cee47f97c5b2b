/* The threads of a partition, from the records of `comments`, `comment-texts` and `reactions` to the lines that `starling comments import`
 * reads: a subject, its comments in the order of their ids, each with its likes behind it, and at last its pins, the oldest first. Pure; one
 * thread. */
#pragma once

#include "event/codec.h"
#include "kafka/consumer.h"

struct comments_records;

struct comments_records *comments_records_new(void);
void comments_records_free(struct comments_records *records); /* NULL is fine */
void comments_records_clear(struct comments_records *records);

/* Copies a record; the last one of a key counts. Topics may come in any order. */
void comments_records_add(struct comments_records *records, const struct kafka_record *record);

struct comments_records_counts {
    int64_t subjects, comments, likes, broken;
};

/* Gives the lines, each with its end; stops when `line` returns not 0, and returns that. Adds to the counts. */
int comments_records_each(struct comments_records *records, struct codec *codec,
                          int (*line)(void *context, const struct buffer *line), void *context,
                          struct comments_records_counts *counts);

/* An owner's knowledge of each partition: its stage, how far its inputs are read and settled, and where its commands begin.
 *
 *     FOREIGN --assigned--> ASKING --offsets and ends are known--> RESTORING --state is read up to there--> LIVE
 *        ^                     |                                       |                                      |
 *        +---------------------+--------------- released --------------+--------------------------------------+
 *
 * Inputs (commands, states) are numbered from 0 in the order in which the owner's topics name them. An offset of -1 is unknown.
 * Pure: no Kafka, no clock. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stage { STAGE_FOREIGN, STAGE_ASKING, STAGE_RESTORING, STAGE_LIVE };

enum { STAGES_TOPICS_MAX = 16 }; /* inputs, or commands, or states */

struct stages;

/* observed: by input, whether this process also reads the partitions of others; it then reads on from its position when it takes such a
 * partition over. Copied. ring: how many epochs may be unsettled at once. */
struct stages *stages_new(int32_t partitions, size_t inputs, const bool *observed, uint32_t ring);
void stages_free(struct stages *stages); /* NULL is fine */

enum stage stages_of(const struct stages *stages, int32_t partition);
static inline bool stages_owned(const struct stages *stages, int32_t partition) {
    return stages_of(stages, partition) != STAGE_FOREIGN;
}

/* ---- what the group and the broker say ---- */

/* FOREIGN becomes ASKING; others stay what they are. */
void stages_assign(struct stages *stages, int32_t partition);

/* Becomes FOREIGN. True: its state was being read; the caller keeps or drops it. */
bool stages_release(struct stages *stages, int32_t partition);

/* The broker's answer about an owned partition. */
struct stages_answer {
    int64_t inputs[STAGES_TOPICS_MAX];   /* committed; -1: nothing ever was */
    int64_t commands[STAGES_TOPICS_MAX]; /* the same */
    int64_t states[STAGES_TOPICS_MAX];   /* the same: effects of the state before that were carried out */
    int64_t ends[STAGES_TOPICS_MAX];     /* of states: they must be read up to here; 0: nothing is there */
    bool fenced[STAGES_TOPICS_MAX];      /* of states: the end is not known for sure before a fence */
};

/* ASKING becomes RESTORING, and inputs go back to the committed offsets: true. In other stages commands may begin again when states
 * are read up to the new ends; a partition that is being restored must be read up to these ends, too. */
bool stages_answered(struct stages *stages, int32_t partition, const struct stages_answer *answer);

/* A partition that was assigned needs one fence (decider/decider.h) of its states; until then their ends are not known. begin: true if
 * it waits for that. end: by state, INT64_MAX: it is not fenced; NULL: it failed. Nothing if the partition was given away since begin. */
bool stages_fence_begin(struct stages *stages, int32_t partition);
void stages_fence_end(struct stages *stages, int32_t partition, const int64_t *ends);

/* LIVE or RESTORING becomes RESTORING without an end, until the next answer: its state is read anew. False: neither. */
bool stages_restore_again(struct stages *stages, int32_t partition);

/* RESTORING becomes LIVE. epoch: the open one, the first that says anything about the partition's inputs. */
void stages_live(struct stages *stages, int32_t partition, uint64_t epoch);

/* Up to where the states of a RESTORING partition must be read; INT64_MAX: not known yet. */
const int64_t *stages_ends(const struct stages *stages, int32_t partition);

/* ---- commands ---- */

/* Where the commands of a partition begin, by the broker's answer; NULL: no answer since the last stages_commands_forget. *ends: the
 * offsets up to which the states must be read first. */
const int64_t *stages_commands(const struct stages *stages, int32_t partition, const int64_t **ends);
void stages_commands_begin(struct stages *stages, int32_t partition); /* they are read from now on */
bool stages_commanding(const struct stages *stages, int32_t partition);
void stages_commands_forget(struct stages *stages); /* of all partitions: they must be asked for again */

/* ---- inputs ---- */

/* The first offset is where an owner begins when nothing was ever committed, the next one where reading goes on. */
void stages_begin(struct stages *stages, size_t input, int32_t partition, int64_t first, int64_t next);
int64_t stages_next(const struct stages *stages, size_t input, int32_t partition); /* -1: nothing was ever read */

/* The record at that offset was handled; timestamp: Kafka's, ms. */
void stages_handled(struct stages *stages, size_t input, int32_t partition, int64_t offset, int64_t timestamp);
/* A record that was handled before must be handled again. */
void stages_lower(struct stages *stages, size_t input, int32_t partition, int64_t offset);

/* How long (ms) the oldest waiting record of an input may have waited. nothing_waits: reading has reached the end. If that is unknown,
 * the time counts from the last record that was handled, or from the last time when nothing waited. unknown: the result if there was
 * neither. */
int64_t stages_waiting_ms(struct stages *stages, size_t input, int32_t partition, bool nothing_waits, int64_t now_ms,
                          int64_t unknown);

/* ---- what may be committed ---- */

/* The epoch is about to be closed: notes how far each input is handled. Returns the offsets (by input, then partition); the caller
 * lowers them where it holds records back. */
int64_t *stages_note(struct stages *stages, uint64_t epoch);

/* Everything of the noted epoch is acknowledged. Once an epoch. */
void stages_settle(struct stages *stages, uint64_t epoch);

/* Deliveries were lost: all inputs that are not settled will be handled again. */
void stages_rewind(struct stages *stages);

/* The next offset to commit, of partitions after *partition (from -1) and inputs after *input; false: there are no more. again: all
 * settled offsets; else only those that were not committed yet. The offset then counts as committed. */
bool stages_commit(struct stages *stages, bool again, size_t *input, int32_t *partition, int64_t *offset);
void stages_untold(struct stages *stages); /* commits may not have arrived: they are repeated */

/* Everything that was handled is settled and committed. */
bool stages_all_told(const struct stages *stages);

/* Asks the process of a group that owns a partition, over its peer HTTP. Blocking, with a loop of its own; one thread. */
#pragma once

#include "base/buffer.h"
#include "cli/cli.h"
#include "rpc/questions.h"

struct asking;

struct asking_options {
    const struct cli *cli;
    const char *group;         /* of the processes */
    const struct topic *topic; /* whose partitions they own */
    const char *who;           /* "history sink" */
};

/* -EHOSTDOWN within 10 s when no broker answers. */
int asking_new(const struct asking_options *options, struct asking **asking, struct error *error);
void asking_free(struct asking *asking); /* NULL is fine */

int32_t asking_partitions(const struct asking *asking);
int32_t asking_of_user(const struct asking *asking, int64_t user); /* the user's partition */

/* GETs the path (rpc_path) from the partition's owner, and hands over its answer in reply, which is cleared before. While the partition
 * passes from one process to another it asks again, up to patience_ms. what: that the answer is about, for people ("this user's history").
 * -EHOSTUNREACH nobody has it now, -EACCES peer.token is refused, -EAGAIN its state is being read, ... */
int asking_get(struct asking *asking, int32_t partition, const char *path, int patience_ms, const char *what,
               struct buffer *reply, struct error *error);
/* The same, of the owner of the question's key. */
int asking_ask(struct asking *asking, const struct rpc_question *question, const struct rpc_value *values,
               int patience_ms, const char *what, struct buffer *reply, struct error *error);

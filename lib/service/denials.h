/* Logs what is denied, to this process by Kafka and by this process to callers: one line for the first time, and after a minute another one
 * that says how often since. Its memory is bounded. librdkafka tells us of the same denial many times a second, and so do attackers. Any
 * thread. */
#ifndef SERVICE_DENIALS_H
#define SERVICE_DENIALS_H

#include <stdint.h>

#include "base/log.h"
#include "base/metrics.h"

struct denials;

struct denials *denials_new(struct log *log, struct metrics *metrics);
void denials_free(struct denials *denials); /* NULL is fine */

/* Kafka does not let this process do something. context: the denials. */
void denials_add(void *context, const char *reason);

/* A caller from that network (budget/network.h; 0: not known) was refused. reason: a code of problems, a literal; counted by
 * starling_access_refused_total. Loop's thread. */
void denials_refuse(struct denials *denials, const char *reason, uint64_t network);

#endif

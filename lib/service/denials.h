/* Logs what Kafka does not let this process do: one line a denial, and another after a minute if Kafka still denies it. librdkafka tells
 * us of the same denial many times a second. Any thread.
 */
#ifndef SERVICE_DENIALS_H
#define SERVICE_DENIALS_H

#include "base/log.h"

struct denials;

struct denials *denials_new(struct log *log);
void denials_free(struct denials *denials); /* NULL is fine */

/* context: the denials. */
void denials_add(void *context, const char *reason);

#endif

/* What Kafka does not let this process do: each denial is one line of the log, and again after a minute while it comes again.
 * librdkafka repeats what was refused many times a second. Any thread.
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

/* Short texts as people post them. Pure; any thread. */
#ifndef CLI_SMALL_TALK_H
#define CLI_SMALL_TALK_H

#include <stdint.h>

#include "base/buffer.h"

/* Appends a text of one or two sentences; the same number gives the same text. */
void small_talk(struct buffer *out, uint64_t number);

#endif

/* The catalogue of starling's topics: event/topics.def has a line for each, with its keys and values. event/programs.c says which program reads and
 * writes which of them.
 *
 * A program names the topics that it needs and checks only those at its start. So an upgrade that adds topics stops no program.
 * Pure data; any thread.
 */
#pragma once

#include "topics/topic.h"

#define TOPIC(id, ...) extern const struct topic TOPIC_##id;
#include "event/topics.def"
#undef TOPIC

/* All of them: for tools that look at everything. */
extern const struct topic_list TOPICS_ALL;

/* Files that the store misses are read back. Records come in already meanwhile, so that Kafka never has to wait. A worker of its
 * own reads some rows at a time, and the loop stores them. Loop's thread. */
#pragma once

#include "history-sink/look.h"
#include "history-sink/sink.h"

struct rebuild;

/* storage: the rebuild's own, borrowed. */
struct rebuild *rebuild_new(struct sink *sink, struct storage *storage);
bool rebuild_busy(const struct rebuild *rebuild);
void rebuild_free(struct rebuild *rebuild); /* not while it is busy; NULL is fine */

/* The look has found these files of a LOOKING partition, whose `kept` and `target` are set, and where they end. */
void rebuild_begin(struct sink *sink, struct sink_partition *partition, const struct archive_list *found,
                   const struct chain_end *chain);

void rebuild_go_on(struct rebuild *rebuild); /* reads what is due, unless it does already */
size_t rebuild_files_left(const struct sink *sink);

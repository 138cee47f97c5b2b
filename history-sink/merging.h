/* Every history.merge.s, the files of finished hours of the owned partitions are merged (history-sink/merge.h), and old ones removed
 * (history-sink/retention.h), by a worker and a storage of its own. Before that, hours are closed in which nothing more can arrive. Loop's thread. */
#pragma once

#include "history-sink/sink.h"

struct merging;

/* Makes a folder for files in between, in data.dir. */
int merging_new(struct sink *sink, struct merging **merging, struct error *error);
/* The thread that merges, and its storage, for other work on files that must not run beside it. */
struct worker *merging_worker(const struct merging *merging);
struct storage *merging_storage(const struct merging *merging);
bool merging_busy(const struct merging *merging);
/* Work under way ends soon: at the end, or as partitions are given away. */
void merging_stop(struct merging *merging);
void merging_free(struct merging *merging); /* not while it is busy; NULL is fine */
void merging_tick(struct merging *merging); /* begins what is due */

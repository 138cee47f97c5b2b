/* The metrics of budgets: one family for all of them, told apart by what is limited and by whom it is counted. Loop's thread. */
#pragma once

#include <stdint.h>

#include "base/metrics.h"

/* Each counts refusals: starling_budget_refused_total{what,by}. The limits are shown beside it. */
struct metric *tally_rate(struct metrics *metrics, const char *what, const char *by, int64_t per_second, int64_t burst);
struct metric *tally_held(struct metrics *metrics, const char *what, const char *by, int64_t most);

/* How much is held now: starling_budget_used{what}. */
struct metric *tally_used(struct metrics *metrics, const char *what);

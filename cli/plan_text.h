/* A plan for people, and for programs. Pure; any thread. */
#ifndef CLI_PLAN_TEXT_H
#define CLI_PLAN_TEXT_H

#include "base/buffer.h"
#include "cli/plan_model.h"

/* Appends the load, a table with a line a tier, and the warnings. */
void plan_text(struct buffer *out, const struct plan_load *load, const struct plan *plan);

/* The same as one JSON object: {"refused","reports_per_s",...,"tiers":[{"tier","cores","processes",...}],"warnings":[...]}; null where
 * there is no number. */
void plan_json(struct buffer *out, const struct plan_load *load, const struct plan *plan);

#endif

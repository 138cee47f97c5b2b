/* Reads a page of a home timeline from the feed processes that have its parts. Blocking; one thread. */
#pragma once

#include "cli/asking.h"
#include "cli/home_page.h"

/* Reads at least `limit` of the newest posts, or all if there are fewer, into an empty page. The caller frees the page, also after
 * a failure. The reader's owner gets a few seconds to build an inbox that begins with this question. If an owner of authors does not
 * answer, its authors' posts stay without text, and the reason is printed on standard error. If the reader's owner does not answer,
 * the code is that of asking_get. */
int home_read(struct asking *asking, int64_t user, size_t limit, struct home_page *page, struct error *error);

/* Reads a page of a home timeline from the feed processes that have its parts. Blocking; one thread. */
#ifndef CLI_HOME_READING_H
#define CLI_HOME_READING_H

#include "cli/asking.h"
#include "cli/home_page.h"

/* The newest posts into an empty page, which the caller frees, also after a failure: at least `limit` where there are so many. An inbox that
 * begins with the question is given a few seconds. Where an owner of authors does not answer, these posts stay without text, and standard
 * error has the reason. Negative errno as of asking_get: the reader's owner does not answer. */
int home_read(struct asking *asking, int64_t user, size_t limit, struct home_page *page, struct error *error);

#endif

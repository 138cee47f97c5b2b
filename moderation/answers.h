/* GET /peer/moderation/comments?text&user&subject&type&state&reported&from&to&after&limit: comments that all of these conditions hold for,
 * the newest first: {items: [comment], next}; moderation/searches.h has the comment. Loop's thread.
 *
 *     text       words, all of which the comment must have (moderation/words.h)
 *     user       the author;   subject: such as post:123;   type: of the subject
 *     state      visible | held | hidden | deleted;   reported: true: only those that somebody has reported
 *     from, to   ms since 1970: from <= time < to
 *     after      `next` of the page before;   limit: 1 to 1000, default 20; a page also ends at 1 MiB
 *
 * GET /peer/moderation/posts: the same of posts, which have no subject; moderation/users?user&after&limit: people who were reported, those whose
 * last report is the newest first.
 *
 * 400 bad_query, or no_words: the text has no word; 503 restoring, search_too_slow, busy. */
#pragma once

#include "moderation/searches.h"

/* ready: the index is up to date. */
void answers_answer(struct searches *searches, bool ready, struct http_request *request);

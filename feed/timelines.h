/* Home timelines of readers of owned partitions: looks at the reader's inbox, has it begun if there is none, and merges it with the hot
 * posts of those whom the reader follows (feed/page.h).
 *
 *     timelines_page   --> inbox --- incomplete, or old ---> Begin to `timelines`, at most one in some seconds
 *                            | complete
 *                            v
 *                          page_merge --> posts, version
 *
 * Functions return 0 or a negative errno code; -EBADMSG: a value in the store is damaged. Loop's thread.
 */
#pragma once

#include "feed/inboxes.h"
#include "feed/page.h"
#include "feed/relations.h"
#include "watch/watch.h"

struct timelines;
struct feed;

struct timelines *timelines_new(const struct feed *feed);
void timelines_free(struct timelines *timelines); /* NULL is fine */

enum { TIMELINE_NEWEST = 20 }; /* posts that the version of a timeline is made of */

/* A part of a timeline. It belongs to the timelines, until the next call. */
struct timeline {
    bool complete; /* false: the inbox waits for answers, and posts may be missing on the page */
    const struct page *page;
    const struct id_list *following, *muted;
};

/* The newest posts above an id (0: all) and below one (INT64_MAX: all), at most `wanted`. */
struct timeline_wish {
    int64_t user, above, before;
    size_t wanted;
};

int timelines_page(struct timelines *timelines, int32_t partition, const struct timeline_wish *wish,
                   struct timeline *timeline, struct error *error);

/* Whether the inbox is complete; has it begun if it is not. Costs less than a page. */
int timelines_complete(struct timelines *timelines, int32_t partition, int64_t user, bool *complete,
                       struct error *error);

/* The version of a timeline that begins with these posts, newest first: of their ids, and of their texts if these were edited lately. Those
 * behind the first TIMELINE_NEWEST do not count. */
struct watch_version timeline_version(const struct timelines *timelines, const struct inbox_post *posts, size_t count);

void timelines_second(struct timelines *timelines); /* forgets the Begins of long ago */

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

#include "feed/edited.h"
#include "feed/effects.h"
#include "feed/inboxes.h"
#include "feed/outbox.h"
#include "feed/page.h"
#include "feed/relations.h"
#include "watch/watch.h"

struct timelines;

struct timelines_options { /* all of it is longer-lived */
    int32_t partitions;
    struct relation_lists *relations;
    struct inboxes *inboxes;
    const struct hot *hot;
    const struct edited *edited;
    struct effects *effects;
    struct outbox *outbox;
};

struct timelines *timelines_new(const struct timelines_options *options);
void timelines_free(struct timelines *timelines); /* NULL is fine */

enum { TIMELINE_NEWEST = 20 }; /* posts that the version of a timeline is made of */

/* A part of a timeline. It belongs to the timelines, until the next call. */
struct timeline {
    bool complete; /* false: the inbox waits for answers, and posts may be missing on the page */
    const struct page *page;
    const struct id_list *following, *muted;
};

/* The newest posts below `before` (INT64_MAX: of all), at most `wanted`. */
int timelines_page(struct timelines *timelines, int32_t partition, int64_t user, int64_t before, size_t wanted,
                   struct timeline *timeline, struct error *error);

/* Whether the inbox is complete; has it begun if it is not. Costs less than a page. */
int timelines_complete(struct timelines *timelines, int32_t partition, int64_t user, bool *complete,
                       struct error *error);

/* The version of a timeline that begins with these posts, newest first: of their ids, and of their texts if these were edited lately. Those
 * behind the first TIMELINE_NEWEST do not count. */
struct watch_version timeline_version(const struct timelines *timelines, const struct inbox_post *posts, size_t count);

void timelines_second(struct timelines *timelines); /* forgets the Begins of long ago */

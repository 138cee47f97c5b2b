/* Live threads: tells edges of what happens under watched subjects of this process's partitions.
 *
 *     comment-watches --> lib/watch (watch/owner.h): who watches what, versions, roll calls --+
 *     comments ---------> changes of threads that are watched (comments/watched_threads.h) ---+--> deliveries (comments/edges.h)
 *
 * A thing is named "comments:SUBJECT"; its version is thread_version. New comments, and comments that changed their state, are told whole;
 * likes and numbers of replies as counters. Other changes of pages (pins, closing) are told as a version: phones read their page
 * again. Loop's thread.
 */
#pragma once

#include "tasks/tasks.h"

struct thread_watches;
struct comments;

struct thread_watches *thread_watches_new(const struct comments *comments);
void thread_watches_free(struct thread_watches *watches); /* NULL is fine */

/* A store in memory, of `comment-watches`: nobody is told anything of a partition that is not live. */
extern const struct state_kind THREAD_WATCHES_KIND;

/* A record of `comments` that is about to be taken into the store. */
void thread_watches_comments(struct thread_watches *watches, const struct kafka_record *record);

void thread_watches_second(struct thread_watches *watches); /* metrics */

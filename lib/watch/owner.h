/* The owner's side of watching (watch/watch.h): knows which edges watch the things of this process's partitions, and tells them of
 * changes.
 *
 *      topic of watches ----> watch_owner_read --> things, their watches and watchers --> deliver(route, payload)
 *      the product's state -> watch_owner_change, watch_owner_name                    --> forget(key)
 *                             watch_owner_continue(now)  carries out, a slice a call
 *
 *      a partition:  watch_owner_attach --> read ... read --> watch_owner_live --> read, change ... --> watch_owner_detach
 *                                           (in silence)      (names all versions, then answers and tells)
 *
 * One object serves one topic of watches. The caller reads the topic from its beginning for each partition that it attaches, and
 * calls watch_owner_live when it has reached the end that the topic had when the partition was attached. Before that the owner tells
 * no edge anything.
 *
 * watch_owner_continue does long work in slices: naming all versions after a take-over, checking the versions that a roll call has not
 * acknowledged, dropping watches and freeing a partition. A caller that has no room for deliveries waits with that call. A
 * change is told at once to each route that watches the thing: there are at most as many as edge processes.
 *
 * Memory: some 280 bytes for the first watch of a thing, 130 for each further one.
 *
 * Callbacks may call no function here. One thread.
 */
#pragma once

#include "watch/watch.h"

struct watch_owner;

struct watch_owner_options {
    int32_t partitions; /* of the topic of watches; more than 0 */
    size_t slice;       /* watches looked at in one call of watch_owner_continue; 0: 1,000 */
    void *context;

    /* The version that a page of the thing would have now. false: it is not known yet; the caller says it later by
     * watch_owner_name. It is asked once for each thing that is watched; after that, watch_owner_change and watch_owner_name
     * keep it up to date. */
    bool (*version)(void *context, int32_t partition, const void *what, size_t size, struct watch_version *version);
    void *output; /* of the next two */
    /* Sends a payload (watch/records.h) to a route, copying it, in an envelope of WATCH_DELIVERY_KIND. */
    void (*deliver)(void *output, int32_t route, const void *payload, size_t size);
    /* Writes a tombstone for this key: the watcher is gone, and would otherwise stay in the compacted topic for ever. May be
     * NULL. If the watcher is not gone after all, its next roll call repairs it. */
    void (*forget)(void *output, int32_t partition, const void *key, size_t size);
    /* The thing has its first watch now, or has lost its last one. Not called when a partition is detached. May be NULL. */
    void (*watched)(void *context, int32_t partition, const void *what, size_t size, bool now);
};

struct watch_owner *watch_owner_new(const struct watch_owner_options *options); /* they are copied */
void watch_owner_free(struct watch_owner *owner);                               /* NULL is fine */

/* The process has the partition from now on, and reads its topic from the beginning. It must not be attached. */
void watch_owner_attach(struct watch_owner *owner, int32_t partition, int64_t now_ms);
void watch_owner_live(struct watch_owner *owner, int32_t partition);
bool watch_owner_is_live(const struct watch_owner *owner, int32_t partition);
void watch_owner_detach(struct watch_owner *owner, int32_t partition); /* not attached: nothing */

/* A record of an attached partition; value NULL: a tombstone. 0, or -EBADMSG: malformed, and then nothing has changed. */
int watch_owner_read(struct watch_owner *owner, int32_t partition, const void *key, size_t key_size, const void *value,
                     size_t value_size);

/* The thing's version was `since` and is now `version`; the content turns a page of the one into a page of the other. Tells each route
 * that watches the thing, and returns how many there were. Does nothing when the partition is not live, when no edge watches the
 * thing, and when the counters show that this was told before (effects may be repeated). */
size_t watch_owner_change(struct watch_owner *owner, int32_t partition, const void *what, size_t size,
                          struct watch_version since, struct watch_version version, const void *content,
                          size_t content_size);

/* The same without content: pages with another version are to be read again. */
size_t watch_owner_name(struct watch_owner *owner, int32_t partition, const void *what, size_t size,
                        struct watch_version version);

/* Tells content to every page of the thing, whatever its version. Versions stay as they are: a caller that has left something out names
 * the version afterwards. Nothing finds out that such a message was lost, but for that. Returns to how many routes it went. */
size_t watch_owner_show(struct watch_owner *owner, int32_t partition, const void *what, size_t size,
                        const void *content, size_t content_size);

/* Whether any edge watches the thing. If none does, the caller need not prepare a change's content. */
bool watch_owner_watched(const struct watch_owner *owner, int32_t partition, const void *what, size_t size);

/* Does a slice of the work. Returns after how many milliseconds it wants to be called again: 0 when work is left. */
int64_t watch_owner_continue(struct watch_owner *owner, int64_t now_ms);

struct watch_owner_stats {
    size_t things, watches, watchers; /* now; a watcher counts once in each partition */
    uint64_t told, named;             /* payloads delivered so far: changes; versions, for whatever reason */
    uint64_t named_again;             /* of the latter: not acknowledged in time */
    uint64_t asked_again;             /* roll calls that differed, so that all watches were asked for anew */
    uint64_t silent;                  /* watchers that were dropped because they were silent */
};
void watch_owner_stats(const struct watch_owner *owner, struct watch_owner_stats *stats);

/* State that a decider has written and not yet read back from its topic. The next command must see it.
 *
 *     key --> value        bytes of up to key_max and value_max
 *     group --> its entries, in no order        a number of the product's choice, such as the user whose list an entry changes
 *
 * An entry is open while its transaction is open. The commit closes it and notes an offset; when the topic's partition has been read
 * back up to that offset, the entry is dropped. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct overlay;

struct overlay *overlay_new(size_t key_max, size_t value_max);
void overlay_free(struct overlay *overlay); /* NULL is fine */
void overlay_clear(struct overlay *overlay);
size_t overlay_count(const struct overlay *overlay);

/* The value that was written last, aligned to 8 bytes; NULL: none waits. Valid until the next change. size: NULL is fine. */
const void *overlay_find(const struct overlay *overlay, const void *key, size_t key_size, size_t *size);

/* Takes a value that was written in the open transaction. partition: the partition of the record, always the same for a key. */
void overlay_put(struct overlay *overlay, int32_t partition, uint64_t group, const void *key, size_t key_size,
                 const void *value, size_t value_size);

/* How many entries of a group wait; and all of them:
 *
 *     for (struct overlay_entry e = overlay_first(overlay, group); e.key; overlay_next(&e)) ...
 *
 * Nothing may change in between. */
struct overlay_entry {
    const void *key, *value; /* key NULL: no more */
    size_t key_size, value_size;
    const void *at;
};
size_t overlay_waiting(const struct overlay *overlay, uint64_t group);
struct overlay_entry overlay_first(const struct overlay *overlay, uint64_t group);
void overlay_next(struct overlay_entry *entry);

/* The transaction is committed: its entries of partition p are read back once the topic is read up to ends[p]. */
void overlay_commit(struct overlay *overlay, const int64_t *ends);

/* The topic's partition is read up to `next`. */
void overlay_read_back(struct overlay *overlay, int32_t partition, int64_t next);

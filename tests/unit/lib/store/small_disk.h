/* A small file system of a test's own, in memory, that can be filled. */
#pragma once

struct small_disk {
    char *folder, *path, *filler,
        *aside; /* its folder, and in it: for a store; a file that takes the room; for files to be taken in */
};

/* For a SET_UP_ONCE, before anything starts threads: 40 MB; NULL, said so, where nobody may mount one: only root, and whoever may make
 * user namespaces. It goes behind the last test. */
struct small_disk *small_disk_new(void);

/* Leaves so many bytes of room. */
void small_disk_fill(const struct small_disk *disk, long room);
void small_disk_make_room(const struct small_disk *disk);

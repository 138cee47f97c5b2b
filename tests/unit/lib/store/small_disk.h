/* A small file system of a test's own, in memory, that can be filled. */
#pragma once

struct small_disk {
    char folder[32];
    char *path, *filler, *aside; /* in it: for a store; a file that takes the room; for files to be taken in */
};

/* cmocka group fixtures: *state is the disk, 40 MB; NULL, said so, where nobody may mount one: only root, and whoever may make
 * user namespaces. Before anything starts threads. */
int small_disk_new(void **state);
int small_disk_free(void **state);

/* Leaves so many bytes of room. */
void small_disk_fill(const struct small_disk *disk, long room);
void small_disk_make_room(const struct small_disk *disk);

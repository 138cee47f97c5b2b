#include "history-sink/retention.h"

#include <stdlib.h>

#include "base/mem.h"

static int remove_old(struct storage *storage, const struct retention_partition *partition,
                      const struct archive_list *found, int64_t *removed, struct error *error) {
    int code = 0;
    for (size_t i = 0; i < found->count && code == 0; i++) {
        if (found->files[i].hour >= partition->newest) continue;
        char *path = archive_path(partition->partition, found->files[i]);
        code = storage_remove(storage, path, error);
        free(path);
        *removed += code == 0;
    }
    return code;
}

int retention_remove(struct storage *storage, int64_t before, const struct retention_partition *partitions,
                     size_t count, int64_t *removed, struct error *error) {
    struct archive_wanted *old = mem_zero(count + 1, sizeof *old);
    for (size_t i = 0; i < count; i++) old[i] = (struct archive_wanted){.partition = partitions[i].partition};
    int code = archive_scan_old(storage, before, old, count, false, error);
    for (size_t i = 0; i < count && code == 0; i++)
        code = remove_old(storage, &partitions[i], &old[i].found, removed, error);
    for (size_t i = 0; i < count; i++) archive_list_clear(&old[i].found);
    free(old);
    return code;
}

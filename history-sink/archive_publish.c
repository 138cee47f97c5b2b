#include <errno.h>

#include "history-sink/archive.h"

/* Has the chain gone on (or been cut) since? What the storage decides is decided under the same name only; this look also refuses
 * an owner that slept until Kafka dropped records that it has read, and so may disagree about the hour. */
static int check_newest(struct storage *storage, int32_t partition, const struct chain_end *before,
                        struct error *error) {
    struct archive_wanted wanted = {.partition = partition, .from = INT64_MAX};
    int code = archive_scan(storage, &wanted, 1, false, error);
    if (code == 0) {
        const struct archive_file *newest = wanted.found.count ? &wanted.found.files[0] : NULL;
        // The hour may have been merged meanwhile: then it is closed, and nothing of it may follow.
        bool same = newest && before->some ? newest->first == before->file.first && newest->hour == before->file.hour &&
                                                 newest->end == before->file.end
                                           : !newest && !before->some;
        if (newest && before->some && chain_closed(before) && newest->end == before->end) same = true;
        if (!same) code = error_set(error, -EEXIST, "partition %d: another file is the newest now", partition);
    }
    archive_list_clear(&wanted.found);
    return code;
}

int archive_publish(struct storage *storage, int32_t partition, const struct chain_end *before,
                    struct storage_writer *writer, struct error *error) {
    int code = check_newest(storage, partition, before, error);
    if (code == 0) return storage_publish(writer, error);
    storage_abandon(writer);
    return code;
}

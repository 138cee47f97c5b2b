#include "history-sink/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct history_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group), "starling-history-sink",
     .doc = "Consumer group of the sinks: its assignment of `locations` partitions says who writes whose history."},
    {"history.dir", CONFIG_STRING, AT(dir), "data/history",
     .doc =
         "Folder of the history files, or s3://BUCKET/PREFIX, shared by all sinks. The files in it say what has been written: a sink goes on "
         "where the files end."},
    {"history.s3.endpoint", CONFIG_STRING, AT(s3_endpoint), "https://s3.amazonaws.com",
     .doc =
         "Address of the server where the bucket is, if history.dir is s3://BUCKET/PREFIX. It must know conditional writes "
         "(If-None-Match), as Amazon's and MinIO do."},
    {"history.s3.region", CONFIG_STRING, AT(s3_region), "us-east-1", .doc = "Region of the bucket, for signatures."},
    {"history.s3.access.key", CONFIG_STRING, AT(s3_access_key), "", .doc = "Id of the key that signs calls."},
    {"history.s3.secret.key", CONFIG_STRING, AT(s3_secret_key), "", .secret = true, .doc = "The secret of that key."},
    {"history.roll.rows", CONFIG_INT, AT(roll_rows), "1000000", .min = 1, .max = 1e9,
     .doc = "A file is published when it holds this many rows."},
    {"history.roll.s", CONFIG_INT, AT(roll_s), "900", .min = 1, .max = 3600,
     .doc = "A file is published at the latest this long (s) after it was begun, and when the hour of its rows ends."},
    {"history.roll.bytes", CONFIG_INT, AT(roll_bytes), "134217728", .min = 65536, .max = 1e12,
     .doc = "A file is published when it is about this large (bytes), as is to be expected from its rows."},
    {"history.roll.memory.bytes", CONFIG_INT, AT(roll_memory), "536870912", .min = 1048576, .max = 1e12,
     .doc =
         "Rows wait in memory (56 bytes each) until they are published, sorted by user and time. Of all partitions of a sink "
         "together they take at most about this much: the largest files are published earlier, and if the storage does not keep up, "
         "the sink reads no more for a while."},
    {"history.merge.s", CONFIG_INT, AT(merge_s), "60", .max = 86400,
     .doc =
         "How often (s) the sink looks for finished hours, whose files it merges into one an hour and partition, below hours/ in "
         "history.dir, and for files that are too old; 0: never."},
    {"history.merge.keep.s", CONFIG_INT, AT(merge_keep_s), "3600", .max = 1e9,
     .doc = "How long (s) files are kept after they were merged, so that whoever has listed them can still open them."},
    {"history.store.cache.bytes", CONFIG_INT, AT(store_cache), "67108864", .min = 1048576, .max = 1e12,
     .doc = "Block cache (bytes) of the store that answers queries, which is in data.dir."},
    {"history.store.memtable.bytes", CONFIG_INT, AT(store_memtables), "33554432", .min = 1048576, .max = 1e12,
     .doc = "Bytes that this store gathers in memory before it writes them out."},
    {"history.store.days", CONFIG_INT, AT(store_days), "0", .max = 36500,
     .doc =
         "Rows whose time is older than this (days) leave the store, and are not loaded into a new one; 0: none do. The "
         "files stay as they are."},
    {"history.retention.days", CONFIG_INT, AT(retention_days), "0", .max = 36500,
     .doc =
         "Files of hours that are older than this (days) are removed, and rows whose time is older leave the store; 0: none "
         "do. Looked for every history.merge.s."},
};

static struct history_settings values;

const struct config_section HISTORY_SECTION = {"History (starling-history-sink)", PROPERTIES, ARRAY_SIZE(PROPERTIES),
                                               &values};

struct storage_options history_storage_options(const struct history_settings *settings) {
    return (struct storage_options){
        .place = settings->dir,
        .s3_endpoint = settings->s3_endpoint,
        .s3_region = settings->s3_region,
        .s3_access_key = settings->s3_access_key,
        .s3_secret_key = settings->s3_secret_key,
    };
}

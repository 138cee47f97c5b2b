#include "owner/settings.h"

#define AT(member) offsetof(struct owner_settings, member)

static const struct config_property PROPERTIES[] = {
    {"checkpoint.dir", CONFIG_STRING, AT(checkpoint_dir), "",
     .doc =
         "Folder for checkpoints of the stores, one process's own. On data.dir's filesystem they are hard links and cost "
         "nothing but what has changed since, and are lost with its disk; elsewhere each is a whole copy. A process whose "
         "data.dir is empty starts from the newest ones there and reads only what followed. Empty: none."},
    {"checkpoint.every.s", CONFIG_INT, AT(checkpoint_every_s), "3600", .min = 1, .max = 604800,
     .doc = "How often checkpoints are made, in seconds, while all owned partitions are restored."},
    {"checkpoint.keep", CONFIG_INT, AT(checkpoint_keep), "3", .min = 1, .max = 1000,
     .doc = "How many checkpoints are kept; older ones are deleted."},
    {"standby.replicas", CONFIG_INT, AT(standby_replicas), "1", .min = 0, .max = 16,
     .doc =
         "How many other processes keep the state of each partition up to date, so that they can take it over without "
         "reading it first. One covers the end of any process. With 0, state is read after a take-over, and a new process "
         "joins the group without having read it."},
    {"stop.hands.over", CONFIG_BOOL, AT(stop_hands_over), "true",
     .doc =
         "Whether a process that has a group.instance.id gives its partitions to the others when it is ended by SIGTERM. With "
         "false nobody serves them until it is back, or its session has timed out."},
    {"batch.records", CONFIG_INT, AT(batch_records), "1000", .min = 1, .max = 100000,
     .doc = "How many records are handled in one go."},
    {"outbox.flush.bytes", CONFIG_INT, AT(outbox_flush_bytes), "65536", .min = 1024, .max = 524288,
     .doc = "A batch for an edge or another process is sent when it holds that many bytes."},
    {"outbox.flush.ms", CONFIG_INT, AT(outbox_flush_ms), "5", .min = 0, .max = 1000,
     .doc =
         "Or when its first item is that old, in ms, or at once when no more input is there. Where batches would be many and small, "
         "they wait longer, 250 ms at most."},
    {"outbox.queue.mb", CONFIG_INT, AT(outbox_queue_mb), "64", .min = 1, .max = 4096,
     .doc = "How many MiB of batches may wait for Kafka's acknowledgement before input is held."},
};

/* One process, one configuration: written once, by config_finish, before anything reads it. */
static struct owner_settings values;

const struct config_section OWNER_SECTION = {"Processes that own partitions (router, feed, comments)", PROPERTIES,
                                             ARRAY_SIZE(PROPERTIES), &values};

const struct config_section *const OWNER_SECTIONS[] = {&OWNER_SECTION, NULL};

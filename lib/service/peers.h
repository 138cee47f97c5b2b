/* Finds the owner of a key (a user, a subject) from Kafka itself. The members of a consumer group carry the address of their peer
 * HTTP in their client.id (name@host:port); DescribeConsumerGroups says which partitions each one owns. The directory asks again
 * when it is older than a few seconds or when told that an answer was wrong (421, refused). Loop's thread. */
#pragma once

#include "base/loop.h"
#include "kafka/admin.h"

struct peers;

struct peers_options {
    uv_loop_t *loop;
    const struct kafka_settings *settings;
    const char *group;         /* of the owners, such as starling-router or starling-comments */
    const struct topic *topic; /* whose partitions the group shares, such as comment-commands */
    int partitions;
    const char *token; /* peer.token */
};

int peers_new(const struct peers_options *options, struct peers **peers, struct error *error);
void peers_free(struct peers *peers); /* pending ones get -ECANCELED; may be called from within a done; NULL is fine */

/* The partition that the keys of a user, or of a subject ("post:123"), fall into. */
int32_t peers_of_user(const struct peers *peers, int64_t user);
int32_t peers_of_subject(const struct peers *peers, const char *subject);

/* For each partition the lowest one that the same process owns, as far as is known; where no owner is known, the partition itself.
 * Valid until the loop's next turn. A caller joins questions to one process by it. */
const int32_t *peers_lowest(const struct peers *peers);

/* Each partition has an owner: by the last answer of Kafka, and true before the first one. Asks anew in the background like
 * peers_prepare. NULL: true. */
bool peers_complete(struct peers *peers);

/* GETs from the owner of the partition and hands over its answer, as peer_client_get does; asks Kafka anew and tries once
 * more when the known process is not (or no longer) the owner. code -EHOSTUNREACH: no process owns the partition now, or there is no such partition; -ETIMEDOUT: neither the
 * owner nor Kafka answered within timeout_ms. path begins with "/peer/". */
void peers_fetch(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                 void (*done)(void *context, int code, unsigned status, const char *reply, size_t size), void *context);

/* Prepares for a question that is to be answered quickly: asks Kafka anew in the background if the directory is older than a few
 * seconds. */
void peers_prepare(struct peers *peers);

/* The read side of Confluent's Schema Registry API for the schemas that this program was built with, at /registry: so that clients which
 * know Kafka's records by a registry's URL can read every topic.
 *
 *     GET  /subjects   /subjects/S/versions   /subjects/S/versions/V   /subjects/S/versions/V/schema
 *          /schemas/ids/N   /schemas/ids/N/schema   /schemas/ids/N/subjects   /schemas/ids/N/versions   /schemas/types
 *          /config   /config/S   /mode   /mode/S
 *     POST /subjects/S              the version that has the schema of the body
 *          /subjects/S/versions     its id; a schema that is not there cannot be added
 *
 * Apicurio's converter for Kafka Connect asks for an id in another way, below /apis/registry/v2:
 *
 *     GET  /ids/contentIds/N   /ids/contentIds/N/references
 *
 * A subject is TOPIC-value (with the prefix of topics) where all values of a topic are of one record, and TOPIC-RECORD for each of
 * several: the registry's strategies TopicName and TopicRecordName. Each record is a subject by its full name, too (RecordName).
 * Errors are the registry's: {"error_code":40401,"message":}. Loop's thread. */
#pragma once

#include "event/types.h"
#include "ingest/endpoints.h"

struct registry;
struct registry *registry_new(const char *topics_prefix);
void registry_free(struct registry *registry); /* NULL is fine */

/* A version of a subject, for who goes through all of them. Subjects count from
 * 0, versions from 1. subject NULL: there are no more; schema NULL: the subject has no such version. */
struct registry_entry {
    const char *subject;
    bool of_topic; /* not one that is there by its record's name alone */
    const struct event_schema *schema;
};
struct registry_entry registry_entry(const struct registry *registry, size_t subject, int64_t version);

extern const struct endpoint_list REGISTRY_ENDPOINTS; /* state: struct registry */

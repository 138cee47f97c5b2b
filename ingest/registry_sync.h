/* Makes sure that a schema registry of the operator's (schema.registry.url) knows the schemas of all topics by the ids that records carry.
 * It compares those that are there, and registers those that are missing, in the registry's mode IMPORT, which takes ids from others:
 *
 *     each version of each topic's subject:   GET version --404--> PUT mode IMPORT --> POST schema, id --> PUT mode READWRITE
 *                                                  `-- the same id and schema: next; another one: refused, and looked at again later
 *     each subject at its end:                GET mode --IMPORT, as a gateway that ended too early leaves it--> PUT mode READWRITE
 *
 * Ids are fixed (schemas/ids.txt), because records with them lie on topics and in files already. So a registry that has
 * another schema under one of them cannot be used. The registry's answer about it is logged. Loop's thread. */
#pragma once

#include "ingest/registry.h"
#include "service/service.h"

struct registry_sync;

/* url: copied; a user and a password may stand in it. The condition "registry" holds when all schemas are there. */
struct registry_sync *registry_sync_new(struct service *service, const char *url, const struct registry *registry);
void registry_sync_free(struct registry_sync *sync); /* NULL is fine */

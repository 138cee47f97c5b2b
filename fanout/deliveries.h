/* Reads the batches of deliveries that routers send, and gives each item to the screen of its kind. Items of no screen's kind
 * are skipped: an older edge does not stumble over what a newer router says. Loop's thread.
 */
#pragma once

#include "kafka/consumer.h"

struct deliveries;
struct edge;

struct deliveries *deliveries_new(struct edge *edge);
void deliveries_free(struct deliveries *deliveries); /* NULL is fine */

void deliveries_apply(struct deliveries *deliveries, const struct kafka_record *records, size_t count);

/* Delivery batches as JSON for people and their tools. It shows payloads too, which avro-c alone cannot read. */
#ifndef CLI_DELIVERY_TEXT_H
#define CLI_DELIVERY_TEXT_H

#include <stdbool.h>

#include "event/codec.h"

/* Is it a delivery batch of envelopes? Others (version 1) are as event_to_json writes them. */
bool delivery_text_knows(const void *value, size_t size);

/* Appends {"stream_time":, "oldest_received":, "items": [{"kind":, "recipients": [], "payload":}, ...]}. payload: as
 * event_to_json writes a nearby-item or timeline-item; the bytes in hex of kinds that are not known, and of payloads that cannot be read.
 * 0 or -EBADMSG with the reason in error; out then holds half of it. */
int delivery_text(struct buffer *out, struct codec *codec, const void *value, size_t size, struct error *error);

/* Does a delivery batch of any version name the user, as a recipient or in a payload? */
bool delivery_concerns(struct codec *codec, const void *value, size_t size, int64_t user);

#endif

#include "feed/timeline_reader.h"

#include <stdlib.h>

#include "base/mem.h"
#include "event/delivery.h"

struct timeline_reader {
    struct tracer *tracer;
    struct deliver_reader *batches;
    struct codec *codec;
};

struct timeline_reader *timeline_reader_new(struct tracer *tracer) {
    return MEM_NEW(&(struct timeline_reader){.tracer = tracer, .batches = deliver_reader_new(), .codec = codec_new()});
}

void timeline_reader_free(struct timeline_reader *reader) {
    if (!reader) return;
    deliver_reader_free(reader->batches);
    codec_free(reader->codec);
    free(reader);
}

int timeline_reader_each(struct timeline_reader *reader, const struct kafka_record *record,
                         int (*each)(void *context, const struct kafka_record *record,
                                     const struct deliver_envelope *envelope, const struct timeline_item *item,
                                     struct error *error),
                         void *context, const char **unread, struct error *error) {
    struct deliver_head head;
    struct deliver_envelope envelope;
    struct timeline_item item;
    int more = 0, code = 0;
    *unread = NULL;
    if (deliver_reader_start(reader->batches, record->value, record->value_size, &head, error)) {
        *unread = error->text;
        return 0;
    }
    for (size_t n = 0; !code && (more = deliver_reader_next(reader->batches, &envelope)) > 0; n++) {
        tracer_item(reader->tracer, n);
        if (envelope.kind != DELIVERY_TIMELINE) continue; // of a later release
        if (delivery_read_timeline(reader->codec, envelope.payload, envelope.payload_size, &item))
            *unread = "an item cannot be read";
        else
            code = each(context, record, &envelope, &item, error);
    }
    tracer_item(reader->tracer, SIZE_MAX);
    if (more < 0) *unread = "the batch cannot be read to its end";
    return code;
}

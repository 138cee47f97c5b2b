#include "router/opting.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/codec.h"
#include "router/consents.h"

enum { ENDS_A_TENTH = 2000, TENTHS_A_ROUND = 10 };

struct opting {
    struct opting_options options;
    struct consents *consents;
    struct codec *codec;
    size_t budget; /* how many ends may still be worked on in this tenth of a second */
    unsigned tenths;
};

struct opting *opting_new(const struct opting_options *options) {
    struct opting *opting = MEM_NEW(&(struct opting){
        .options = *options,
        .consents = consents_new(options->partitions, options->inactive_ms),
        .codec = codec_new(),
        .budget = ENDS_A_TENTH,
    });
    return opting;
}

void opting_free(struct opting *opting) {
    if (!opting) return;
    consents_free(opting->consents);
    codec_free(opting->codec);
    free(opting);
}

/* NULL: the record is fine, else why it is not. */
static const char *read_record(struct opting *opting, const struct kafka_record *record, int64_t *user,
                               struct sharing *sharing, struct error *error) {
    if (record->key_size != 8) return "the key must be a user";
    *user = (int64_t)bytes_get_be64(record->key);
    *sharing = (struct sharing){.mode = SHARING_OFF}; // what a tombstone means
    if (*user < 0) return "the key must be a user";
    if (record->value && event_decode_sharing(opting->codec, record->value, record->value_size, sharing, error))
        return error->text;
    if (hash_user_partition(*user, opting->options.partitions) != record->partition)
        return "not in the partition of its user";
    return NULL;
}

int opting_tell(struct opting *opting, const struct kafka_record *record, const char **reason, struct error *error) {
    const struct opting_options *options = &opting->options;
    struct sharing sharing;
    int64_t user;
    const char *complaint = read_record(opting, record, &user, &sharing, error);
    if (complaint) *reason = complaint;
    if (complaint || sharing.mode != SHARING_OFF) return 0;
    if (record_collector_leave(options->collector, user, record->offset, report_clock_now(options->clock),
                               epochs_open(options->epochs)))
        return -EAGAIN;
    epochs_expect(options->epochs);
    if (options->links(options->context, record->partition, user) == OPTING_NO_LINKS) return 0;
    if (record_collector_end_links(options->collector, user, record->offset, epochs_open(options->epochs)))
        return -EAGAIN;
    epochs_expect(options->epochs);
    return 0;
}

bool opting_acknowledge(struct opting *opting, uint64_t ticket, bool stored) {
    return consents_acknowledge(opting->consents, ticket, stored);
}

/* ---- sharing that ends by itself ---- */

/* Sends the LEAVE of an end once, if presence has the user by a report of before. The end is kept until presence knows that the user
 * has left, or is in by a newer record. Where this process stands by, it keeps all ends: it may be the next owner. */
static enum consents_fate look(void *context, int32_t partition, const struct consents_end *end, bool sent) {
    struct opting *opting = context;
    const struct opting_options *options = &opting->options;
    if (!options->owns(options->context, partition)) return CONSENTS_WAIT;
    // Again in the next round, as long as there are links.
    if (options->links(options->context, partition, end->user) == OPTING_LINKS)
        record_collector_end_links(options->collector, end->user, end->offset, 0);
    const struct presence_slot *slot = presence_find(opting->options.presence, end->user);
    if (!slot) return CONSENTS_WAIT; // warm-up may still bring the user
    if (slot->left || slot->opted > end->offset) return CONSENTS_DONE;
    if (sent) return CONSENTS_WAIT;
    int code =
        record_collector_leave(opting->options.collector, end->user, end->offset,
                               report_clock_now(opting->options.clock), consents_sent_end(opting->consents, partition));
    return code ? CONSENTS_WAIT : CONSENTS_SENT;
}

void opting_tick(struct opting *opting) {
    consents_end_due(opting->consents, report_clock_now(opting->options.clock), &opting->budget, opting, look);
}

void opting_tenth(struct opting *opting) {
    opting->budget = ENDS_A_TENTH;
    opting_tick(opting);
    if (opting->tenths++ % TENTHS_A_ROUND == 0) consents_begin_round(opting->consents);
    consents_go_round(opting->consents, report_clock_now(opting->options.clock), &opting->budget, opting, look);
}

bool opting_refuses(const struct opting *opting, int32_t partition, int64_t user, int64_t opted, int64_t *offset) {
    return consents_refuses(opting->consents, partition, user, opted, report_clock_now(opting->options.clock), offset);
}

bool opting_ends_link(const struct opting *opting, int32_t partition, int64_t user, int64_t opted) {
    int64_t offset;
    return opting_refuses(opting, partition, user, opted, &offset) ||
           consents_returned(opting->consents, partition, user) >= opted;
}

enum sharing_mode opting_mode(const struct opting *opting, int32_t partition, int64_t user) {
    return consents_mode(opting->consents, partition, user, report_clock_now(opting->options.clock));
}

/* ---- the kind ---- */

static int open_part(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    consents_attach(((struct opting *)store)->consents, partition);
    return 0;
}

static void close_part(void *store, int32_t partition) {
    consents_detach(((struct opting *)store)->consents, partition);
}

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct opting *opting = store;
    struct sharing sharing;
    int64_t user;
    if (read_record(opting, record, &user, &sharing, error)) {
        consents_pass(opting->consents, record->partition, record->offset);
        return 0;
    }
    int64_t off = consents_off(opting->consents, record->partition, user);
    if (off >= 0 && sharing.mode != SHARING_OFF &&
        opting->options.links(opting->options.context, record->partition, user) != OPTING_NO_LINKS)
        consents_note_return(opting->consents, record->partition, user, off);
    report_clock_tick(opting->options.clock);
    consents_record(opting->consents, record->partition, user, &sharing, record->offset,
                    report_clock_now(opting->options.clock));
    return 0;
}

static int64_t next(const void *store, int32_t partition, size_t topic) {
    int64_t offset = consents_next(((const struct opting *)store)->consents, partition);
    return offset ? offset : -1;
}

/* Consents that were read stay, but the offsets are of another time. */
static bool lost(void *store, int32_t partition, size_t topic) {
    consents_pass(((struct opting *)store)->consents, partition, -1);
    return true;
}

const struct state_kind SHARING_KIND = {
    .open = open_part, .close = close_part, .take = take, .next = next, .lost = lost};

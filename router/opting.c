#include "router/opting.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/codec.h"
#include "event/topics.h"
#include "router/consents.h"

enum { ENDS_A_TENTH = 2000, TENTHS_A_ROUND = 10 };

struct opting {
    struct opting_options options;
    struct consents *consents;
    struct codec *codec;
    bool *ours;                  /* by partition: to be told of */
    struct kafka_position *told; /* room for all partitions */
    size_t budget;               /* how many ends may still be worked on in this tenth of a second */
    unsigned tenths;
};

struct opting *opting_new(const struct opting_options *options) {
    size_t partitions = (size_t)options->partitions;
    struct opting *opting = MEM_NEW(&(struct opting){
        .options = *options,
        .consents = consents_new(options->partitions, options->inactive_ms),
        .codec = codec_new(),
        .ours = mem_zero(partitions, sizeof *opting->ours),
        .told = mem_zero(partitions, sizeof *opting->told),
        .budget = ENDS_A_TENTH,
    });
    return opting;
}

void opting_free(struct opting *opting) {
    if (!opting) return;
    consents_free(opting->consents);
    codec_free(opting->codec);
    free(opting->ours);
    free(opting->told);
    free(opting);
}

/* NULL: the record is fine, else why it is not. */
static const char *read_record(struct opting *opting, const struct kafka_record *record, int64_t *user,
                               struct sharing *sharing, struct error *error) {
    if (record->key_size != 8) return "the key must be a user";
    *user = (int64_t)bytes_get_be64(record->key);
    if (*user < 0) return "the key must be a user";
    if (record->value && event_decode_sharing(opting->codec, record->value, record->value_size, sharing, error))
        return error->text;
    if (hash_user_partition(*user, opting->options.partitions) != record->partition)
        return "not in the partition of its user";
    return NULL;
}

void opting_acknowledge(struct opting *opting, uint64_t ticket, bool stored) {
    consents_acknowledge(opting->consents, ticket, stored);
}

/* ---- sharing that ends by itself ---- */

/* Sends the LEAVE of an end once, if presence has the user by a report of before. The end is kept until presence knows that the user
 * has left, or is in by a newer record. Where this process stands by, it keeps all ends: it may be the next owner. */
static enum consents_fate look(void *context, int32_t partition, const struct consents_end *end, bool sent) {
    struct opting *opting = context;
    if (!opting->ours[partition]) return CONSENTS_WAIT;
    const struct presence_slot *slot = presence_find(opting->options.presence, end->user);
    if (!slot) return CONSENTS_WAIT; // warm-up may still bring the user
    if (slot->left || slot->opted > end->offset) return CONSENTS_DONE;
    if (sent) return CONSENTS_WAIT;
    int code = sending_leave(opting->options.sending, end->user, end->offset, report_clock_now(opting->options.clock),
                             consents_sent_end(opting->consents, partition));
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

void opting_second(struct opting *opting, struct owner *owner) {
    size_t count = 0;
    for (int32_t p = 0; p < opting->options.partitions; p++) {
        int64_t offset;
        if (!opting->ours[p]) continue;
        if (consents_restart(opting->consents, p, &offset)) {
            log_warn(opting->options.log, "opt-outs were not stored and are told again", LOG_INT("partition", p));
            owner_read_again(owner, opting->options.state, p, offset, NULL);
        } else if (consents_committable(opting->consents, p, &offset)) {
            consents_committed(opting->consents, p, offset);
            opting->told[count++] = (struct kafka_position){.topic = &TOPIC_SHARING, .partition = p, .offset = offset};
        }
    }
    owner_commit(owner, opting->told, count);
}

bool opting_refuses(const struct opting *opting, int32_t partition, int64_t user, int64_t opted, int64_t *offset) {
    return consents_refuses(opting->consents, partition, user, opted, report_clock_now(opting->options.clock), offset);
}

enum sharing_mode opting_mode(const struct opting *opting, int32_t partition, int64_t user) {
    return consents_mode(opting->consents, partition, user, report_clock_now(opting->options.clock));
}

/* ---- the kind ---- */

static int open_part(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    consents_attach(((struct opting *)store)->consents, partition, INT64_MAX); // until it is ours, others send LEAVEs
    return 0;
}

static void close_part(void *store, int32_t partition) {
    struct opting *opting = store;
    opting->ours[partition] = false;
    consents_detach(opting->consents, partition);
}

static int64_t own(void *store, int32_t partition, size_t topic, int64_t told) {
    struct opting *opting = store;
    int64_t from;
    opting->ours[partition] = true;
    return consents_resume(opting->consents, partition, told, &from) ? from : KAFKA_OFFSET_NONE;
}

static int set_live(void *store, int32_t partition, bool live, struct error *error) {
    struct opting *opting = store;
    if (live) return 0;
    opting->ours[partition] = false;
    consents_watch(opting->consents, partition);
    return 0;
}

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct opting *opting = store;
    struct sharing sharing = {.mode = SHARING_OFF}; // what a tombstone means
    int64_t user;
    int32_t partition = record->partition;
    const char *complaint = read_record(opting, record, &user, &sharing, error);
    if (complaint) {
        // Sharing is read from its beginning by each owner; what was dead to one before stays so in silence.
        if (record->offset >= consents_told(opting->consents, partition)) *reason = complaint;
        consents_pass(opting->consents, partition, record->offset);
        return 0;
    }
    report_clock_tick(opting->options.clock);
    int64_t now = report_clock_now(opting->options.clock);
    if (!consents_record(opting->consents, partition, user, &sharing, record->offset, now)) return 0;
    uint64_t ticket = consents_sent(opting->consents, partition);
    if (sending_leave(opting->options.sending, user, record->offset, now, ticket))
        consents_acknowledge(opting->consents, ticket, false);
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
    .open = open_part, .close = close_part, .live = set_live, .take = take, .next = next, .own = own, .lost = lost};

#include "cli/forget_letters.h"

#include "cli/reader.h"
#include "cli/record_text.h"
#include "cli/sender.h"
#include "event/topics.h"

enum { QUEUE_PARTITIONS = 1, DELETE_MS = 10000 };

struct letters {
    struct kafka_settings queues; /* the topics' dead letter queues instead of themselves */
    int64_t user;
    struct codec *codec;
    struct kafka_admin *admin;
    struct sender *sender;
    int64_t end, found; /* of one queue: behind the user's last letter (0: the user has none), and how many there are */
    int code;           /* the first failure of a copy */
    struct error *error;
};

static void find(void *context, const struct kafka_record *letter) {
    struct letters *letters = context;
    if (!record_concerns(letters->codec, letter, letters->user)) return;
    letters->end = letter->offset + 1;
    letters->found++;
}

static void copy(void *context, const struct kafka_record *letter) {
    struct letters *letters = context;
    if (letter->offset >= letters->end || record_concerns(letters->codec, letter, letters->user)) return;
    letters->code = sender_put_whole(letters->sender, letter, letters->error);
}

static int read_queue(struct letters *letters, const struct topic *topic,
                      void (*take)(void *context, const struct kafka_record *letter)) {
    const struct reader_options options = {
        .settings = &letters->queues,
        .topic = topic,
        .partitions = QUEUE_PARTITIONS,
        .partition = READER_ALL,
        .to_ms = INT64_MAX,
        .context = letters,
        .take = take,
        .failure = &letters->code,
    };
    return reader_run(&options, letters->error);
}

static int forget_of(struct letters *letters, const struct topic *topic) {
    letters->end = letters->found = 0;
    int code = read_queue(letters, topic, find);
    if (code || !letters->found) return code;
    code = read_queue(letters, topic, copy);
    if (!code) code = sender_flush(letters->sender, letters->error);
    return code ? code : kafka_records_delete(letters->admin, topic, 0, letters->end, DELETE_MS, letters->error);
}

int forget_letters(const struct kafka_settings *settings, int64_t user, int64_t *removed, struct error *error) {
    struct letters letters = {.queues = *settings, .user = user, .codec = codec_new(), .error = error};
    int64_t count = 0;
    letters.queues.dead_letters = true;
    int code = kafka_admin_new(&letters.queues, &letters.admin, error);
    if (!code) code = sender_new(&letters.queues, &letters.sender, error);
    for (size_t i = 0; !code && i < TOPICS_ALL.count; i++) {
        code = forget_of(&letters, TOPICS_ALL.items[i]);
        if (!code) count += letters.found;
    }
    if (!code) *removed = count;
    sender_free(letters.sender);
    kafka_admin_free(letters.admin);
    codec_free(letters.codec);
    return code;
}

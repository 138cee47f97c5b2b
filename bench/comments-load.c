/* Loads the data of `./dev bench comments`.
 *
 *     bench-comments-load WHAT [--NAME VALUE ...]
 *
 *     posts     commands to write roots                                       --bootstrap --prefix --from --count --subjects
 *     replies   commands to answer comments that are drawn from a file        --bootstrap --prefix --from --count --path
 *     likes     commands to like them                                         --bootstrap --prefix --from --count --path
 *     subject-likes   commands to like subjects themselves, as posts are      --bootstrap --prefix --from --count --subjects
 *     edits     commands of a moderator to edit them, each once               --bootstrap --prefix --from --count --path --skip
 *     store     a store of starling-comments, before it starts                --path (its folder) --partitions --count --subjects
 *     sql       the same comments as `posts` for PostgreSQL's COPY            --path (a folder) --count --subjects
 *     token     prints what checking tokens takes                             --path (the key's file) --tokens (a file)
 *
 * A file of comments has a subject's number and a comment's id for each, as they lie in memory. So many of them are liked, spread over the
 * file, that each gets five likes on average.
 *
 * store: the records go through threads_take, as those of the topics do, in the order in which they would be written if five hundred
 * subjects were written under at a time. A twentieth of the comments is under the first subject, of the others each third one is a reply. No offsets
 * are kept, so that a process reads its topics, which are empty, from the beginning.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "bench/arguments.h"
#include "bench/comments_world.h"
#include "bench/machine.h"
#include "bench/sender.h"
#include "comments/heat.h"
#include "comments/threads.h"
#include "edits/encode.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ids/ids.h"
#include "service/auth.h"

enum { BATCH = 20000, TOGETHER = 500, FIRST_SHARE = 20, KEPT_ROUNDS = 1000, LINE = 4096, LIKES_EACH = 5 };
#define MEMORY ((size_t)256 << 20)
#define BEGIN_MS INT64_C(1767225600000) // 2026-01-01

struct options {
    const char *bootstrap, *prefix, *path, *tokens;
    int64_t from, count, subjects, partitions, skip;
};

static void fail(const char *what, const struct error *error) { sender_fail(what, error->text); }

/* ---- commands ---- */

struct known_comment {
    int64_t subject, id;
};

static struct known_comment *read_comments(const char *path, size_t *count) {
    FILE *file = fopen(path, "r");
    struct known_comment *all = NULL;
    *count = 0;
    if (!file || fseek(file, 0, SEEK_END)) sender_fail(path, strerror(errno));
    *count = (size_t)ftell(file) / sizeof *all;
    rewind(file);
    all = mem_alloc((*count + 1) * sizeof *all);
    if (!*count || fread(all, sizeof *all, *count, file) != *count) sender_fail(path, "it holds no comments");
    fclose(file);
    return all;
}

static void send_command(struct sender *sender, int64_t number, int64_t subject, struct comment_command *command) {
    char name[SUBJECT_MAX + 1], key[COMMENTS_KEY + 1];
    command->subject = comments_world_name(subject, name);
    command->key = comments_world_key(number, key);
    command->user = comments_world_user(number);
    command->owner = COMMENTS_OWNER;
    command->who_may = COMMENT_COMMAND_SAME_WHO;
    command->review = COMMENT_COMMAND_SAME_REVIEW;
    command->closing = COMMENT_COMMAND_SAME_CLOSING;
    command->time = clock_wall_ms();
    edit_encode_comment_command(&sender->value, command);
    sender_send(sender, &TOPIC_COMMENT_COMMANDS, KAFKA_PARTITION_BY_KEY, name, command->subject.size);
}

/* about_comments: of the file; else they are about subjects. */
static void load_commands(const struct options *options, struct sender *sender, enum comment_command_kind kind,
                          bool about_comments) {
    size_t known = 0;
    struct known_comment *all = about_comments ? read_comments(options->path, &known) : NULL;
    size_t liked = (size_t)options->count / LIKES_EACH,
           among = kind != COMMENT_COMMAND_LIKE || liked > known ? known : liked;
    for (int64_t i = options->from; i < options->from + options->count; i++) {
        char text[COMMENTS_TEXT + 1];
        struct comment_command command = {.kind = kind};
        const struct known_comment *about =
            all ? &all[(size_t)comments_world_draw(i, DRAW_COMMENT, (int64_t)among) * (known / among)] : NULL;
        command.comment = about ? about->id : 0;
        if (kind == COMMENT_COMMAND_LIKE)
            command.text = (struct event_text){"", 0};
        else
            command.text = comments_world_text(i, text);
        send_command(sender, i, about ? about->subject : comments_world_subject(i, options->subjects), &command);
    }
    free(all);
}

/* The first ones of the file were edited before. */
static void load_edits(const struct options *options, struct sender *sender) {
    size_t known;
    struct known_comment *all = read_comments(options->path, &known);
    if ((size_t)(options->skip + options->count) > known) sender_fail(options->path, "it holds too few comments");
    for (int64_t i = 0; i < options->count; i++) {
        const struct known_comment *about = &all[options->skip + i];
        char text[COMMENTS_TEXT + 1];
        struct comment_command command = {.kind = COMMENT_COMMAND_EDIT,
                                          .role = COMMENT_COMMAND_MODERATOR,
                                          .comment = about->id,
                                          .version = 1,
                                          .text = comments_world_text(options->from + i + 1, text)};
        send_command(sender, options->from + i, about->subject, &command);
    }
    free(all);
}

/* ---- a store ---- */

struct filler {
    struct threads *threads;
    int32_t partitions;
    int64_t offset, number;
    size_t gathered;
    struct buffer value;
};

static void take(struct filler *filler, enum threads_state state, const struct event_text *name, int numbers,
                 int64_t id) {
    const struct subject_key parts = {.subject = name->data, .size = name->size, .numbers = numbers, .comment = id};
    uint8_t key[SUBJECT_KEY_MAX];
    struct error error = {.text = ""};
    const char *reason;
    const struct kafka_record record = {.topic = THREADS_TOPICS[state],
                                        .partition = hash_partition(name->data, name->size, filler->partitions),
                                        .offset = filler->offset++,
                                        .timestamp = BEGIN_MS,
                                        .key = key,
                                        .key_size = subject_key_write(key, &parts),
                                        .value = filler->value.data,
                                        .value_size = filler->value.size};
    if (threads_take(filler->threads, state, &record, &reason, &error)) fail("the store", &error);
    if (reason) sender_fail("a record", reason);
    if (++filler->gathered % BATCH == 0 && threads_write(filler->threads, &error)) fail("the store", &error);
    buffer_clear(&filler->value);
}

/* Of a subject, number `place` of its comments. root: its newest root so far, NULL or a first one: none. */
static void take_comment(struct filler *filler, int64_t subject, int64_t place, bool replies, int64_t *root) {
    char name[SUBJECT_MAX + 1], text[COMMENTS_TEXT + 1], client[COMMENTS_KEY + 1];
    struct event_text of = comments_world_name(subject, name);
    int64_t number = filler->number++, user = comments_world_user(number);
    int32_t partition = hash_partition(of.data, of.size, filler->partitions);
    int64_t id = ids_make(ids_tick(BEGIN_MS + number / 100, number, -1), partition);
    bool reply = replies && place % 3 == 2, answered = replies && place % 3 == 1;
    const struct comment comment = {
        .user = user,
        .floor = reply ? 1 : 1 + (int32_t)(replies ? place - place / 3 : place),
        .root = reply ? *root : 0,
        .answers = reply ? *root : 0,
        .likes = comments_world_likes(number),
        .floors = answered,
        .replies = answered,
        .version = 1,
    };
    const struct comment_text written = {.text = comments_world_text(number, text),
                                         .user = user,
                                         .key = comments_world_key(number, client),
                                         .version = 1,
                                         .editor = -1};
    if (!reply) *root = id;
    edit_encode_comment_text(&filler->value, &written);
    take(filler, THREADS_TEXTS, &of, 1, id);
    edit_encode_comment(&filler->value, &comment);
    take(filler, THREADS_COMMENTS, &of, 1, id);
}

static void take_subject(struct filler *filler, int64_t subject, int64_t comments, bool replies) {
    char name[SUBJECT_MAX + 1];
    struct event_text of = comments_world_name(subject, name);
    const struct comment_subject record = {
        .owner = COMMENTS_OWNER,
        .roots = (int32_t)(replies ? comments - comments / 3 : comments),
        .visible = comments,
        .structure = comments,
    };
    event_encode_comment_subject(&filler->value, &record);
    take(filler, THREADS_COMMENTS, &of, 0, 0);
}

/* So many comments each under some subjects, in turn. */
static void take_subjects(struct filler *filler, int64_t from, int64_t count, int64_t each, bool replies) {
    int64_t *roots = mem_zero((size_t)count, sizeof *roots);
    for (int64_t place = 0; place < each; place++)
        for (int64_t i = 0; i < count; i++) take_comment(filler, from + i, place, replies, &roots[i]);
    for (int64_t i = 0; i < count; i++) take_subject(filler, from + i, each, replies);
    free(roots);
}

static void load_store(const struct options *options) {
    struct filler filler = {.partitions = (int32_t)options->partitions};
    const struct store_options how = {.memory_bytes = MEMORY, .point_lookups = true, .sorted_batches = true};
    struct error error = {.text = ""};
    struct store *store;
    int64_t now = clock_wall_ms(), first = options->count / FIRST_SHARE,
            each = (options->count - first) / (options->subjects - 1);
    if (store_open(options->path, &how, &store, &error)) fail(options->path, &error);
    filler.threads = threads_new(store, filler.partitions);
    for (int32_t p = 0; p < filler.partitions; p++)
        if (threads_open(filler.threads, p, now, 0, &error)) fail(options->path, &error);
    take_subjects(&filler, 0, 1, first, false);
    for (int64_t from = 1; from < options->subjects; from += TOGETHER) {
        int64_t left = options->subjects - from;
        take_subjects(&filler, from, left < TOGETHER ? left : TOGETHER, each, true);
    }
    for (int32_t p = 0; p < filler.partitions; p++) {
        for (int s = 0; s < THREADS_STATES; s++) threads_lost(filler.threads, p, (enum threads_state)s);
        if (threads_touch(filler.threads, p, clock_wall_ms(), &error)) fail(options->path, &error);
    }
    if (threads_write(filler.threads, &error)) fail(options->path, &error);
    printf("{\"comments\":%" PRId64 ",\"first\":%" PRId64 ",\"cpu_s\":%.3f}\n", filler.number, first, bench_cpu_s());
    buffer_free(&filler.value);
    threads_free(filler.threads);
    store_close(store);
}

/* ---- for PostgreSQL ---- */

/* Each third comment answers the newest root of its subject, if there is one. */
static void dump_sql(const struct options *options) {
    FILE *index = bench_file(options->path, "comments"), *contents = bench_file(options->path, "contents"),
         *subjects = bench_file(options->path, "subjects");
    size_t many = (size_t)options->subjects;
    int64_t *roots = mem_zero(many, sizeof *roots), *floors = mem_zero(many, sizeof *floors),
            *replies = mem_zero(many, sizeof *replies);
    for (int64_t i = 0; i < options->count; i++) {
        char text[COMMENTS_TEXT + 1];
        int64_t s = comments_world_subject(i, options->subjects), likes = comments_world_likes(i);
        bool reply = i % 3 == 2 && roots[s];
        if (!reply) roots[s] = i + 1;
        fprintf(index,
                "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t0\t%" PRId64 "\t0\t%" PRId64 "\n",
                i + 1, s, reply ? roots[s] : 0, reply ? ++replies[s] : ++floors[s], comments_world_user(i), likes,
                heat_of(likes, BEGIN_MS + i));
        comments_world_text(i, text);
        fprintf(contents, "%" PRId64 "\t%s\n", i + 1, text);
    }
    for (int64_t s = 0; s < options->subjects; s++)
        fprintf(subjects, "%" PRId64 "\t%d\t%" PRId64 "\t%" PRId64 "\t0\n", s, COMMENTS_OWNER, floors[s],
                floors[s] + replies[s]);
    free(roots);
    free(floors);
    free(replies);
    if (fclose(index) || fclose(contents) || fclose(subjects)) sender_fail(options->path, strerror(errno));
}

/* ---- tokens ---- */

static double check_all(struct auth *auth, char **tokens, size_t count, size_t rounds) {
    struct auth_claims claims;
    struct error error = {.text = ""};
    double before = bench_cpu_s();
    for (size_t i = 0; i < count * rounds; i++) {
        const char *token = tokens[i % count];
        if (auth_verify(auth, token, strlen(token), clock_wall_ms(), &claims, &error)) fail("a token", &error);
    }
    return (bench_cpu_s() - before) / (double)(count * rounds) * 1e6;
}

static void check_tokens(const struct options *options) {
    const struct auth_options how = {.hs256_key_file = options->path};
    struct error error = {.text = ""};
    struct auth *auth;
    char line[LINE], **tokens = NULL;
    size_t count = 0;
    FILE *file = fopen(options->tokens, "r");
    if (!file) sender_fail(options->tokens, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        tokens = mem_resize(tokens, count + 1, sizeof *tokens);
        tokens[count++] = mem_string(line);
    }
    fclose(file);
    if (auth_new(&how, &auth, &error)) fail(options->path, &error);
    double first = check_all(auth, tokens, count, 1), kept = check_all(auth, tokens, count, KEPT_ROUNDS);
    printf("{\"first_us\":%.3f,\"kept_us\":%.4f}\n", first, kept);
    auth_free(auth);
    for (size_t i = 0; i < count; i++) free(tokens[i]);
    free(tokens);
}

/* ---- arguments ---- */

static void arguments(int argc, char **argv, struct options *options) {
    const struct argument known[] = {{"--from", &options->from, NULL},
                                     {"--count", &options->count, NULL},
                                     {"--subjects", &options->subjects, NULL},
                                     {"--partitions", &options->partitions, NULL},
                                     {"--bootstrap", NULL, &options->bootstrap},
                                     {"--prefix", NULL, &options->prefix},
                                     {"--path", NULL, &options->path},
                                     {"--tokens", NULL, &options->tokens},
                                     {"--skip", &options->skip, NULL}};
    arguments_read(argc, argv, known, ARRAY_SIZE(known));
}

static bool without_kafka(const char *what, const struct options *options) {
    if (strcmp(what, "store") == 0)
        load_store(options);
    else if (strcmp(what, "sql") == 0)
        dump_sql(options);
    else if (strcmp(what, "token") == 0)
        check_tokens(options);
    else
        return false;
    return true;
}

int main(int argc, char **argv) {
    struct options options = {.subjects = 2};
    struct sender sender;
    if (argc < 2) sender_fail("comments-load", "its head says which arguments there are");
    arguments(argc, argv, &options);
    const char *what = argv[1];
    if (without_kafka(what, &options)) return 0;
    const struct kafka_settings settings = {
        .topics = &TOPICS_ALL, .bootstrap = options.bootstrap, .prefix = options.prefix, .client_id = "bench-comments"};
    sender_open(&sender, &settings);
    if (strcmp(what, "posts") == 0) load_commands(&options, &sender, COMMENT_COMMAND_POST, false);
    if (strcmp(what, "replies") == 0) load_commands(&options, &sender, COMMENT_COMMAND_REPLY, true);
    if (strcmp(what, "edits") == 0) load_edits(&options, &sender);
    if (strcmp(what, "likes") == 0) load_commands(&options, &sender, COMMENT_COMMAND_LIKE, true);
    if (strcmp(what, "subject-likes") == 0) load_commands(&options, &sender, COMMENT_COMMAND_LIKE, false);
    sender_close(&sender);
    return 0;
}

/* Random commands. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "unit/comments/world_private.h"
#include "event/topics.h"

const struct event_text WORLD_SUBJECTS[MODEL_SUBJECTS] = {{"post:1", 6}, {"post:2", 6}, {"page:a.b", 8}, {"x:y", 3}};

static const int64_t MENTIONED[MODEL_USERS] = {3, 0, 4, 1, 5, 2};

static enum comment_command_kind draw_kind(struct comments_world *world) {
    static const enum comment_command_kind OFTEN[] = {
        COMMENT_COMMAND_POST, COMMENT_COMMAND_REPLY,  COMMENT_COMMAND_REPLY, COMMENT_COMMAND_LIKE,
        COMMENT_COMMAND_LIKE, COMMENT_COMMAND_UNLIKE, COMMENT_COMMAND_EDIT};
    if (world_chance(world, 20) < 15) return OFTEN[world_chance(world, sizeof OFTEN / sizeof *OFTEN)];
    return (enum comment_command_kind)world_chance(world, COMMENT_COMMAND_EDIT + 1);
}

/* The id of a comment that some process has written, of any subject; 1: there is none. */
static int64_t draw_comment(struct comments_world *world, int subject) {
    const struct event_text *of = &WORLD_SUBJECTS[world_chance(world, 12) ? subject : (int)world_chance(world, 4)];
    int32_t partition = hash_partition(of->data, of->size, WORLD_PARTITIONS);
    const struct world_log *log = &world->logs[THREADS_COMMENTS][partition];
    for (int i = 0; log->count && i < 20; i++) {
        const struct world_record *record = &log->items[world_chance(world, log->count)];
        struct subject_key key;
        if (!subject_key_read(record->bytes, record->key_size, &key) || key.numbers != 1) continue;
        if (key.size == of->size && memcmp(key.subject, of->data, of->size) == 0) return key.comment;
    }
    return 1;
}

/* Mostly by the author or a moderator, and of the newest version as far as the records say. */
static void draw_edit(struct comments_world *world, struct model_command *drawn) {
    struct comment_command *command = &drawn->command;
    const struct world_log *log =
        &world->logs[THREADS_COMMENTS][hash_partition(command->subject.data, command->subject.size, WORLD_PARTITIONS)];
    static const char *const TEXTS[] = {"once more", "@again", "and again", "hi"};
    const char *text = TEXTS[world_chance(world, 4)];
    struct error error;
    command->text = (struct event_text){text, strlen(text)};
    command->version = 1 + (int64_t)world_chance(world, 2);
    if (!world_chance(world, 6)) return;
    for (size_t i = log->count; i-- > 0;) {
        const struct world_record *record = &log->items[i];
        struct subject_key key;
        struct comment comment;
        if (!subject_key_read(record->bytes, record->key_size, &key) || key.comment != command->comment) continue;
        if (event_decode_comment(world->codec, record->bytes + record->key_size, record->value_size, &comment, &error))
            return; // without a rule, counts may fall below 0
        command->version = comment.version;
        if (world_chance(world, 4)) command->user = comment.user;
        return;
    }
}

static void draw_fields(struct comments_world *world, struct model_command *drawn) {
    struct comment_command *command = &drawn->command;
    enum comment_command_kind kind = command->kind;
    bool names = kind != COMMENT_COMMAND_POST && kind != COMMENT_COMMAND_CLOSE && kind != COMMENT_COMMAND_OPEN &&
                 kind != COMMENT_COMMAND_REGISTER;
    bool registers = kind == COMMENT_COMMAND_REGISTER;
    if ((kind == COMMENT_COMMAND_LIKE || kind == COMMENT_COMMAND_UNLIKE) && !world_chance(world, 3)) names = false;
    command->user = (int64_t)world_chance(world, MODEL_USERS);
    command->role = (enum comment_command_role)(world_chance(world, 3) ? (registers ? 2 : 0) : world_chance(world, 3));
    command->comment = names ? draw_comment(world, drawn->subject) : 0;
    command->text = (struct event_text){"hello", 5};
    command->mentions = (struct event_longs){MENTIONED + world_chance(world, MODEL_USERS - 1), world_chance(world, 3)};
    command->owner = world_chance(world, 6) ? (int64_t)world_chance(world, 3) : -1;
    command->level = (int32_t)world_chance(world, 3) - registers;
    command->follows = world_chance(world, 2);
    command->friends = world_chance(world, 2);
    command->blocked = !world_chance(world, 20);
    command->who_may = (enum comment_command_who)(world_chance(world, 6) ? 0 : world_chance(world, 5));
    command->review = (enum comment_command_review)(world_chance(world, 4) ? 0 : world_chance(world, 3));
    command->closing = (enum comment_command_closing)(world_chance(world, 4) ? 0 : world_chance(world, 3));
    command->time = world->now_ms;
    if (comment_command_writes(kind) && !world_chance(world, 8)) command->state = COMMENT_COMMAND_HELD;
    if (kind == COMMENT_COMMAND_EDIT) draw_edit(world, drawn);
}

/* A service imports: the comment comes with its time and state, and others are named by the keys that made them. */
static void draw_import(struct comments_world *world, struct model_command *drawn) {
    struct comment_command *command = &drawn->command;
    bool writes = comment_command_writes(command->kind);
    if (!writes && command->kind != COMMENT_COMMAND_LIKE && command->kind != COMMENT_COMMAND_PIN) return;
    command->role = COMMENT_COMMAND_SERVICE;
    command->written = 1 + (int64_t)world_chance(world, 1u << 31) * 600;
    if (writes) command->state = (enum comment_command_state)world_chance(world, COMMENT_COMMAND_DELETED + 1);
    if (command->state == COMMENT_COMMAND_DELETED) command->text.size = 0;
    if (!command->comment || !world_chance(world, 2)) return; // a like of the subject, or of a comment by its id
    const struct model_command *named = &world->commands[world_chance(world, world->command_count)];
    drawn->named = named->key;
    command->comment = 0;
    command->named_user = named->command.user;
    command->named_key = named->command.key;
}

/* A command that came before, once more. */
static void repeat(struct comments_world *world, struct model_command *drawn) {
    *drawn = world->commands[world_chance(world, world->command_count)];
}

void world_draw(struct comments_world *world) {
    size_t number = world->command_count;
    struct model_command drawn = {.key = (int)number};
    struct buffer value = {.size = 0};
    struct error error;
    snprintf(world->keys[number], sizeof world->keys[number], "key-%zu", number);
    if (number && !world_chance(world, 8)) {
        repeat(world, &drawn);
    } else {
        drawn.subject = (int)world_chance(world, MODEL_SUBJECTS);
        drawn.command.kind = draw_kind(world);
        drawn.command.subject = WORLD_SUBJECTS[drawn.subject];
        drawn.command.key = (struct event_text){world->keys[number], strlen(world->keys[number])};
        draw_fields(world, &drawn);
        if (number && !world_chance(world, 6)) draw_import(world, &drawn);
    }
    const struct event_text *subject = &WORLD_SUBJECTS[drawn.subject];
    drawn.partition = hash_partition(subject->data, subject->size, WORLD_PARTITIONS);
    drawn.offset = (int64_t)world->partition_count[drawn.partition];
    drawn.time_ms = world->now_ms;
    event_encode_comment_command(&value, &drawn.command);
    struct kafka_record record = {.topic = &TOPIC_COMMENT_COMMANDS,
                                  .partition = drawn.partition,
                                  .offset = drawn.offset,
                                  .timestamp = drawn.time_ms,
                                  .value = value.data,
                                  .value_size = value.size};
    if (decisions_read(world->processes[0].decisions, &record, &world->items[number], &error))
        world_wrong(world, "a command is none: %s", error.text);
    world->commands[number] = drawn;
    world->of_partition[drawn.partition][world->partition_count[drawn.partition]++] = number;
    world->command_count++;
    buffer_free(&value);
}

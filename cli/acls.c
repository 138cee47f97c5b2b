#include "cli/acls.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/topics.h"
#include "json/json.h"
#include "kafka/consumer.h"

static const char COMMAND[] = "starling";

/* ---- which ---- */

static void add(struct acls *acls, const char *operation, enum acl_resource resource, bool prefixed, char *name) {
    acls->items = mem_resize(acls->items, acls->count + 1, sizeof *acls->items);
    acls->items[acls->count++] =
        (struct acl){.operation = operation, .resource = resource, .prefixed = prefixed, .name = name};
}

static const char *group_of(const struct cli_settings *settings, const struct program *program) {
    const struct {
        const struct program *program;
        const char *group;
    } GROUPS[] = {{&PROGRAM_ROUTER, settings->router_group},       {&PROGRAM_FANOUT, settings->fanout_group},
                  {&PROGRAM_FEED, settings->feed_group},           {&PROGRAM_COMMENTS, settings->comments_group},
                  {&PROGRAM_PLACES, settings->places_group},       {&PROGRAM_MODERATION, settings->moderation_group},
                  {&PROGRAM_HISTORY_SINK, settings->history_group}};
    for (size_t i = 0; i < ARRAY_SIZE(GROUPS); i++)
        if (GROUPS[i].program == program) return GROUPS[i].group;
    return NULL;
}

static void add_topic(struct acls *acls, const struct cli_settings *settings, const char *operation,
                      const struct topic *topic, bool dead_letters) {
    add(acls, operation, ACL_TOPIC, false,
        mem_format("%s%s%s", settings->prefix, topic->name, dead_letters ? ".dlq" : ""));
}

/* To read and to write each imply to describe. */
static void add_topics(struct acls *acls, const struct cli_settings *settings, const struct topic_uses *uses,
                       const char *operation) {
    bool read = !strcmp(operation, "Read"), write = !strcmp(operation, "Write");
    for (size_t i = 0; i < uses->count; i++) {
        const struct topic_use *use = &uses->items[i];
        bool reads = use->how & TOPIC_READS, writes = use->how & TOPIC_WRITES;
        if (read ? reads : write ? writes : !reads && !writes) add_topic(acls, settings, operation, use->topic, false);
        if (write && (use->how & TOPIC_BURIES)) add_topic(acls, settings, operation, use->topic, true);
    }
}

static void make_daemon(struct acls *acls, const struct cli_settings *s, const struct program *program) {
    add_topics(acls, s, &program->uses, "Read");
    if (program->member) add(acls, "Read", ACL_GROUP, false, mem_string(group_of(s, program)));
    add_topics(acls, s, &program->uses, "Write");
    add_topics(acls, s, &program->uses, "Describe");
    for (size_t i = 0; program->peers && program->peers[i]; i++)
        add(acls, "Describe", ACL_GROUP, false, mem_string(group_of(s, program->peers[i])));
    if (program->follows) add(acls, "Describe", ACL_GROUP, false, mem_string(KAFKA_READERS_GROUP));
    // A client asks for this to find out whether a broker is back.
    add_topic(acls, s, "DescribeConfigs", program->uses.items[0].topic, false);
    if (program->transactions)
        add(acls, "Write", ACL_TRANSACTIONAL_ID, true, mem_format("%s%s-", s->prefix, group_of(s, program)));
}

/* It makes all topics, reads them all, writes again what the dead letter queue of any of them holds, and deletes from these what is a
 * forgotten user's. */
static void make_command(struct acls *acls, const struct cli_settings *s) {
    static const char *const OPERATIONS[] = {"Create", "AlterConfigs", "DescribeConfigs", "Read", "Write", "Delete"};
    for (size_t i = 0; i < ARRAY_SIZE(OPERATIONS); i++)
        add(acls, OPERATIONS[i], ACL_TOPIC, *s->prefix, mem_string(*s->prefix ? s->prefix : "*"));
    for (size_t i = 0; PROGRAMS[i]; i++)
        if (PROGRAMS[i]->member) add(acls, "Describe", ACL_GROUP, false, mem_string(group_of(s, PROGRAMS[i])));
    add(acls, "Describe", ACL_GROUP, false, mem_string(KAFKA_READERS_GROUP));
}

void acls_make(struct acls *acls, const struct cli_settings *settings, const struct program *program) {
    *acls = (struct acls){.items = NULL};
    if (program)
        make_daemon(acls, settings, program);
    else
        make_command(acls, settings);
}

void acls_clear(struct acls *acls) {
    for (size_t i = 0; i < acls->count; i++) free(acls->items[i].name);
    free(acls->items);
    *acls = (struct acls){.items = NULL};
}

/* ---- how they are written ---- */

static const char *principal_of(struct buffer *scratch, const char *pattern, const char *program) {
    buffer_clear(scratch);
    for (; *pattern; pattern++) {
        if (*pattern == '%')
            buffer_string(scratch, program);
        else
            buffer_byte(scratch, (uint8_t)*pattern);
    }
    return buffer_cstring(scratch);
}

/* A word of a shell's command line, quoted where it must be. */
static void put_word(struct buffer *out, const char *word) {
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/,=+@";
    buffer_byte(out, ' ');
    if (*word && !word[strspn(word, PLAIN)]) {
        buffer_string(out, word);
        return;
    }
    buffer_byte(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buffer_string(out, "'\\''");
        else
            buffer_byte(out, (uint8_t)*word);
    }
    buffer_byte(out, '\'');
}

static void put_option(struct buffer *out, const char *option, const char *word) {
    buffer_byte(out, ' ');
    buffer_string(out, option);
    put_word(out, word);
}

/* How many ACLs from `first` on have one operation and pattern. */
static size_t run_of(const struct acls *acls, size_t first) {
    size_t end = first;
    while (end < acls->count && !strcmp(acls->items[end].operation, acls->items[first].operation) &&
           acls->items[end].prefixed == acls->items[first].prefixed)
        end++;
    return end - first;
}

/* The next run is of the same resources, so that both operations fit into one command. */
static bool same_resources(const struct acls *acls, size_t first, size_t size) {
    bool same = first + size < acls->count && run_of(acls, first + size) == size;
    for (size_t i = first; same && i < first + size; i++) {
        const struct acl *one = &acls->items[i], *other = &acls->items[i + size];
        same = one->resource == other->resource && one->prefixed == other->prefixed && !strcmp(one->name, other->name);
    }
    return same;
}

void acls_put_commands(struct buffer *out, const struct acls *acls, const char *program, const struct acls_form *form) {
    static const char *const OPTIONS[] = {"--topic", "--group", "--transactional-id"};
    struct buffer scratch = {.data = NULL};
    for (size_t first = 0, size; first < acls->count; first += size) {
        size = run_of(acls, first);
        buffer_string(out, "kafka-acls.sh");
        put_option(out, "--bootstrap-server", form->bootstrap);
        if (*form->command_config) put_option(out, "--command-config", form->command_config);
        put_option(out, "--add --allow-principal", principal_of(&scratch, form->principal, program));
        put_option(out, "--operation", acls->items[first].operation);
        for (; same_resources(acls, first, size); first += size)
            put_option(out, "--operation", acls->items[first + size].operation);
        put_option(out, "--resource-pattern-type", acls->items[first].prefixed ? "prefixed" : "literal");
        for (size_t i = first; i < first + size; i++)
            put_option(out, OPTIONS[acls->items[i].resource], acls->items[i].name);
        buffer_byte(out, '\n');
    }
    buffer_free(&scratch);
}

static void put_member(struct buffer *out, const char *name, const char *value) {
    buffer_format(out, "\"%s\": ", name);
    json_put_text(out, value, strlen(value));
}

void acls_put_json(struct buffer *out, const struct acls *acls, const char *program, const struct acls_form *form,
                   bool any) {
    static const char *const KINDS[] = {"topic", "group", "transactional-id"};
    struct buffer scratch = {.data = NULL};
    const char *principal = principal_of(&scratch, form->principal, program);
    for (size_t i = 0; i < acls->count; i++) {
        const struct acl *acl = &acls->items[i];
        buffer_string(out, any || i ? ",\n  {" : "\n  {");
        put_member(out, "program", program);
        buffer_string(out, ", ");
        put_member(out, "principal", principal);
        buffer_string(out, ", ");
        put_member(out, "operation", acl->operation);
        buffer_string(out, ", ");
        put_member(out, "resource", KINDS[acl->resource]);
        buffer_string(out, ", ");
        put_member(out, "pattern", acl->prefixed ? "prefixed" : "literal");
        buffer_string(out, ", ");
        put_member(out, "name", acl->name);
        buffer_byte(out, '}');
    }
    buffer_free(&scratch);
}

/* ---- the subcommand ---- */

/* The program of that name; *found false: no program has it. NULL: the command. */
static const struct program *program_of(const char *name, bool *found) {
    *found = true;
    if (!strcmp(name, COMMAND)) return NULL;
    for (size_t i = 0; PROGRAMS[i]; i++)
        if (!strcmp(PROGRAMS[i]->name, name)) return PROGRAMS[i];
    *found = false;
    return NULL;
}

static void put(struct buffer *out, const struct cli *cli, const struct program *program, const struct acls_form *form,
                bool json) {
    struct acls acls;
    const char *name = program ? program->name : COMMAND;
    acls_make(&acls, &cli->settings, program);
    if (json)
        acls_put_json(out, &acls, name, form, out->size > 1);
    else
        acls_put_commands(out, &acls, name, form);
    acls_clear(&acls);
}

int acls_show(const struct cli *cli, char *const *names, int count, const struct acls_form *form, bool json) {
    struct buffer out = {.data = NULL};
    if (json) buffer_byte(&out, '[');
    for (int i = 0; i < count; i++) {
        bool found;
        const struct program *program = program_of(names[i], &found);
        if (!found) {
            buffer_free(&out);
            return CLI_WRONG(cli->command, "%s is no daemon: starling-router is one, and starling is the command",
                             names[i]);
        }
        put(&out, cli, program, form, json);
    }
    for (size_t i = 0; !count && PROGRAMS[i]; i++) put(&out, cli, PROGRAMS[i], form, json);
    if (!count) put(&out, cli, NULL, form, json);
    if (json) buffer_string(&out, "\n]\n");
    fwrite(out.data, 1, out.size, stdout);
    buffer_free(&out);
    return 0;
}

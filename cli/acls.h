/* The ACLs that starling's programs need, made of the tables that hold the programs to them (event/programs.h). Pure; any thread. */
#pragma once

#include "base/buffer.h"
#include "cli/cli.h"
#include "event/programs.h"

enum acl_resource { ACL_TOPIC, ACL_GROUP, ACL_TRANSACTIONAL_ID };

struct acl {
    const char *operation; /* as Kafka calls it: "Read" */
    enum acl_resource resource;
    bool prefixed; /* of all resources whose names begin so */
    char *name;
};

struct acls {
    struct acl *items; /* those of one operation and pattern follow each other */
    size_t count;
};

/* The rights that a daemon needs; program NULL: those of the `starling` command. acls_clear gives them back. */
void acls_make(struct acls *acls, const struct cli_settings *settings, const struct program *program);
void acls_clear(struct acls *acls);

struct acls_form {
    const char *principal; /* "User:%", with the program's name for the % */
    const char *bootstrap;
    const char *command_config; /* kafka-acls.sh's; "": none */
};

/* Command lines of kafka-acls.sh, one an operation and pattern. */
void acls_put_commands(struct buffer *out, const struct acls *acls, const char *program, const struct acls_form *form);

/* Objects with a comma between them, and before the first one if `any` were put before. */
void acls_put_json(struct buffer *out, const struct acls *acls, const char *program, const struct acls_form *form,
                   bool any);

/* The subcommand: ACLs of the daemons that are named; of all and of the command where none is. An exit code. */
int acls_show(const struct cli *cli, char *const *names, int count, const struct acls_form *form, bool json);

/* The command that moves pairs of users in bulk, whatever they are. */
#include <string.h>

#include "cli/bulk.h"

static int start_import(const struct bulk *bulk, const struct cli *cli, const char *state, const char *wait,
                        struct error *error) {
    int64_t wait_s = bulk->wait_s;
    int code = cli_int_option(bulk->command, "wait", wait, 1, 86400, &wait_s);
    if (code) return code;
    code = bulk_import(bulk, cli, cli->arguments[1], state, wait_s, error);
    return code ? cli_fail(bulk->command, 1, "%s", error->text) : 0;
}

static int start_export(const struct bulk *bulk, const struct cli *cli, struct error *error) {
    int code = bulk_export(bulk, cli, cli->argument_count == 2 ? cli->arguments[1] : "-", error);
    return code ? cli_fail(bulk->command, 1, "%s", error->text) : 0;
}

int bulk_run(const struct bulk *bulk, struct cli *cli, int argc, char **argv) {
    const char *state = NULL, *wait = NULL;
    const struct cli_option options[] = {
        {"resume", "STATE", "import: keeps in this file how far it is, and goes on from there if it exists", &state,
         NULL},
        {"wait", "SECONDS", bulk->wait_help, &wait, NULL},
    };
    struct error error = {.text = ""};
    int code = cli_open(cli, bulk->command, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    const char *what = cli->argument_count ? cli->arguments[0] : "";
    if (!strcmp(what, "import") && cli->argument_count == 2) return start_import(bulk, cli, state, wait, &error);
    if (!strcmp(what, "export") && cli->argument_count <= 2)
        return state || wait ? CLI_WRONG(bulk->command, "--resume and --wait are for import")
                             : start_export(bulk, cli, &error);
    if (!strcmp(what, "verify") && bulk->verify && cli->argument_count == 1 && !state && !wait)
        return bulk->verify(bulk->command, cli, &error);
    return CLI_WRONG(bulk->command, "import with one FILE, or export%s", bulk->verify ? ", or verify" : "");
}

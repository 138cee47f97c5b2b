/* `starling comments import`: comments from elsewhere become commands. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/comments_bulk.h"
#include "cli/moving_file.h"
#include "cli/pace.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/setup.h"
#include "event/topics.h"
#include "subjects/subject.h"

enum { PACE_EVERY = 1000, WAIT_S = 120, WRONG_TOLD = 20 };

struct importing {
    const struct cli *cli;
    struct setup *setup;
    struct pace *pace;
    struct moving *moving;
    struct progress_meter progress;
    double share; /* of the file that is read */
    int64_t sent, wrong;
};

static const struct cli_command IMPORT_COMMAND = {
    .name = "comments import",
    .synopsis =
        "FILE [--authors FILE] [--subjects FILE] [--type TYPE] [--owner USER] [--salt TEXT] [--skip] [--wait SECONDS]",
    .summary = "comments from lines of JSON, WordPress's export or Disqus's",
};

static int send_command(void *context, const struct comment_command *command, struct error *error) {
    struct importing *import = context;
    int code = setup_comment(import->setup, command, error);
    if (code || ++import->sent % PACE_EVERY) return code;
    if (progress_due(&import->progress))
        progress_bar(&import->progress, import->share, moving_counts(import->moving)->comments, "comments sent");
    return pace_keep(import->pace, PACE_EVERY, error);
}

static int put_profile(void *context, int64_t user, const char *name, struct error *error) {
    return setup_profile(((struct importing *)context)->setup, user, name, error);
}

static void tell_wrong(void *context, const struct error *reason) {
    struct importing *import = context;
    if (++import->wrong <= WRONG_TOLD) fprintf(stderr, "starling comments import: %s\n", reason->text);
    if (import->wrong == WRONG_TOLD) fprintf(stderr, "starling comments import: and so on\n");
}

static void show_left(void *context, int64_t left, const char *what) {
    fprintf(stderr, "starling comments import: %" PRId64 " %s yet\n", left, what);
}

static void tell(const struct importing *import) {
    const struct moving_counts *counts = moving_counts(import->moving);
    fprintf(stderr,
            "starling comments import: %" PRId64 " subjects, %" PRId64 " comments, %" PRId64 " likes and %" PRId64
            " pins are decided; %" PRId64 " authors are guests\n",
            counts->subjects, counts->comments, counts->likes, counts->pins, counts->guests);
    if (counts->skipped)
        fprintf(stderr, "starling comments import: %" PRId64 " were left out: spam, pingbacks, or no text\n",
                counts->skipped);
    if (counts->hidden)
        fprintf(stderr,
                "starling comments import: %" PRId64 " are held: their pages are drafts, private or have a password\n",
                counts->hidden);
    if (counts->gone)
        fprintf(stderr, "starling comments import: %" PRId64 " of deleted pages were left out\n", counts->gone);
    if (counts->wrong)
        fprintf(stderr, "starling comments import: %" PRId64 " times something was wrong, and skipped\n",
                counts->wrong);
    if (counts->cut)
        fprintf(stderr, "starling comments import: %" PRId64 " texts were cut to %d characters\n", counts->cut,
                COMMENT_TEXT_POINTS_MAX);
}

static int import_file(struct importing *import, const struct moving_options *moving,
                       const struct moving_file_options *file, int wait_s, struct error *error) {
    const struct cli *cli = import->cli;
    struct topics_shape shape;
    int code = reader_shape(cli, &shape, error);
    if (!code) code = moving_new(moving, &import->moving, error);
    if (!code) code = setup_new(&cli->kafka, &import->setup, error);
    if (!code)
        code = pace_new(&cli->kafka, cli->settings.comments_group, &TOPIC_COMMENT_COMMANDS,
                        shape.partitions[TOPIC_SPACE_SUBJECTS], &import->pace, error);
    if (code) return code;
    progress_start(&import->progress, "comments import");
    code = moving_file_read(file, import->moving, error);
    if (!code) code = setup_flush(import->setup, error);
    progress_end(&import->progress, moving_counts(import->moving)->comments, "comments sent");
    if (!code)
        code = setup_wait_decided(import->setup, &SETUP_COMMENTS, cli->settings.comments_group, wait_s, show_left, NULL,
                                  error);
    if (!code) tell(import);
    return code;
}

static int start(struct cli *cli, struct moving_options *moving, struct moving_file_options *file, const char *owner,
                 const char *wait, bool skip) {
    struct importing import = {.cli = cli};
    struct error error = {.text = ""};
    char subject[SUBJECT_MAX + 1];
    int64_t wait_s = WAIT_S;
    snprintf(subject, sizeof subject, "%s:1", file->type);
    if (cli->argument_count != 1) return cli_fail(&IMPORT_COMMAND, CLI_WRONG_USAGE, "one FILE must be given");
    if (!subject_valid(subject, strlen(subject)))
        return cli_fail(&IMPORT_COMMAND, CLI_WRONG_USAGE, "--type %s: must be 1 to 32 of a-z, 0-9, - and _",
                        file->type);
    if (cli_int_option(&IMPORT_COMMAND, "owner", owner, 0, INT64_MAX, &file->owner) ||
        cli_int_option(&IMPORT_COMMAND, "wait", wait, 1, 86400, &wait_s))
        return CLI_WRONG_USAGE;
    file->path = cli->arguments[0];
    file->share = &import.share;
    moving->context = &import;
    moving->send = send_command;
    moving->wrong = skip ? tell_wrong : NULL;
    moving->profile = put_profile;
    int code = import_file(&import, moving, file, (int)wait_s, &error);
    pace_free(import.pace);
    setup_free(import.setup);
    moving_free(import.moving);
    return code ? cli_fail(&IMPORT_COMMAND, 1, "%s", error.text) : 0;
}

int comments_import(int argc, char **argv) {
    struct moving_options moving = {.salt = ""};
    struct moving_file_options file = {.type = "article", .owner = -1};
    const char *owner = NULL, *wait = NULL;
    bool skip = false;
    const struct cli_option options[] = {
        {"authors", "FILE", "lines AUTHOR,USER: which user an e-mail address, a login or name:NAME is", &moving.authors,
         NULL},
        {"subjects", "FILE", "lines WHAT,SUBJECT: the subject of an article by its id, link or slug", &file.subjects,
         NULL},
        {"type", "TYPE", "of the subjects of other articles: TYPE:ID (article)", &file.type, NULL},
        {"owner", "USER", "of subjects whose author is not among the authors (none: such a subject ends the import)",
         &owner, NULL},
        {"salt", "TEXT", "goes into the numbers of guests: the same for all files of a site", &moving.salt, NULL},
        {"skip", NULL, "leaves out what is wrong in the file, and tells it (the import ends there)", NULL, &skip},
        {"wait", "SECONDS", "waits so long at most until all are decided (120)", &wait, NULL},
    };
    struct cli cli;
    bool done;
    int code = cli_open(&cli, &IMPORT_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    code = start(&cli, &moving, &file, owner, wait, skip);
    cli_close(&cli);
    return code;
}

/* `starling comments import`: comments from elsewhere become commands. */
#include <inttypes.h>
#include <stdio.h>

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
    double share; /* of the file that is read; 0: not known */
    int64_t sent, wrong;
};

static const struct cli_command IMPORT_COMMAND = {
    .name = "comments import",
    .synopsis = "FILE|- [--authors FILE] [--salt TEXT] [--skip] [--wait SECONDS]",
    .summary = "comments from lines of JSON (starling-comments-convert makes them of WordPress's export or Disqus's)",
    .notes = "A file may be imported again, also after a kill: no comment is made twice. It sets settings, likes\n"
             "and pins anew, so finish it before you open the site. Do not change --authors and --salt: with\n"
             "another author it is another comment.\n\n"
             "Authors' case does not matter. Most exports hold addresses and names that nobody has checked: if you\n"
             "list one, you trust all who wrote under it. All other authors become guests: users from 2^52 to\n"
             "2^53-1, with the author's name in the profile. A guest's number is a hash of the e-mail address\n"
             "(else the login or the name) and --salt: without a salt, anybody who guesses an address finds the\n"
             "guest.\n\n"
             "Texts of more than 10,000 characters are cut. Deleted comments keep their number. The import stays\n"
             "at most 100,000 commands ahead of the daemons. A file that is wrong ends the import with the file's\n"
             "name, the line and a reason; lines before may be imported already. With --skip, what is wrong is\n"
             "left out with its replies, and counted.\n\n"
             "Each line is an object, with a type. A comment belongs to the subject before it, and stands before\n"
             "its replies, likes and pins.\n\n"
             "subject: subject, owner, who_may (everyone, followers, friends, nobody), review (after, before),\n"
             "closed, level.\n\n"
             "comment: id; key, its idempotency key (without it, id); reply_to, an id, or null; user, or one of\n"
             "email, login and name; time (ms); state (visible, held, hidden, deleted); text; root and floor are\n"
             "ignored.\n\n"
             "like: comment (null: the subject itself), user. pin: comment; the oldest pin first.",
};

static int send_command(void *context, const struct comment_command *command, struct error *error) {
    struct importing *import = context;
    int code = setup_comment(import->setup, command, error);
    if (code || ++import->sent % PACE_EVERY) return code;
    int64_t comments = moving_counts(import->moving)->comments;
    if (progress_due(&import->progress) && import->share > 0)
        progress_bar(&import->progress, import->share, comments, "comments sent");
    else if (progress_due(&import->progress))
        progress_show(&import->progress, comments, "comments sent");
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
    if (counts->wrong)
        fprintf(stderr, "starling comments import: %" PRId64 " times something was wrong, and skipped\n",
                counts->wrong);
    if (counts->cut)
        fprintf(stderr, "starling comments import: %" PRId64 " texts were cut to %d characters\n", counts->cut,
                COMMENT_TEXT_POINTS_MAX);
}

static int import_file(struct importing *import, const struct moving_options *moving, int wait_s, struct error *error) {
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
    code = moving_file_read(cli->arguments[0], &import->share, import->moving, error);
    if (!code) code = setup_flush(import->setup, error);
    progress_end(&import->progress, moving_counts(import->moving)->comments, "comments sent");
    if (!code)
        code = setup_wait_decided(import->setup, &SETUP_COMMENTS, cli->settings.comments_group, wait_s, show_left, NULL,
                                  error);
    if (!code) tell(import);
    return code;
}

static int start(struct cli *cli, struct moving_options *moving, const char *wait, bool skip) {
    struct importing import = {.cli = cli};
    struct error error = {.text = ""};
    int64_t wait_s = WAIT_S;
    if (cli->argument_count != 1) return CLI_WRONG(&IMPORT_COMMAND, "one FILE must be given");
    if (cli_int_option(&IMPORT_COMMAND, "wait", wait, 1, 86400, &wait_s)) return CLI_WRONG_USAGE;
    moving->context = &import;
    moving->send = send_command;
    moving->wrong = skip ? tell_wrong : NULL;
    moving->profile = put_profile;
    int code = import_file(&import, moving, (int)wait_s, &error);
    pace_free(import.pace);
    setup_free(import.setup);
    moving_free(import.moving);
    return code ? cli_fail(&IMPORT_COMMAND, 1, "%s", error.text) : 0;
}

int comments_import(struct cli *cli, int argc, char **argv) {
    struct moving_options moving = {.salt = ""};
    const char *wait = NULL;
    bool skip = false;
    const struct cli_option options[] = {
        {"authors", "FILE", "lines AUTHOR,USER: which user an e-mail address, a login or name:NAME is", &moving.authors,
         NULL},
        {"salt", "TEXT", "goes into the numbers of guests: the same for all files of a site", &moving.salt, NULL},
        {"skip", NULL, "leaves out what is wrong in the file, and tells it (the import ends there)", NULL, &skip},
        {"wait", "SECONDS", "waits so long at most until all are decided (120)", &wait, NULL},
    };
    int code = cli_open(cli, &IMPORT_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    return code ? code : start(cli, &moving, wait, skip);
}

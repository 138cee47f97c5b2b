#include "cli/audit.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/sender.h"
#include "event/codec.h"
#include "event/topics.h"

/* The account of whoever runs this; with sudo that from which it was run. */
static const char *account(void) {
    const char *sudo = geteuid() ? NULL : getenv("SUDO_USER");
    const struct passwd *entry = getpwuid(getuid());
    return sudo ? sudo : entry ? entry->pw_name : "";
}

static struct event_text text(const char *from) { return (struct event_text){from, strlen(from)}; }

static int put(struct sender *sender, const struct audit_entry *entry, const char *of, struct error *error) {
    struct buffer value = {.data = NULL};
    char *key = entry->about < 0 ? mem_string(of) : mem_format("user:%" PRId64, entry->about);
    event_encode_audit_entry(&value, entry);
    int code =
        sender_put(sender, &TOPIC_AUDIT, KAFKA_PARTITION_BY_KEY, key, strlen(key), value.data, value.size, error);
    buffer_free(&value);
    free(key);
    return code;
}

int audit_read(const struct cli *cli, const char *of, const int64_t *users, size_t count, struct error *error) {
    struct sender *sender;
    char machine[256] = "";
    gethostname(machine, sizeof machine - 1);
    struct audit_entry entry = {
        .role = AUDIT_ENTRY_OPERATOR,
        .user = -1,
        .name = text(account()),
        .address = text(machine),
        .what = text(cli->command->name),
        .query = text(of),
        .about = -1,
    };
    int code = sender_new(&cli->kafka, &sender, error);
    if (code) return code;
    if (!count) code = put(sender, &entry, of, error);
    for (size_t i = 0; !code && i < count; i++) {
        entry.about = users[i];
        code = put(sender, &entry, of, error);
    }
    if (!code) code = sender_flush(sender, error);
    sender_free(sender);
    return code ? error_prefix(error, code, "this is not read, as the record of it cannot be written") : 0;
}

/* `starling status --live`: asks the daemons themselves, not Kafka, and shows them as a page. Blocking, with a loop of its own. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct status_live_options {
    const char *const
        *lists; /* addresses of the daemons' ops.listen: host:port, several separated by commas or blanks */
    size_t list_count;
    int every_s; /* between two readings */
};

/* In a terminal: until q, Ctrl-C or another signal to end. Else it prints the page once, after two readings. -EINVAL: an address is wrong,
 * -EIO standard output cannot be written. */
int status_live(const struct status_live_options *options, struct error *error);

/* `starling feed USER --follow` prints the newest page of a home timeline, then new posts as they come over the WebSocket. */
#ifndef CLI_HOME_FOLLOW_H
#define CLI_HOME_FOLLOW_H

#include "cli/post_options.h"

/* Prints each post once, the oldest first, and connects again after a lost connection. Returns 0 after SIGINT or SIGTERM. */
int home_follow(const struct post_options *options, struct asking *asking, struct error *error);

#endif

/* `starling feed USER --follow`: prints the newest page of a home timeline, then its new posts as they come over the WebSocket. */
#ifndef CLI_HOME_FOLLOW_H
#define CLI_HOME_FOLLOW_H

#include "cli/post_options.h"

/* Until SIGINT or SIGTERM, which is 0. A lost connection is made again. Each post is printed once, oldest first. */
int home_follow(const struct post_options *options, struct asking *asking, struct error *error);

#endif

/* The words for the modes of sharing, as APIs and files have them: SHARING_WORDS[mode]. NULL ends them. Any thread. */
#ifndef USERS_SHARING_WORDS_H
#define USERS_SHARING_WORDS_H

extern const char *const SHARING_WORDS[]; /* off, friends, public */

#endif

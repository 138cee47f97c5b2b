/* The words for the modes of sharing, as APIs and files have them: SHARING_WORDS[mode]. NULL ends them. Any thread. */
#pragma once

extern const char *const SHARING_WORDS[]; /* off, friends, public */

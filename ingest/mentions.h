/* The users whom a text mentions: finds the @handles in it, and asks their owners who has them. Loop's thread. */
#pragma once

#include "service/peers.h"
#include "users/handle.h"

enum { MENTIONS_MAX = 10 };

/* Finds the first handles that stand behind an @, each once. An @ behind a letter of ASCII, a digit or _ is part of an address, and so are
 * an @ within a URL and what an @ and a domain follow (@mira@social.example). Returns how many.
 * Pure. */
size_t mentions_find(const char *text, size_t size, char handles[MENTIONS_MAX][HANDLE_SIZE]);

struct mentions {
    int64_t users[MENTIONS_MAX]; /* each once */
    size_t count;
};

/* Asks the feed processes, which own `partitions` partitions, who has the handles, and calls `done` once, perhaps at once: a handle that nobody has, or whose owner does not answer soon, mentions
 * nobody. stopping: the gateway ends, and nothing more may be asked or written. */
void mentions_ask(struct peers *feeds, int32_t partitions, char handles[][HANDLE_SIZE], size_t count, void *context,
                  void (*done)(void *context, const struct mentions *mentions, bool stopping));

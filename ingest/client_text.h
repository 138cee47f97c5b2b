/* Texts and idempotency keys as clients give them. Any thread, a chance for each. */
#pragma once

#include "base/chance.h"
#include "event/types.h"
#include "json/json.h"

enum { CLIENT_KEY_MAX = 64 /* bytes */ };

/* Reads a text of 1 to max code points, without overrides of direction, from the object's member. False: it is no such text, and the error says why. *text points into the
 * object. */
bool client_text_read(const json_t *object, const char *member, size_t max, struct event_text *text,
                      struct error *error);

/* Reads the member "key": 1 to CLIENT_KEY_MAX printable characters of ASCII. *key is unchanged if it is absent. False: it is no such key. */
bool client_key_read(const json_t *object, const char **key, struct error *error);
bool client_key_valid(const char *key);

/* The client's key, or a random one of 32 hexadecimal digits if `given` is NULL. */
void client_key_choose(struct chance *chance, const char *given, char key[CLIENT_KEY_MAX + 1]);

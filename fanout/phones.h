/* Connections, and what the phones on them say: hellos with their tokens are dealt with here, everything else by the screens.
 * Loop's thread.
 */
#ifndef FANOUT_PHONES_H
#define FANOUT_PHONES_H

#include "fanout/clock.h"
#include "fanout/door.h"
#include "fanout/routes.h"
#include "fanout/screen.h"
#include "fanout/sessions.h"
#include "service/auth.h"

struct phones;

struct phones_options { /* all of it outlives the phones */
    const struct service_settings *common;
    const struct fanout_settings *settings;
    const struct protocol_clock *clock;
    const struct screen_set *screens;
    struct sessions *sessions;
    struct routes *routes;
    struct door *door;
    struct auth *auth;
};

struct phones *phones_new(const struct phones_options *options);
void phones_free(struct phones *phones);             /* NULL is fine */
uint64_t phones_floods(const struct phones *phones); /* connections closed because of too many messages */

/* The callbacks of the WebSocket server, whose context is a struct phones. */
void phones_open(void *phones, struct ws_connection *connection);
void phones_message(void *phones, struct ws_connection *connection, const char *text, size_t size);
void phones_writable(void *phones, struct ws_connection *connection);
void phones_close(void *phones, struct ws_connection *connection, int code);

#endif

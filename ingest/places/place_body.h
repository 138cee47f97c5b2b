/* Reads what a client wants a place to be. The owner checks the same once more, and calls what fails there a dead letter; so nothing that is
 * refused there may be accepted here. Pure; any thread. */
#pragma once

#include "event/codec.h"
#include "json/json.h"
#include "users/place.h"

/* {name, lat, lng, radius_m, tell} into a command, whose text points into the object, and whose users into `users`. 0, or -EINVAL. */
int place_body_read(const json_t *object, struct place_command *command, int64_t users[PLACE_TOLD_MAX],
                    struct error *error);

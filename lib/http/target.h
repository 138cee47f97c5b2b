/* Takes the address of a request apart: the path, and the parameters of its query. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "http/field.h"

/* Cuts the target at its "?" and decodes the path (%41) in place, and each name and value behind it, where "+" is a blank. A "%"
 * without a hexadecimal number behind it stays as it is. A parameter without "=" has the value "". *count: in, the room for parameters.
 * False: there are more of them. */
bool http_target_read(char *target, struct http_field *parameters, size_t *count);

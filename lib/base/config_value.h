/* One value of the configuration, from text to the caller's struct. Used by config.c and by what documents it. Pure; any thread. */
#pragma once

#include "base/buffer.h"
#include "base/config.h"

union config_value {
    bool boolean;
    int64_t integer;
    double real;
    const char *text;
    int choice;
};

/* Reads the text as the property's type. -EINVAL, with name, value and the allowed values, when the text is not of that type. A
 * text value points to `text` itself. */
int config_value_parse(const struct config_property *property, const char *text, union config_value *value,
                       struct error *error);

/* Writes the value to its place in the section's struct. */
void config_value_store(const struct config_property *property, const union config_value *value, void *values);

/* Appends "from 0 to 60000", "true or false", "one of wall, stream"; nothing where everything is allowed. */
void config_value_allowed(struct buffer *out, const struct config_property *property);

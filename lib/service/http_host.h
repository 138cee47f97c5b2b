/* Whom a request's field Host names. A page of any name that resolves to this machine (DNS rebinding) sends that name. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* This machine's loopback, as an address or as localhost. */
bool http_host_is_loopback(const char *field);

/* No name of strangers: an address, a name without a dot (only one's own network has those), or one of the names. */
bool http_host_is_ours(const char *field, const char *const *names, size_t count);

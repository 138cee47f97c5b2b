/* The record that says how far a partition's commands are decided (schemas/command-offset-v1.avsc), in Confluent's wire format.
 * Its key is the name of the topic of commands, without the prefix. Pure; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { COMMAND_OFFSET_BYTES = 15 };

/* Writes the value to a place of COMMAND_OFFSET_BYTES bytes and returns how many it took. next: the first command that is
 * not decided. */
size_t command_offset_put(uint8_t *value, int64_t next);

/* -EBADMSG when the bytes are no such value, or the offset is negative. */
int command_offset_get(const void *value, size_t size, int64_t *next);

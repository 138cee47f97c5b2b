/* The asking side. Loop's thread. */
#pragma once

#include "rpc/questions.h"
#include "service/peers.h"

/* The partition whose owner is asked. Of a question that any process can answer: 0. */
int32_t rpc_partition(const struct peers *owners, const struct rpc_question *question, const struct rpc_value *values);

/* Asks that owner, as peers_fetch does. */
void rpc_ask(struct peers *owners, const struct rpc_question *question, const struct rpc_value *values, int timeout_ms,
             void (*done)(void *context, int code, unsigned status, const char *reply, size_t size), void *context);

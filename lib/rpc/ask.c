#include "rpc/ask.h"

int32_t rpc_partition(const struct peers *owners, const struct rpc_question *question, const struct rpc_value *values) {
    const struct rpc_value *key = rpc_value(values, question->parts[0]), *other = rpc_value(values, RPC_OTHER);
    switch (key->arg) {
    case RPC_USER: return peers_of_user(owners, key->number);
    case RPC_ONE: return peers_of_user(owners, key->number < other->number ? key->number : other->number);
    case RPC_SUBJECT: return peers_of_subject(owners, key->text);
    default: return (int32_t)key->number;
    }
}

void rpc_ask(struct peers *owners, const struct rpc_question *question, const struct rpc_value *values, int timeout_ms,
             void (*done)(void *context, int code, unsigned status, const char *reply, size_t size), void *context) {
    struct buffer path = {.data = NULL};
    rpc_write(&path, question, values);
    peers_fetch(owners, rpc_partition(owners, question, values), buffer_cstring(&path), timeout_ms, done, context);
    buffer_free(&path);
}

/* Reads an HTTP/1.1 answer with a Content-Length, as its bytes come. Pure; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct peer_answer { /* zero-initialised: nothing was read yet */
    size_t head;     /* bytes up to the body; 0: the head has not come */
    size_t body;     /* bytes */
    unsigned status;
    bool last; /* the peer closes the connection behind it */
};

/* text: all that has come so far. 1: the answer is complete; 0: more must come; -EIO: it is no such answer, or too large. */
int peer_answer_read(struct peer_answer *answer, const char *text, size_t size);

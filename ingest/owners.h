/* Answers that come from the owner of a key, passed on to the client. Loop's thread. */
#ifndef INGEST_OWNERS_H
#define INGEST_OWNERS_H

#include "service/http.h"
#include "service/peers.h"

/* Asks the owner of the partition (peers_of_user, peers_of_subject) and answers the request with what it says: 200 as it is; 400
 * bad_query; anything else, or no answer, is 503 owner_unavailable. */
void owners_pass_on(struct peers *peers, int32_t partition, const char *path, int timeout_ms,
                    struct http_request *request);

/* For who asks an owner itself: whether it answered 200. If not, the request is answered as above. */
bool owners_answered(struct http_request *request, int code, unsigned status);

#endif

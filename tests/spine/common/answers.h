/* Answers to questions: GET /peer/counter/NAME, and with ?key=KEY the outcome of that key. Both are read from the ledger, and only where
 * the owner says that this process may answer. Loop's thread. */
#pragma once

#include "ledger.h"
#include "service/http.h"
#include "tasks/tasks.h"

/* Answers before it returns. 200 with JSON; 404: there is no such path, or nothing was decided for that key; 421: another process owns
 * the counter; 503: it is being restored, or the ledger fails. */
void answers_give(struct http_request *request, const struct tasks *tasks, struct table_store *ledger,
                  int32_t partitions);

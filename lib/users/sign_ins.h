/* The numbers of users whom a sign-in provider knows by texts (auth.user.ids=directory), as gateways and edges learn them: they ask the
 * number's owner, which decides it at the first sign-in (feed/directory.h), and remember the answer. It never changes, but for a user who
 * is forgotten and signs in again after another one of the same hash. Loop's thread. */
#pragma once

#include "service/auth.h"
#include "service/service.h"

struct sign_ins;

/* group: of the feed processes; partitions: of users. Where user ids are numbers it makes none. */
int sign_ins_new(struct service *service, const char *group, int32_t partitions, struct sign_ins **sign_ins,
                 struct error *error);
void sign_ins_stop(struct sign_ins *sign_ins); /* those who wait hear so; nobody asks any more. NULL is fine */
void sign_ins_free(struct sign_ins *sign_ins); /* after the former; NULL is fine */

/* True: the number of the claims is right, as it is no text's, or is remembered. sign_ins NULL is fine. */
bool sign_ins_know(const struct sign_ins *sign_ins, struct auth_claims *claims);

/* Asks for the number of a text, which it gets if it has none. `done` is called once, perhaps at once: code 0, or negative: nobody can say
 * now. external is lent. */
typedef void sign_ins_answer(void *context, int code, int64_t user, const char *external);
void sign_ins_ask(struct sign_ins *sign_ins, const char *external, void *context, sign_ins_answer *done);
/* The same, but it gets none. user -1: it has none. */
void sign_ins_find(struct sign_ins *sign_ins, const char *external, void *context, sign_ins_answer *done);
/* Asks for the text of a number, which is not remembered, as a user may be forgotten. external "": it has none. */
void sign_ins_text(struct sign_ins *sign_ins, int64_t user, void *context, sign_ins_answer *done);

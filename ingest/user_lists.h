/* Lists of users as clients see them: rows of {user, name, avatar_url, handle}, one answer for all. Loop's thread.
 *
 *     the list's owner: who is on it          for GET of some ids: the query itself
 *            v
 *     the owners of these users: handles      all at once, a question to each process. It is asked again, by partition, for those
 *            v                                whose owner is another one meanwhile
 *     the page: names and avatars from the copy of profiles; a handle that nobody has told in time is null
 */
#pragma once

#include "ingest/call.h"
#include "json/json.h"
#include "rpc/ask.h"
#include "users/profiles.h"

struct user_list {
    struct http_request *request;
    struct peers *feeds; /* have the handles */
    struct profiles *profiles;
    /* user_json_find, or user_json_find_texts */
    void (*put_user)(struct buffer *body, int64_t user, struct profiles *profiles);
    /* Appends the row's other members, from the owner's item. False: it is none. NULL: there are no others. */
    bool (*put_more)(struct buffer *body, const json_t *item);
};

/* Asks the list's owner for a page, {items: [{user, ...}], next, total if it is counted}, and answers the request. */
void user_list_ask(const struct user_list *list, struct peers *owners, const struct rpc_question *question,
                   const struct rpc_value *values);

/* Answers the request with the owner's page, which is taken. NULL, or none such: 503. */
void user_list_show_page(const struct user_list *list, json_t *page);

/* Answers the request with these users, in this order. */
void user_list_show(const struct user_list *list, const int64_t *users, size_t count);

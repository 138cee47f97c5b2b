/* What the files of the HTTP server share. */
#ifndef SERVICE_HTTP_INTERNAL_H
#define SERVICE_HTTP_INTERNAL_H

#include <microhttpd.h>

#include "service/http.h"

/* Answers with a response, which becomes the request's. The one place where a request ends. */
void http_answer(struct http_request *request, unsigned status, struct MHD_Response *response);

#endif

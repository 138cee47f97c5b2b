/* HTTP: a server (on the event loop) with its requests and replies, and a client (libcurl). */
#pragma once

#include "service/http_client.h"
#include "service/http_file.h"
#include "service/http_reply.h"
#include "service/http_request.h"
#include "service/http_server.h"
#include "service/http_tag.h"

/* starling-fanout, the edge: holds the phones' WebSockets and shows each person an exact, live list. */
#pragma once

#include "service/service.h"

extern const struct service_definition FANOUT_SERVICE;

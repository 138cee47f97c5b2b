/* starling-fanout, the edge: holds the phones' WebSockets and shows each person an exact, live list. */
#ifndef FANOUT_FANOUT_H
#define FANOUT_FANOUT_H

#include "service/service.h"

extern const struct service_definition FANOUT_SERVICE;

#endif

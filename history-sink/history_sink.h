/* starling-history-sink: every report once, in files that analysts open and in a store that answers queries. */
#ifndef HISTORY_SINK_HISTORY_SINK_H
#define HISTORY_SINK_HISTORY_SINK_H

#include "service/service.h"

extern const struct service_definition HISTORY_SINK_SERVICE;

#endif

/* starling-history-sink: every report once, in files that analysts open and in a store that answers queries. */
#pragma once

#include "service/service.h"

extern const struct service_definition HISTORY_SINK_SERVICE;

#include "history-sink/history_sink.h"

int main(int argc, char **argv) { return service_main(argc, argv, &HISTORY_SINK_SERVICE); }

#include "fanout/fanout.h"

int main(int argc, char **argv) { return service_main(argc, argv, &FANOUT_SERVICE); }

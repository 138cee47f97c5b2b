#include "router/router.h"

int main(int argc, char **argv) { return service_main(argc, argv, &ROUTER_SERVICE); }

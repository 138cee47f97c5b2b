#include <malloc.h>

#include "router/router.h"

int main(int argc, char **argv) {
    // Few threads allocate much, and what one arena has given back another does not find: with glibc's 8 a core RocksDB's
    // memory is a tenth larger than what it counts (bench graph).
    mallopt(M_ARENA_MAX, 2);
    return service_main(argc, argv, &ROUTER_SERVICE);
}

#include "places/places.h"

int main(int argc, char **argv) { return service_main(argc, argv, &PLACES_SERVICE); }
